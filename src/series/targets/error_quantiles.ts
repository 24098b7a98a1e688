/**
 * Quantiles of forecasts by split conformal prediction (Lei et al., "Distribution-Free Predictive Inference
 * for Regression", 2018): quantiles of the forecast errors on data outside the training set. Each error is
 * divided by the standard deviation of the window's past. The standard deviation of the training set is used
 * instead if the series is shorter than a window, or if this gives narrower intervals.
 */
import { maxValue } from "../../data/format.ts";
import { quantileOf } from "../../data/quantile.ts";
import { isCount, isRecord } from "../../files/json.ts";
import type { Calibration } from "../../train/task.ts";

/** Probabilities of the quantiles. The first and the last are the bounds of an 80 % interval. */
export const levels = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9] as const;

/** Quantiles of the errors, indexed by channel, step and level of {@linkcode levels}. */
export type StepErrors = readonly (readonly (readonly number[])[])[];

/** Quantiles of the errors at each step. */
export interface ErrorQuantiles {
  readonly errors: StepErrors;
  /** Minimum number of past steps of forecasts with these errors; the context of the model by default. */
  readonly from?: number;
  /** Channels whose errors are divided by the standard deviation of the training set. */
  readonly inDataUnits?: readonly number[];
  /** Quantiles for series with only `steps` past steps, in descending order of `steps`. */
  readonly short?: readonly { readonly steps: number; readonly errors: StepErrors }[];
}

/** Minimum number of errors per quantile. With fewer errors, those of neighbouring steps are added. */
const minErrors = 50;

/** Collects forecast errors and computes their quantiles. */
export class ErrorSample {
  readonly #errors: number[][][];

  /** @param horizon Number of steps. */
  constructor(channels: number, readonly horizon: number) {
    this.#errors = Array.from({ length: channels }, () => Array.from({ length: horizon }, () => []));
  }

  /** Adds an error at a time, in steps after the forecast origin. NaN is ignored. */
  add(channel: number, at: number, error: number): void {
    if (Number.isNaN(error)) return;
    this.#errors[channel][Math.min(this.horizon, Math.max(1, Math.round(at))) - 1].push(error);
  }

  /** Quantiles of each channel and step. No quantiles for a channel without errors. */
  quantiles(): StepErrors {
    return this.#errors.map((stepErrors) =>
      stepErrors.map((errors, step) => {
        let reach = 0;
        let pooled = errors;
        while (pooled.length < minErrors && reach < stepErrors.length) {
          reach++;
          pooled = stepErrors.slice(Math.max(0, step - reach), step + reach + 1).flat();
        }
        if (pooled.length === 0) return [];
        const quantile = errors.length < minErrors ? widened(pooled, errors.length) : quantilesIn(pooled);
        return levels.map((level) => Number(quantile(level).toPrecision(6)));
      })
    );
  }
}

function quantilesIn(errors: readonly number[]): (level: number) => number {
  const sorted = Float64Array.from(errors).sort();
  return (level) => quantileOf(sorted, level);
}

/**
 * Quantiles from few forecasts. The errors of one forecast often have the same sign, so both signs count as
 * equally probable. The quantiles are widened by n / (n - 1) for n forecasts, and at most by 2: close to the
 * ratio of the quantiles of Student's t and the normal distribution.
 */
function widened(errors: readonly number[], forecasts: number): (level: number) => number {
  const absolute = quantilesIn(errors.map(Math.abs));
  const factor = forecasts > 1 ? forecasts / (forecasts - 1) : 2;
  return (level) => Math.sign(level - 0.5) * factor * absolute(Math.abs(2 * level - 1));
}

/** Whether a channel has quantiles of errors. */
export function hasErrors(errors: StepErrors[number] | undefined): boolean {
  return errors !== undefined && errors[0].length > 0;
}

/**
 * Quantiles for a series with a number of past steps: those of histories of this length. Between two lengths,
 * for each channel those with the wider intervals.
 */
export function errorsAfter(
  { errors, short = [], from }: ErrorQuantiles,
  pastSteps: number,
  context: number,
): StepErrors {
  const lengths = [{ steps: from ?? context, errors }, ...short];
  const at = lengths.findIndex((entry) => entry.steps <= pastSteps);
  if (at < 0) return lengths.at(-1)!.errors;
  if (at === 0 || lengths[at].steps === pastSteps) return lengths[at].errors;
  const [less, more] = [lengths[at].errors, lengths[at - 1].errors];
  return less.map((channelErrors, channel) =>
    hasErrors(more[channel]) && widthOf(more[channel]) > widthOf(channelErrors)
      ? more[channel]
      : channelErrors
  );
}

/** Sum of the widths of the 80 % interval over all steps. 0 without quantiles. */
export function widthOf(stepErrors: StepErrors[number]): number {
  return stepErrors.reduce((sum, errors) => sum + (errors.at(-1) ?? 0) - (errors[0] ?? 0), 0);
}

/** @throws {Error} If the stored value does not have a number for each channel, step and level. */
export function requireErrorQuantiles(
  stored: Calibration,
  channels: number,
  horizon: number,
): ErrorQuantiles {
  const { errors, inDataUnits = [], short = [], from } = stored as unknown as ErrorQuantiles;
  const isList = (list: unknown, length: number): list is unknown[] =>
    Array.isArray(list) && list.length === length;
  const isError = (error: unknown) => typeof error === "number" && Math.abs(error) <= maxValue;
  const areErrors = (all: unknown) =>
    isList(all, channels) && all.every((stepErrors) =>
      isList(stepErrors, horizon) &&
      (stepErrors.every((errors) => isList(errors, levels.length) && errors.every(isError)) ||
        stepErrors.every((errors) => isList(errors, 0)))
    );
  const areShort = Array.isArray(short) &&
    short.every((entry) => isRecord(entry) && isCount(entry.steps) && areErrors(entry.errors));
  const areChannels = Array.isArray(inDataUnits) &&
    inDataUnits.every((channel) => isCount(channel) && channel < channels);
  const isFrom = from === undefined || isCount(from);
  if (areErrors(errors) && areShort && areChannels && isFrom) {
    return { errors, inDataUnits, short, ...(from === undefined ? {} : { from }) };
  }
  throw new Error(
    `damaged calibration in the weights: expected ${levels.length} numbers for each of ${channels} channels and ${horizon} ` +
      "steps; restore the file, or train again",
  );
}
