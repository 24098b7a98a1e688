/** Tasks that are fitted in closed form, without optimiser steps. */
import type { Task } from "./task.ts";

/**
 * Checks that a task has exactly one way to learn.
 *
 * @throws {TypeError} If the task has both an optimiser and `fit`, or neither.
 * @throws {RangeError} If a task with `fit` has more than one epoch.
 */
export function checkFit({ optimizer, fit }: Pick<Task, "optimizer" | "fit">, epochs: number): void {
  if (!optimizer === !fit) {
    const fault = fit ? "both an optimiser and fit" : "no optimiser and no fit";
    throw new TypeError(`train: the task has ${fault}; expected exactly one of them`);
  }
  if (fit && epochs !== 1) {
    throw new RangeError(`train: epochs is ${epochs}; expected 1, since the task is fitted in closed form`);
  }
}
