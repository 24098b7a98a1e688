/** Tasks that are fitted in closed form, without optimiser steps. */
import type { Tree } from "../tensor/tree.ts";
import { evaluate } from "./evaluate.ts";
import type { Samples, Task } from "./task.ts";

/**
 * Checks that a task has exactly one way to learn.
 *
 * @throws {TypeError} If the task has both an optimiser and `fit`, or neither.
 * @throws {RangeError} If a task with `fit` has more than one epoch.
 */
export function checkFit({ optimizer, fit }: Pick<Task, "optimizer" | "fit">, epochs: number): void {
  if (!optimizer === !fit) {
    const found = fit ? "both an optimiser and fit" : "no optimiser and no fit";
    throw new TypeError(`train: the task has ${found}; expected exactly one of them`);
  }
  if (fit && epochs !== 1) {
    throw new RangeError(`train: epochs is ${epochs}; expected 1, since the task is fitted in closed form`);
  }
}

/** Fits a task, and returns the means of its measures on the training set with the fitted parameters. */
export async function fitEpoch<Batch extends Tree>(
  task: Task<Batch, Samples<Batch>>,
  batchSize: number,
): Promise<Record<string, number>> {
  await task.fit!();
  return await evaluate(task, task.data.train, batchSize);
}
