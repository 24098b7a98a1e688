import type { ParameterTree } from "../../nn/layer.ts";
import { AdaBelief } from "../../optim/adabelief.ts";
import { Adam } from "../../optim/adam.ts";
import { AdamW } from "../../optim/adamw.ts";
import { combineSchedules, cosine, reduceOnPlateau, warmup } from "../../optim/schedules.ts";
import { flatten } from "../../tensor/tree.ts";
import type { Task } from "../task.ts";
import type { Settings } from "./experiment.ts";

/**
 * Optimiser, schedule and end of training: `"short"`, for runs of minutes, or `"paper"`, as WARP's paper for forecasts and
 * that of Neural CDEs for series that are classified.
 */
export type Recipe = "short" | "paper";

/** The part of a task that a recipe decides. */
type Learning = Pick<
  Task,
  "optimizer" | "schedule" | "plateau" | "plateauOf" | "clipNorm" | "clipElements"
>;

/** Options of {@linkcode learning} and other recipes. */
export interface LearningOptions {
  /** Parameters of the model. */
  parameters: ParameterTree;
  /** Settings of the run. */
  settings: Pick<Settings, "learningRate" | "model" | "recipe" | "patience" | "task" | "depth">;
  /** Number of steps: of the whole training, or of an epoch where a function says so. */
  steps: number;
  /** Number of training losses that `"paper"` averages, 50 by default; the authors take 10 for electricity. */
  average?: number;
}

const learningOf: Readonly<Record<Recipe, (options: LearningOptions) => Learning>> = {
  short: ({ parameters, settings, steps }) => ({
    optimizer: Adam(parameters, { learningRate: settings.learningRate }),
    // A's first steps are the most dangerous ones: what it multiplies grows with the length of a series.
    schedule: combineSchedules(warmup({ steps: Math.min(100, steps / 5) }), cosine({ steps, minimum: 0.01 })),
    clipNorm: 1,
  }),
  paper: ({ parameters, settings, average = 50 }) =>
    settings.model === "transformer"
      ? {
        optimizer: AdamW(parameters, {
          learningRate: settings.learningRate,
          betas: [0.9, 0.95],
          weightDecay: 0.1,
        }),
      }
      : {
        optimizer: AdaBelief(parameters, { learningRate: settings.learningRate }),
        // The authors' library lowers the rate at the twentieth average without improvement, reduceOnPlateau after it.
        plateau: reduceOnPlateau({ factor: 0.5, patience: 19, minimum: 0.01, threshold: 1e-4, average }),
        plateauOf: "training",
        clipElements: 1e-7,
      },
};

/** The names of recipes. */
export const recipes: readonly Recipe[] = ["short", "paper"];

/**
 * Optimiser, schedule and clipping of a model of forecasts. `"short"`, for runs of minutes: Adam, a warm-up, half a cosine,
 * gradients clipped to a norm of 1. `"paper"`, as WARP's authors (Nzoyem et al., 2025, appendices A.3 and C): AdaBelief, each
 * element of the gradients clipped to 1e-7 (the paper speaks of norms, their code clips elements), and the rate halved, down
 * to a hundredth, when 20 averages of 50 training losses bring nothing; for most problems they start at a rate of 1e-5. Their
 * Transformer learns by AdamW with betas of 0.9 and 0.95 and a weight decay of 0.1, at a constant rate, which is 6e-4 in the
 * paper.
 *
 * @throws {RangeError} If there is no such recipe.
 */
export function learning(options: LearningOptions): Learning {
  const { recipe = "short" } = options.settings;
  if (!Object.hasOwn(learningOf, recipe)) {
    throw new RangeError(`unknown recipe "${recipe}"; there are ${recipes.join(", ")}`);
  }
  return learningOf[recipe](options);
}

/** Share of the learning rate that an epoch leaves, and the least share of the first one. */
const [kept, least] = [0.9, 0.01];

/** Least number of steps over which WARP's learning rate rises: few series make an epoch of few steps. */
const leastWarmup = 20;

/**
 * Factors on the learning rates of WARP's weights: 128 / (n (depth + 1)) for a weight of n inputs, at most 1.
 *
 * Adam changes every element of a weight by about the learning rate, so one step changes the norm of a weight of n inputs by up to
 * n times the rate. For A, n is the size of the state (163 with one hidden layer of 32 and 3 classes, 1,219 with two, 2,275 with
 * three), and the change is raised to the power of the length of a series: with the full rate the state overflows. The weights of
 * phi, which makes the first state, are as wide. With these factors the change is about the same for every size (Yang and Hu,
 * "Feature Learning in Infinite-Width Neural Networks", 2021). The output is a product of the depth + 1 weights that the state
 * holds, and its relative change is so many times that of the state.
 *
 * @param depth Number of hidden layers of the root network.
 */
function warpMultipliers(parameters: ParameterTree, depth: number): Record<string, number> {
  const most = 128 / (depth + 1);
  return Object.fromEntries(
    flatten(parameters).flatMap(([name, { rank, shape }]) =>
      rank === 2 && shape[1] > most ? [[name, most / shape[1]]] : []
    ),
  );
}

/**
 * Optimiser, schedule, clipping and end of training on series of one's own: Adam, gradients clipped to a norm of 1, a rate that rises
 * over the first epoch and falls by a tenth in each, down to a hundredth. It does not depend on the number of epochs, so that a
 * run may go on for more of them. With `patience`, training ends when the validation loss has not improved for so many epochs. The
 * weights of a WARP that classifies or regresses have smaller learning rates, which depend on their sizes and rise over 20 steps
 * or more.
 *
 * @param options `steps`: number of steps of an epoch.
 */
export function settling(
  { parameters, settings, steps }: Omit<LearningOptions, "average">,
): Pick<Task, "optimizer" | "schedule" | "clipNorm" | "stop"> {
  const { learningRate, patience, depth = 1 } = settings;
  // Forecasts of WARP have a smaller learning rate by default instead.
  const isWarp = settings.model === "warp" && settings.task !== "forecast";
  return {
    optimizer: Adam(parameters, {
      learningRate,
      multipliers: isWarp ? warpMultipliers(parameters, depth) : {},
    }),
    schedule: combineSchedules(
      warmup({ steps: isWarp ? Math.max(steps, leastWarmup) : steps }),
      (step) => Math.max(least, kept ** (step / steps)),
    ),
    clipNorm: 1,
    ...(patience === undefined ? {} : {
      stop: { after: patience, unless: [{ part: "validation", measure: "loss", mode: "min", threshold: 0 }] },
    }),
  };
}
