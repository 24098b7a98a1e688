import { Adam } from "../../optim/adam.ts";
import { reduceOnPlateau } from "../../optim/schedules.ts";
import { flatten } from "../../tensor/tree.ts";
import type { Task } from "../task.ts";
import type { LearningOptions } from "./recipe.ts";

/** Rules of the recipe `"paper"` for a problem: Kidger et al., 2020, appendix D. */
export interface PaperRules {
  /** Factor on the learning rate of the readout, 100 by default (appendices D.3 and D.4). */
  readoutRate?: number;
  /** Number of epochs without improvement after which training ends, 100 by default. */
  stopAfter?: number;
  /** Measure that must improve, beside the training loss: `"validation accuracy"` by default. */
  stopBy?: "training accuracy" | "validation accuracy";
  /** Measure that lowers the learning rate: the `"training"` loss of an epoch by default. */
  plateauOf?: "training" | "validation loss";
}

/**
 * Optimiser, clipping and end of training of a model that classifies series. `"short"`, for runs of minutes: Adam, gradients
 * clipped to a norm of 1. `"paper"`, as Kidger et al., 2020, appendix D: Adam with a larger rate for the readout, the rate
 * divided by ten when the training loss of an epoch has not improved for ten epochs, and an end when it or the accuracy has
 * not improved for so many. (The authors' code multiplies the readout's gradients, which Adam undoes, and measures every
 * tenth epoch.)
 *
 * @param options `steps`: number of steps of an epoch; `paper`: rules of the recipe `"paper"`.
 */
export function classificationLearning(
  { parameters, settings, steps, paper = {} }: Omit<LearningOptions, "average"> & { paper?: PaperRules },
): Pick<Task, "optimizer" | "plateau" | "plateauOf" | "clipNorm" | "stop"> {
  const { learningRate, recipe = "short" } = settings;
  if (recipe === "short") return { optimizer: Adam(parameters, { learningRate }), clipNorm: 1 };
  const { readoutRate = 100, stopAfter = 100, stopBy = "validation accuracy", plateauOf = "training" } =
    paper;
  // Of a mean of models each has a readout.
  const readouts = flatten(parameters).flatMap(([name]) => /^(\d+\.)?readout(?=\.)/.exec(name)?.[0] ?? []);
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
