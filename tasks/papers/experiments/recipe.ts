import {
  AdaBelief,
  Adam,
  AdamW,
  cosineDecay,
  multiplySchedules,
  type ParameterTree,
  reduceOnPlateau,
  warmup,
} from "@weft/weft";
import type { Task } from "@weft/weft/train";
import { valuesOf } from "../recipes/recipe.ts";
import { baselines } from "../recipes/warp_dynamics.ts";
import { s4 } from "../recipes/warp_images.ts";
import { optimizer } from "../recipes/warp_optimizer.ts";

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
  /** Number of training losses that `"paper"` averages, by default that of most problems. */
  average?: number;
}

const { clipValue, plateauFactor, plateauPatience, plateauMinimum, plateauThreshold, plateauAverage } =
  valuesOf(optimizer);
const { transformerBeta1, transformerBeta2, transformerWeightDecay } = valuesOf(baselines.rules);

/** Options of AdamW in the recipe `"paper"`, by model. */
const decayed: Readonly<Record<string, { weightDecay: number; betas?: [number, number] }>> = {
  transformer: { betas: [transformerBeta1, transformerBeta2], weightDecay: transformerWeightDecay },
  s4d: { weightDecay: s4.rules.weightDecay.value },
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
  paper: ({ parameters, settings, average = plateauAverage }) =>
    Object.hasOwn(decayed, settings.model ?? "")
      ? { optimizer: AdamW(parameters, { learningRate: settings.learningRate, ...decayed[settings.model!] }) }
      : {
        optimizer: AdaBelief(parameters, { learningRate: settings.learningRate }),
        // After `patience` averages without improvement, the authors' library lowers the rate at the last of
        // them, and reduceOnPlateau at the next one.
        plateau: reduceOnPlateau({
          factor: plateauFactor,
          patience: plateauPatience - 1,
          minimum: plateauMinimum,
          threshold: plateauThreshold,
          average,
        }),
        plateauOf: "training",
        clipValue,
      },
};

/** The names of the recipes. */
export const recipes: readonly Recipe[] = ["short", "paper"];

/**
 * Optimizer, schedule and gradient clipping of a forecasting model. `"short"`, for runs of minutes: Adam, a
 * warm-up, half a cosine, gradients clipped to a norm of 1. `"paper"`, as WARP's authors (Nzoyem et al.,
 * 2025, appendices A.3 and C): AdaBelief, each element of the gradients clipped (the paper mentions norms, the
 * code clips elements), and a learning rate that falls when an average of training losses does not improve.
 * The Transformer and S4 use AdamW with a constant rate. The numbers are those of tasks/papers/recipes.
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
