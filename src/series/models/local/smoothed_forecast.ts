/** Forecasts by exponential smoothing of a history, in the units of its values. */
import { continueState, smoothHistory, type SmoothingForm, sumOfSquares } from "./smoothing.ts";
import { exp, log } from "../../math/elementary.ts";

/** Forecast of the steps 1, 2, ... after a history. */
export interface HistoryForecast {
  /** Expected value of each step; medians if logarithms are smoothed. */
  readonly steps: Float64Array;
  /** Standard deviation of the error of each step, according to the model. */
  readonly standardDeviations: Float64Array;
}

/** Weight of the standard deviation in training, as a number of errors, when it is averaged with that of a history. */
const priorErrors = 4;

/**
 * Smooths a history, and forecasts the following steps.
 *
 * The variance of the error h steps ahead is the variance of one step times 1 + c_1^2 + ... + c_{h-1}^2,
 * where c_j is the effect of an error on the forecast j steps later (Hyndman et al., 2008, section 6.1).
 *
 * @param form Parameters. Values are smoothed instead of logarithms if one of them is not positive.
 * @param relativeDeviation Standard deviation of the errors of one step in training, as a fraction of the
 * mean absolute value; for logarithms, the standard deviation.
 * @param y Values at equal time steps `(steps)`; NaN is missing.
 */
export function forecastHistory(
  form: SmoothingForm,
  relativeDeviation: number,
  y: Float64Array,
  horizon: number,
): HistoryForecast {
  const isLog = form.isLog && !y.some((value) => value <= 0);
  const values = isLog ? y.map(log) : y;
  const { last, errors } = smoothHistory(form, values);
  const smoothed = continueState(form, last, y.length, horizon);
  const steps = isLog ? smoothed.map(exp) : smoothed;
  const prior = relativeDeviation * (isLog ? 1 : meanAbsolute(y));
  // Degrees of freedom: each number of the initial state takes one.
  const free = Math.max(0, countObserved(y) - 2 - form.period);
  const variance = (sumOfSquares(errors) + priorErrors * prior ** 2) / (free + priorErrors);
  const growth = growthOf(form, horizon);
  return {
    steps,
    standardDeviations: growth.map((factor, h) => Math.sqrt(variance * factor) * (isLog ? steps[h] : 1)),
  };
}

/** Standard deviation of the errors of one step, in the unit of `relativeDeviation`. */
export function relativeDeviationOf(form: SmoothingForm, y: Float64Array): number {
  const { errors } = smoothHistory(form, form.isLog ? y.map(log) : y);
  const standardDeviation = Math.sqrt(sumOfSquares(errors) / Math.max(1, countObserved(y) - 2 - form.period));
  return form.isLog ? standardDeviation : standardDeviation / (meanAbsolute(y) || 1);
}

/** 1 + c_1^2 + ... + c_{h-1}^2 for each step h. */
function growthOf(
  { period, level, trend, season, damping }: SmoothingForm,
  horizon: number,
): Float64Array {
  const growth = new Float64Array(horizon);
  let [sum, slope, power] = [1, 0, 1];
  for (let h = 0; h < horizon; h++) {
    growth[h] = sum;
    power *= damping;
    slope += power;
    sum += (level + trend * slope + ((h + 1) % period === 0 ? season : 0)) ** 2;
  }
  return growth;
}

/** Number of values that are not missing. */
export function countObserved(y: Float64Array): number {
  return y.reduce((count, value) => count + (Number.isNaN(value) ? 0 : 1), 0);
}

function meanAbsolute(y: Float64Array): number {
  const sum = y.reduce((sum, value) => sum + (Number.isNaN(value) ? 0 : Math.abs(value)), 0);
  return sum / Math.max(1, countObserved(y));
}
