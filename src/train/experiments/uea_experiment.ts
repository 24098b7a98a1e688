import type { SeriesSet } from "../../data/series.ts";
import { type Experiment, seriesSettings } from "./experiment.ts";
import { readSeries, seriesExperiment, type SeriesProblem, type TargetKind } from "./series_experiment.ts";

/** Options of {@linkcode ueaExperiment}: a problem of the UEA archive. */
export interface UeaProblem
  extends Pick<SeriesProblem, "name" | "summary" | "width" | "depth" | "paper" | "draw"> {
  /** The problem's name in the archive, and the file's in `data/`. */
  problem: string;
  /** Settings of a run that chooses none; a Neural CDE by default. */
  defaults: Omit<Experiment["defaults"], "data" | "drop">;
  /** Names of the classes in the archive's order; the archive's by default. */
  classes?: readonly string[];
  /** Factor on times before they become a channel. */
  timeScale: number;
}

/** Classifies a problem of the UEA archive. */
export function ueaExperiment(options: UeaProblem): Experiment {
  const { problem, summary, defaults, classes, timeScale, ...choices } = options;
  const read = async (path: string, { targets }: { targets: TargetKind }): Promise<SeriesSet> => {
    const set = await readSeries(path, { targets, problem });
    return classes?.length === set.classes.length ? { ...set, classes } : set;
  };
  return seriesExperiment({
    ...choices,
    summary: `${summary} (UEA archive)`,
    defaults: { model: "neural-cde", ...defaults, drop: 0, data: `data/${problem}.zip` },
    takes: ["data", "drop", ...seriesSettings],
    make: ({ data }) => read(data!, { targets: "classes" }),
    read,
    timeScale: () => timeScale,
  });
}
