/** Training in memory, without a run's folder. */
import { checkOptions, namesOf } from "../device/options.ts";
import { batchSizes, epochOrder, inBatches, sampleCount } from "../data/batches.ts";
import { foldIn, type Key, splitKey } from "../tensor/random.ts";
import { tidy } from "../tensor/scope.ts";
import { type Tree, treeLeaves } from "../tensor/tree.ts";
import { checkFit } from "./fit.ts";
import { Pipeline } from "./pipeline.ts";
import { stepOf } from "./step.ts";
import type { Samples, Task } from "./task.ts";

/** Options of {@linkcode trainInMemory}. */
interface InMemoryOptions {
  /** Number of optimiser steps, at least 1. */
  steps: number;
  /** Batch size, at least 1. */
  batchSize: number;
  /** Random key of the order of samples and of the keys passed to `evaluate`. */
  key: Key;
  /** Ends training before the next step. */
  signal?: AbortSignal;
}

const inMemoryNames = namesOf<InMemoryOptions>()("steps batchSize key signal?");

/**
 * Trains a task for a number of steps, without validation, checkpoints and files. The parameters are changed
 * in place. The steps are those of `train`. A task with `fit` is fitted in closed form.
 *
 * @returns Number of completed steps: fewer than `steps` if the signal ended training, 0 for a closed form.
 */
export async function trainInMemory<Batch extends Tree>(
  task: Task<Batch, Samples<Batch>>,
  options: InMemoryOptions,
): Promise<number> {
  checkOptions("trainInMemory", options, inMemoryNames);
  const { steps, batchSize, key, signal } = options;
  const { optimizer, schedule = () => 1, visits = 1 } = task;
  checkFit(task, 1);
  if (!optimizer) {
    await task.fit!();
    return 0;
  }
  const [orderKey, stepKey] = splitKey(key);
  const count = sampleCount(task.data.train);
  const takeStep = stepOf({ ...task, optimizer }, { sizes: batchSizes(visits * count, batchSize) });
  const pipeline = new Pipeline(treeLeaves(task.parameters)[0].memoryDevice);
  const rate = optimizer.learningRate;
  let step = 0;
  for (let epoch = 1; step < steps && !signal?.aborted; epoch++) {
    await task.collect?.(epoch);
    for (const positions of inBatches(epochOrder(orderKey, epoch, count, visits), batchSize)) {
      if (step >= steps || signal?.aborted) break;
      const factor = rate * schedule(step);
      tidy(() => void takeStep(positions, foldIn(stepKey, step), factor));
      await pipeline.next();
      step++;
    }
  }
  await pipeline.finish();
  optimizer.learningRate = rate;
  return step;
}
