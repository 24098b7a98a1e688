/**
 * Quantiles of forecasts by split conformal prediction (Lei et al., "Distribution-Free Predictive Inference
 * for Regression", 2018): quantiles of the forecast errors on data outside the training set. Each error is
 * divided by the standard deviation of the window's past. The standard deviation of the training set is used
 * instead if the series is shorter than a window, or if this gives narrower intervals.
 */
import { maxValue } from "../data/format.ts";
import { quantileOf } from "../data/quantile.ts";
import { isCount, isRecord } from "../files/json.ts";
import type { Calibration } from "../train/task.ts";

/** Probabilities of the quantiles. The first and the last are the bounds of an 80 % interval. */
export const levels = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9] as const;

/** Quantiles of the errors, indexed by channel, step and level of {@linkcode levels}. */
export type StepErrors = readonly (readonly (readonly number[])[])[];

/** Quantiles of the errors at each step. */
export interface ErrorQuantiles {
  readonly errors: StepErrors;
  /** Channels whose errors are divided by the standard deviation of the training set. */
  readonly inDataUnits?: readonly number[];
  /** Quantiles for series with only `steps` past steps, in descending order of `steps`. */
  readonly short?: readonly { readonly steps: number; readonly errors: StepErrors }[];
}

/** Minimum number of errors per quantile. With fewer errors, those of neighbouring steps are added. */
const least = 50;

/** Collects forecast errors and computes their quantiles. */
export class ErrorSample {
  readonly #errors: number[][][];

  /** @param horizon Number of steps. */
  constructor(channels: number, readonly horizon: number) {
    this.#errors = Array.from({ length: channels }, () => Array.from({ length: horizon }, () => []));
  }

  /** Adds an error at a time, in steps after the present. NaN is ignored. */
  add(channel: number, at: number, error: number): void {
    if (Number.isNaN(error)) return;
    this.#errors[channel][Math.min(this.horizon, Math.max(1, Math.round(at))) - 1].push(error);
  }

  /** Quantiles of each channel and step; zeros for a channel without errors. */
  quantiles(): StepErrors {
    return this.#errors.map((steps) =>
      steps.map((_, step) => {
        let reach = 0;
        let own = steps[step];
        while (own.length < least && reach < steps.length) {
          reach++;
          own = steps.slice(Math.max(0, step - reach), step + reach + 1).flat();
        }
        const sorted = Float64Array.from(own).sort();
        return levels.map((level) =>
          sorted.length > 0 ? Number(quantileOf(sorted, level).toPrecision(6)) : 0
        );
      })
    );
  }
}

/** Quantiles for a series with a number of past steps: those of the longest history that is not longer. */
export function errorsAfter(
  { errors, short = [] }: ErrorQuantiles,
  steps: number,
  context: number,
): StepErrors {
  if (steps >= context) return errors;
  return (short.find((own) => own.steps <= steps) ?? short.at(-1))?.errors ?? errors;
}

/** @throws {Error} If the stored value does not have a number for each channel, step and level. */
export function requireErrorQuantiles(
  stored: Calibration,
  channels: number,
  horizon: number,
): ErrorQuantiles {
  const { errors, inDataUnits = [], short = [] } = stored as unknown as ErrorQuantiles;
  const isList = (list: unknown, length: number): list is unknown[] =>
    Array.isArray(list) && list.length === length;
  const isError = (error: unknown) => typeof error === "number" && Math.abs(error) <= maxValue;
  const areErrors = (all: unknown) =>
    isList(all, channels) && all.every((steps) =>
      isList(steps, horizon) &&
      steps.every((errors) => isList(errors, levels.length) && errors.every(isError))
    );
  const areShort = Array.isArray(short) &&
    short.every((own) => isRecord(own) && isCount(own.steps) && areErrors(own.errors));
  const areChannels = Array.isArray(inDataUnits) &&
    inDataUnits.every((channel) => isCount(channel) && channel < channels);
  if (areErrors(errors) && areShort && areChannels) return { errors, inDataUnits, short };
  throw new Error(
    `damaged calibration in the weights: expected ${levels.length} numbers for each of ${channels} channels and ${horizon} ` +
      "steps; restore the file, or train again",
  );
}
