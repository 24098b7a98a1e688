/**
 * Autoregression: the next value is linear in the values before it,
 *
 *     v_t = c + pi_1 v_{t-1} + ... + pi_L v_{t-L} + e_t
 *
 * The values v are those of a history, or their logarithms, with mean 0 and standard deviation 1 in the history: the
 * coefficients do not depend on the unit of the values. Differences and seasonal differences are multiplied out
 * into the coefficients pi.
 */
import { countObserved, type HistoryForecast } from "./smoothed_forecast.ts";
import { exp, log } from "../../math/elementary.ts";

/** Coefficients of an autoregression. */
export interface Autoregression {
  /** pi_1 to pi_L. The last ones may be 0. */
  readonly coefficients: Float64Array;
  /** c. */
  readonly constant: number;
  /** Whether the values are logarithms. */
  readonly isLog: boolean;
  /** Standard deviation of the errors of one step in training, in standard deviations of the history. */
  readonly relativeDeviation: number;
}

/** A history with mean 0 and standard deviation 1. */
interface ScaledHistory {
  /** Shape (steps); NaN is missing. */
  readonly values: Float64Array;
  /** Mean and standard deviation of the values before scaling. The standard deviation is 1 if it would be 0. */
  readonly mean: number;
  readonly unit: number;
}

/** Weight of the standard deviation in training, as a number of errors, when it is averaged with that of a history. */
const priorErrors = 4;

/** Scales a history, or its logarithms, to mean 0 and standard deviation 1. */
export function scaledHistory(y: Float64Array, isLog: boolean): ScaledHistory {
  const values = isLog ? y.map(log) : y;
  const count = Math.max(1, countObserved(y));
  const mean = values.reduce((sum, value) => sum + (value || 0), 0) / count;
  const variance = values.reduce((sum, value) => sum + ((value - mean) ** 2 || 0), 0) / count;
  // A constant history can have a small variance from rounding errors. Treat it as 0.
  const unit = variance > (1e-9 * mean) ** 2 ? Math.sqrt(variance) : 1;
  return { values: values.map((value) => (value - mean) / unit), mean, unit };
}

/**
 * Forecasts the steps after a history. A missing value is replaced by its forecast, or before any forecast is
 * possible by the value before it.
 *
 * @param y Values at equal time steps `(steps)`; NaN is missing. If one is not positive, values are forecast
 * instead of logarithms.
 */
export function forecastAutoregression(
  form: Autoregression,
  y: Float64Array,
  horizon: number,
): HistoryForecast {
  const isLog = form.isLog && !y.some((value) => value <= 0);
  const { values, mean, unit } = scaledHistory(y, isLog);
  const { forecast, squares, count } = runAutoregression(form, values, horizon);
  const steps = forecast.map((value) => isLog ? exp(mean + unit * value) : mean + unit * value);
  const variance = (squares + priorErrors * form.relativeDeviation ** 2) / (count + priorErrors);
  let sum = 0;
  const standardDeviations = effectsOf(form.coefficients, horizon).map((effect, h) => {
    sum += effect ** 2;
    return Math.sqrt(variance * sum) * unit * (isLog ? steps[h] : 1);
  });
  return { steps, standardDeviations };
}

/** Following steps, the sum of the squared errors of one step, and their number. */
export function runAutoregression(
  { coefficients, constant }: Pick<Autoregression, "coefficients" | "constant">,
  values: Float64Array,
  horizon: number,
): { forecast: Float64Array; squares: number; count: number } {
  const order = coefficients.findLastIndex((value) => value !== 0) + 1;
  const all = new Float64Array(values.length + horizon);
  let [squares, count] = [0, 0];
  for (let t = 0; t < all.length; t++) {
    let forecast = constant;
    if (t < order) forecast = t > 0 ? all[t - 1] : 0;
    else for (let lag = 1; lag <= order; lag++) forecast += coefficients[lag - 1] * all[t - lag];
    const value = t < values.length ? values[t] : NaN;
    all[t] = Number.isNaN(value) ? forecast : value;
    if (Number.isNaN(value) || t < order) continue;
    squares += (value - forecast) ** 2;
    count++;
  }
  return { forecast: all.subarray(values.length), squares, count };
}

/** Effect of an error on the forecast 0, 1, 2, ... steps later. */
export function effectsOf(coefficients: Float64Array, steps: number): Float64Array {
  const effects = new Float64Array(steps);
  for (let j = 0; j < steps; j++) {
    effects[j] = j === 0 ? 1 : 0;
    for (let lag = 1; lag <= Math.min(j, coefficients.length); lag++) {
      effects[j] += coefficients[lag - 1] * effects[j - lag];
    }
  }
  return effects;
}
