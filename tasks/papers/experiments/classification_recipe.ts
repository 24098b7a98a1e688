import { Adam } from "../../../src/optim/adam.ts";
import { reduceOnPlateau } from "../../../src/optim/schedules.ts";
import { treeFlatten } from "../../../src/tensor/tree.ts";
import type { Task } from "../../../src/train/task.ts";
import type { ClassificationRules } from "../../../src/series/classification.ts";
import type { ModelExperiment } from "../../../src/series/model_kind.ts";
import { seriesExperiment, type SeriesProblem } from "../../../src/series/series_experiment.ts";
import type { PaperSeriesSettings } from "./options.ts";
import { learning, type LearningOptions } from "./recipe.ts";

/** Problem-specific rules of the recipe `"paper"`: Kidger et al., 2020, appendix D. */
interface PaperRules {
  /** Factor on the learning rate of the readout, 100 by default (appendices D.3 and D.4). */
  readoutRate?: number;
  /** Number of epochs without improvement after which training ends, 100 by default. */
  stopAfter?: number;
  /** Metric that must improve, besides the training loss: `"validation accuracy"` by default. */
  stopBy?: "training accuracy" | "validation accuracy";
  /** Loss that drives the learning rate schedule: the `"training"` loss of an epoch by default. */
  plateauOf?: "training" | "validation loss";
}

/**
 * Optimizer, gradient clipping and stopping rule of a model that classifies series. `"short"`, for runs of
 * minutes: Adam, with gradients clipped to a norm of 1. `"paper"`, as Kidger et al., 2020, appendix D: Adam
 * with a larger learning rate for the readout. The rate is divided by ten when the training loss of an epoch
 * has not improved for ten epochs. Training stops when neither that loss nor the accuracy has improved for
 * `stopAfter` epochs. (The authors' code multiplies the readout's gradients, which has no effect with Adam,
 * and evaluates every tenth epoch.)
 *
 * @param options `steps`: number of steps per epoch; `paper`: rules of the recipe `"paper"`.
 */
export function classificationLearning(
  { parameters, settings, steps, paper = {} }: Omit<LearningOptions, "average"> & { paper?: PaperRules },
): Pick<Task, "optimizer" | "plateau" | "plateauOf" | "clipNorm" | "stop"> {
  const { learningRate, recipe = "short" } = settings;
  if (recipe === "short") return { optimizer: Adam(parameters, { learningRate }), clipNorm: 1 };
  const { readoutRate = 100, stopAfter = 100, stopBy = "validation accuracy", plateauOf = "training" } =
    paper;
  // In an ensemble each model has a readout.
  const readouts = treeFlatten(parameters).flatMap(([name]) =>
    /^(\d+\.)?readout(?=\.)/.exec(name)?.[0] ?? []
  );
  const multipliers = Object.fromEntries(readouts.map((name) => [name, readoutRate]));
  return {
    optimizer: Adam(parameters, { learningRate, multipliers }),
    plateau: reduceOnPlateau({ factor: 0.1, patience: 10, average: plateauOf === "training" ? steps : 1 }),
    plateauOf,
    stop: {
      after: stopAfter,
      unless: [
        { part: "train", measure: "loss", mode: "min", threshold: 1e-4 },
        {
          part: stopBy === "training accuracy" ? "train" : "validation",
          measure: "accuracy",
          mode: "max",
          threshold: 1e-3,
        },
      ],
    },
  };
}

/** A classification problem of the papers, with its training rules. */
export interface PaperProblem extends Omit<SeriesProblem<PaperSeriesSettings>, "rules" | "dataSeed"> {
  /** Rules of the recipe `"paper"`. */
  paper?: PaperRules;
  /** Metric that selects the best epoch with the recipe `"short"`; the accuracy by default. */
  metric?: Task["metric"];
}

/** An experiment of the papers that classifies series, with the recipe from its settings. */
export function paperExperiment(
  { paper, metric, ...problem }: PaperProblem,
): ModelExperiment<PaperSeriesSettings> {
  return seriesExperiment({
    ...problem,
    rules: (settings) => rulesOf(settings, paper, metric),
    // Repetitions of the paper's runs share one split.
    dataSeed: ({ recipe, seed }) => recipe === "paper" ? 0 : seed,
  });
}

function rulesOf(
  settings: PaperSeriesSettings,
  paper: PaperRules | undefined,
  metric: Task["metric"] = { name: "accuracy", mode: "max" },
): ClassificationRules {
  if (settings.recipe !== "paper") {
    return {
      metric,
      learning: (parameters, steps) => classificationLearning({ parameters, settings, steps, paper }),
    };
  }
  // WARP is trained with the recipe of its paper.
  const isWarp = settings.model === "warp";
  return {
    isBinary: true,
    l2Penalty: isWarp ? undefined : 0.03,
    metric: { name: "accuracy", mode: "max" },
    learning: (parameters, steps) =>
      isWarp
        ? learning({ parameters, settings, steps: steps * settings.epochs! })
        : classificationLearning({ parameters, settings, steps, paper }),
  };
}
