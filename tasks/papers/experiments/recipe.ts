import type { ParameterTree } from "../../../src/nn/layer.ts";
import { AdaBelief } from "../../../src/optim/adabelief.ts";
import { Adam } from "../../../src/optim/adam.ts";
import { AdamW } from "../../../src/optim/adamw.ts";
import { cosineDecay, multiplySchedules, reduceOnPlateau, warmup } from "../../../src/optim/schedules.ts";
import type { Task } from "../../../src/train/task.ts";

/**
 * Optimizer, schedule and stopping rule: `"short"`, for runs of minutes, or `"paper"`, the recipe of
 * WARP's paper for forecasts and of the Neural CDE paper for classification.
 */
export type Recipe = "short" | "paper";

/** The part of a task that a recipe determines. */
type Learning = Pick<
  Task,
  "optimizer" | "schedule" | "plateau" | "plateauOf" | "clipNorm" | "clipValue"
>;

/** Options of {@linkcode learning} and other recipes. */
export interface LearningOptions {
  /** Parameters of the model. */
  parameters: ParameterTree;
  /** Settings of the run. */
  settings: { readonly learningRate: number; readonly model?: string; readonly recipe?: Recipe };
  /** Number of steps of the whole training, or of an epoch if the function says so. */
  steps: number;
  /** Number of training losses that `"paper"` averages, 50 by default. The authors use 10 for electricity. */
  average?: number;
}

/** Options of AdamW in the recipe `"paper"`, by model. */
const decayed: Readonly<Record<string, { weightDecay: number; betas?: [number, number] }>> = {
  transformer: { betas: [0.9, 0.95], weightDecay: 0.1 },
  s4d: { weightDecay: 0.05 },
};

const learningOf: Readonly<Record<Recipe, (options: LearningOptions) => Learning>> = {
  short: ({ parameters, settings, steps }) => ({
    optimizer: Adam(parameters, { learningRate: settings.learningRate }),
    // The first updates of A are the most dangerous: their effect grows with the length of a series. Hence
    // the warm-up.
    schedule: multiplySchedules(
      warmup({ steps: Math.min(100, steps / 5) }),
      cosineDecay({ steps, minimum: 0.01 }),
    ),
    clipNorm: 1,
  }),
  paper: ({ parameters, settings, average = 50 }) =>
    Object.hasOwn(decayed, settings.model ?? "")
      ? { optimizer: AdamW(parameters, { learningRate: settings.learningRate, ...decayed[settings.model!] }) }
      : {
        optimizer: AdaBelief(parameters, { learningRate: settings.learningRate }),
        // The authors' library lowers the rate at the twentieth average without improvement, reduceOnPlateau
        // one later.
        plateau: reduceOnPlateau({ factor: 0.5, patience: 19, minimum: 0.01, threshold: 1e-4, average }),
        plateauOf: "training",
        clipValue: 1e-7,
      },
};

/** The names of the recipes. */
export const recipes: readonly Recipe[] = ["short", "paper"];

/**
 * Optimizer, schedule and gradient clipping of a forecasting model. `"short"`, for runs of minutes: Adam, a
 * warm-up, half a cosine, gradients clipped to a norm of 1. `"paper"`, as WARP's authors (Nzoyem et al.,
 * 2025, appendices A.3 and C): AdaBelief, each element of the gradients clipped to 1e-7 (the paper mentions
 * norms, the code clips elements), and the learning rate halved, down to a hundredth, after 20 averages of 50
 * training losses without improvement. For most problems the initial rate is 1e-5. The Transformer uses AdamW
 * with betas of 0.9 and 0.95, a weight decay of 0.1 and a constant rate, which is 6e-4 in the paper; S4 uses
 * AdamW with a weight decay of 0.05.
 *
 * @throws {RangeError} If the recipe is unknown.
 */
export function learning(options: LearningOptions): Learning {
  const { recipe = "short" } = options.settings;
  if (!Object.hasOwn(learningOf, recipe)) {
    throw new RangeError(`unknown recipe "${recipe}"; there are ${recipes.join(", ")}`);
  }
  return learningOf[recipe](options);
}
