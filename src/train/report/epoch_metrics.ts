/** Metrics of an epoch, as a run stores them. */
import { isCount, isNumber, isNumbers, isRecord } from "../../files/json.ts";

/** One line of `metrics.jsonl`. */
export interface EpochMetrics {
  /** Number of the epoch, from 1. */
  readonly epoch: number;
  /** Number of optimiser steps at the end of the epoch. */
  readonly step: number;
  /** Learning rate of the last step of the epoch. Undefined for a task that is fitted in closed form. */
  readonly learningRate?: number;
  /**
   * Means of the measures over the training samples, each computed before the step on its batch; with the
   * fitted parameters for a task that is fitted in closed form.
   */
  readonly train: Readonly<Record<string, number>>;
  /** Means of the measures over the validation set, at the end of the epoch. Empty without such a set. */
  readonly validation: Readonly<Record<string, number>>;
  /** Training time in seconds, without the time between interruption and resumption. */
  readonly seconds: number;
}

/** Whether a value has the form of {@linkcode EpochMetrics}. */
export function isMetrics(value: unknown): value is EpochMetrics {
  return isRecord(value) && isCount(value.epoch, 1) && isCount(value.step) &&
    [value.learningRate ?? 0, value.seconds].every(isNumber) &&
    [value.train, value.validation].every(isNumbers);
}
