import type { ParameterTree } from "../nn/layer.ts";
import { Adam } from "../optim/adam.ts";
import { combineSchedules, warmup } from "../optim/schedules.ts";
import { flatten } from "../tensor/tree.ts";
import type { Series, Splits } from "../data/series.ts";
import type { Task } from "../train/task.ts";
import type { SeriesSettings } from "./settings.ts";

/** Decay of the learning rate per epoch, and its minimum as a fraction of the initial rate. */
const [kept, least] = [0.9, 0.01];

/** Minimum number of warmup steps of WARP's learning rate: with few series an epoch has few steps. */
const leastWarmup = 20;

/**
 * Factors of the learning rates of WARP's weights: 128 / (n (depth + 1)) for a weight with n inputs, at most
 * 1.
 *
 * Adam changes every element of a weight by about the learning rate, so one step changes the norm of a weight
 * with n inputs by up to n times the rate. For A, n is the size of the state (163 with one hidden layer of 32
 * and 3 classes, 1,219 with two, 2,275 with three), and the change is raised to the power of the length of a
 * series: with the full rate the state overflows. The weights of phi, which computes the initial state, are
 * as wide. With these factors the change is about the same for every size (Yang and Hu, "Feature Learning in
 * Infinite-Width Neural Networks", 2021). The output is a product of the depth + 1 weights in the state, so
 * its relative change is depth + 1 times that of the state.
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
 * Optimiser, schedule, gradient clipping and stopping rule for users' own series: Adam, with gradients
 * clipped to a norm of 1. The learning rate warms up over the first epoch and decays by 10 % per epoch, down
 * to 1 % of its initial value. It does not depend on the number of epochs, so a run can be resumed for more
 * epochs. With `patience`, training stops after that number of epochs without a better validation loss. For
 * classification and regression, the weights of WARP have smaller learning rates, which depend on their
 * sizes, and warm up over at least 20 steps.
 *
 * @param options `steps`: number of steps per epoch.
 */
export function settling(
  { parameters, settings, steps }: {
    parameters: ParameterTree;
    settings: Pick<SeriesSettings, "learningRate" | "model" | "patience" | "task" | "depth">;
    steps: number;
  },
): Pick<Task, "optimizer" | "schedule" | "clipNorm" | "stop"> {
  const { learningRate, patience, depth = 1 } = settings;
  // For forecasts, WARP has a smaller default learning rate instead.
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

/**
 * Closed-form fit for users' own series: to the training set, and after its validation to the training and the
 * validation set. The penalty is chosen by leave-one-out, so the final fit needs no validation set.
 */
export function closedForm(
  fit: (series: readonly Series[]) => Promise<void>,
  { train, validation }: Splits<readonly Series[]>,
): Pick<Task, "fit" | "refit"> {
  return { fit: () => fit(train), refit: () => fit([...train, ...validation]) };
}
