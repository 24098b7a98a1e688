/** Fits exponential smoothing to a history, and chooses its form. */
import { correctedAkaike } from "../../math/akaike.ts";
import { minimise } from "../../math/nelder_mead.ts";
import { smoothHistory, type Smoothing, type SmoothingForm, sumOfSquares } from "./smoothing.ts";
import { exp, log } from "../../math/elementary.ts";

/** Maximum number of recent values to fit the parameters to, and minimum number of seasons in them. */
const [maxFitted, minSeasons] = [500, 10];

/**
 * Fits the parameters of all forms to a history, and returns the form with the smallest corrected Akaike
 * information criterion (AICc). Forms have no trend, a linear or a damped trend, and a season or none, and
 * smooth the values or, if all are positive, their logarithms.
 *
 * @param y Values at equal time steps `(steps)`; NaN is missing.
 * @param season Number of steps of a season; 1 for none.
 */
export function fitSmoothing(y: Float64Array, season: number): SmoothingForm {
  const recent = y.subarray(Math.max(0, y.length - Math.max(maxFitted, minSeasons * season)));
  const observed = recent.filter((value) => !Number.isNaN(value));
  const isPositive = observed.length > 0 && observed.every((value) => value > 0);
  const candidates = [false, ...(isPositive ? [true] : [])].flatMap((isLog) => {
    const values = isLog ? recent.map(log) : recent;
    // Densities of logarithms are compared with those of the values: d(log y) / dy = 1 / y.
    const jacobian = isLog ? 2 * observed.reduce((sum, value) => sum + log(value), 0) : 0;
    const periods = observed.length > 2 * season && season > 1 ? [1, season] : [1];
    return periods.flatMap((period) =>
      trends.map((trend) => {
        const { smoothing, criterion } = fitForm(values, observed.length, period, trend);
        return { form: { ...smoothing, isLog }, criterion: criterion + jacobian };
      })
    );
  });
  const best = candidates.reduce((best, one) => one.criterion < best.criterion ? one : best);
  return best.form;
}

const trends = ["none", "linear", "damped"] as const;

/** Range of phi of a damped trend. */
const [leastDamping, mostDamping] = [0.8, 0.98];

function fitForm(y: Float64Array, observedCount: number, period: number, trend: typeof trends[number]) {
  const isSeasonal = period > 1;
  const smoothingAt = (point: readonly number[]): Smoothing => {
    const rest = point.map(logistic);
    const level = 0.0001 + 0.9998 * rest.shift()!;
    return {
      period,
      level,
      trend: trend === "none" ? 0 : level * rest.shift()!,
      damping: trend === "damped"
        ? leastDamping + (mostDamping - leastDamping) * rest.shift()!
        : trend === "none"
        ? 0
        : 1,
      season: isSeasonal ? (1 - level) * rest.shift()! : 0,
    };
  };
  let start: Float64Array | undefined;
  const errorAt = (point: readonly number[]): number => {
    const { errors, initial } = smoothHistory(smoothingAt(point), y, start);
    start = initial;
    return sumOfSquares(errors);
  };
  const starts = [-2, 0, 2].map((level) => [
    level,
    ...(trend === "none" ? [] : [-3]),
    ...(trend === "damped" ? [1] : []),
    ...(isSeasonal ? [-2] : []),
  ]);
  const { point, value } = minimise(errorAt, starts);
  const estimated = point.length + 1 + (trend === "none" ? 0 : 1) + (isSeasonal ? period - 1 : 0) + 1;
  return { smoothing: smoothingAt(point), criterion: correctedAkaike(value, observedCount, estimated) };
}

function logistic(x: number): number {
  return 1 / (1 + exp(-x));
}
