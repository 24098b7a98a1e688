import { readUea } from "../../data/uea.ts";
import type { Experiment } from "./experiment.ts";
import { classifySeries, type SeriesProblem } from "./series_experiment.ts";

/** What distinguishes a problem of the UEA archive from the others. */
export interface UeaProblem extends SeriesProblem {
  /** The experiment's name. */
  name: string;
  /** The problem's name in the archive, and the file's in `data/`. */
  problem: string;
  summary: string;
  defaults: Omit<Experiment["defaults"], "data" | "drop" | "model">;
  /** What the archive's classes stand for, in its order; their names there by default. */
  classes?: readonly string[];
}

/** Classifies a problem of the UEA archive. */
export function ueaExperiment(options: UeaProblem): Experiment {
  const { name, problem, summary, defaults, classes, ...choices } = options;
  return {
    name,
    summary: `${summary} (UEA archive)`,
    defaults: { ...defaults, drop: 0, model: "neural-cde", data: `data/${problem}.zip` },
    async prepare(settings) {
      const set = await readUea(settings.data!, problem);
      const isNamed = classes?.length === set.classes.length;
      return classifySeries(isNamed ? { ...set, classes } : set, settings, choices);
    },
  };
}
