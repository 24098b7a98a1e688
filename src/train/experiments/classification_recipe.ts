import type { ParameterTree } from "../../nn/layer.ts";
import { Adam } from "../../optim/adam.ts";
import { reduceOnPlateau } from "../../optim/schedules.ts";
import type { Task } from "../task.ts";
import type { Settings } from "./experiment.ts";

/** What the paper says of a problem's training. */
export interface PaperRules {
  /** How much larger the learning rate of the readout is, 100 by default (appendices D.3 and D.4). */
  readoutRate?: number;
  /** Epochs without improvement after which training ends, 100 by default. */
  stopAfter?: number;
  /** What must improve, `"validation accuracy"` by default beside the training loss. */
  stopBy?: "training accuracy" | "validation accuracy";
  /** What the learning rate listens to: the `"training"` loss of an epoch by default. */
  plateauOf?: "training" | "validation loss";
}

/** Options of {@linkcode classificationLearning}. */
export interface ClassificationLearningOptions {
  parameters: ParameterTree;
  settings: Pick<Settings, "learningRate" | "recipe">;
  /** Steps of an epoch. */
  steps: number;
  paper?: PaperRules;
}

/**
 * What trains a model that classifies series. `"short"`, for runs of minutes: Adam, gradients clipped to a norm of 1. `"paper"`, as
 * Kidger et al., 2020, appendix D: Adam with a larger rate for the readout, the rate divided by ten when the training loss of an
 * epoch has not improved for ten epochs, and an end when it or the accuracy has not improved for so many. (The authors' code
 * multiplies the readout's gradients, which Adam undoes, and measures every tenth epoch.)
 */
export function classificationLearning(
  { parameters, settings, steps, paper = {} }: ClassificationLearningOptions,
): Pick<Task, "optimizer" | "plateau" | "plateauOf" | "clipNorm" | "stop"> {
  const { learningRate, recipe = "short" } = settings;
  if (recipe === "short") return { optimizer: Adam(parameters, { learningRate }), clipNorm: 1 };
  const { readoutRate = 100, stopAfter = 100, stopBy = "validation accuracy", plateauOf = "training" } =
    paper;
  const [part] = stopBy.split(" ");
  return {
    optimizer: Adam(parameters, { learningRate, multipliers: { readout: readoutRate } }),
    plateau: reduceOnPlateau({ factor: 0.1, patience: 10, average: plateauOf === "training" ? steps : 1 }),
    plateauOf,
    stop: {
      after: stopAfter,
      unless: [
        { part: "train", measure: "loss", mode: "min", threshold: 1e-4 },
        {
          part: part === "training" ? "train" : "validation",
          measure: "accuracy",
          mode: "max",
          threshold: 1e-3,
        },
      ],
    },
  };
}
