import type { ParameterTree } from "../nn/layer.ts";
import { Adam } from "../optim/adam.ts";
import { combineSchedules, warmup } from "../optim/schedules.ts";
import { flatten } from "../tensor/tree.ts";
import type { Task } from "../train/task.ts";
import type { SeriesSettings } from "./settings.ts";

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
  { parameters, settings, steps }: {
    parameters: ParameterTree;
    settings: Pick<SeriesSettings, "learningRate" | "model" | "patience" | "task" | "depth">;
    steps: number;
  },
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
