import type { SeriesSet } from "../../data/series.ts";
import { type Experiment, seriesSettings } from "./experiment.ts";
import { readSeries, seriesExperiment, type SeriesProblem } from "./series_experiment.ts";

/** What distinguishes a problem of the UEA archive from the others. */
export interface UeaProblem
  extends Pick<SeriesProblem, "name" | "summary" | "width" | "depth" | "paper" | "draw"> {
  /** The problem's name in the archive, and the file's in `data/`. */
  problem: string;
  defaults: Omit<Experiment["defaults"], "data" | "drop" | "model">;
  /** What the archive's classes stand for, in its order; their names there by default. */
  classes?: readonly string[];
  /** What times are multiplied with before they become a channel. */
  timeScale: number;
}

/** Classifies a problem of the UEA archive. */
export function ueaExperiment(options: UeaProblem): Experiment {
  const { problem, summary, defaults, classes, timeScale, ...choices } = options;
  const read = async (path: string, { labels }: { labels: boolean }): Promise<SeriesSet> => {
    const set = await readSeries(path, { labels, problem });
    return classes?.length === set.classes.length ? { ...set, classes } : set;
  };
  return seriesExperiment({
    ...choices,
    summary: `${summary} (UEA archive)`,
    defaults: { ...defaults, drop: 0, model: "neural-cde", data: `data/${problem}.zip` },
    takes: ["data", "drop", ...seriesSettings],
    make: ({ data }) => read(data!, { labels: true }),
    read,
    timeScale: () => timeScale,
  });
}
