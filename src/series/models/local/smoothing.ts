/**
 * Exponential smoothing in its state space form with additive errors (Hyndman, Koehler, Ord and Snyder,
 * "Forecasting with Exponential Smoothing", 2008):
 *
 *     e = y - (l + phi b + s),  l <- l + phi b + alpha e,  b <- phi b + beta e,  s <- s + gamma e
 *
 * with a level l, a trend b, and a seasonal value s for each step of the season. A missing value updates
 * nothing: its error is 0. For fixed smoothing parameters the errors are affine in the initial state, so the
 * best initial state solves a least-squares problem. Conjugate gradients solve it, with one recursion forward
 * and one backward for each iteration.
 */

/** Smoothing parameters. */
export interface Smoothing {
  /** Number of steps of a season; 1 for no season. */
  readonly period: number;
  /** alpha, from 0 to 1. */
  readonly level: number;
  /** beta, from 0 to alpha. */
  readonly trend: number;
  /** gamma, from 0 to 1 - alpha. */
  readonly season: number;
  /** phi: 0 for no trend, 1 for a linear trend, between 0 and 1 for a damped trend. */
  readonly damping: number;
}

/** Smoothing parameters, and whether values or their logarithms are smoothed. */
export interface SmoothingForm extends Smoothing {
  /** Whether the logarithms of the values are smoothed: seasonal values and errors are then factors. */
  readonly isLog: boolean;
}

/** Level, trend and seasonal values of the next steps, in an array of 2 + period numbers. */
type SmoothingState = Float64Array;

/** Result of smoothing a history. */
interface Smoothed {
  /** State before the first step, by least squares. */
  readonly initial: SmoothingState;
  /** State after the last step. The seasonal value of step t is at 2 + t % period. */
  readonly last: SmoothingState;
  /** Errors of the forecasts of one step; 0 at missing values. Shape (steps). */
  readonly errors: Float64Array;
}

/** Maximum number of iterations of conjugate gradients, and their relative tolerance. */
const [maxIterations, tolerance] = [50, 1e-7];

/**
 * Smooths a history from the initial state with the smallest sum of squared errors.
 *
 * @param y Values at equal time steps `(steps)`; NaN is missing.
 * @param start State to start the search from, by default the mean of the values.
 */
export function smoothHistory(parameters: Smoothing, y: Float64Array, start?: SmoothingState): Smoothed {
  const { period, damping } = parameters;
  // A trend changes the last values `steps` times as much as a level does: scale it to the same effect.
  const units = [1, damping > 0 ? 1 / Math.min(y.length, 1 / (1 - damping + 1e-9)) : 0];
  if (period > 1) units.push(...new Array<number>(period).fill(1));
  const initial = start?.slice() ?? new Float64Array(2 + period);
  if (!start) initial[0] = meanOf(y);
  const errors = new Float64Array(y.length);
  runErrors(parameters, y, initial.slice(), errors);
  // Conjugate gradients on the normal equations of the errors in the initial state.
  const gradient = new Float64Array(2 + period);
  const direction = new Float64Array(2 + period);
  const image = new Float64Array(y.length);
  let [before, first] = [0, 0];
  for (let i = 0; i < Math.min(maxIterations, 4 + 2 * period); i++) {
    pullBack(parameters, y, errors, gradient);
    let square = 0;
    for (let j = 0; j < gradient.length; j++) square += (gradient[j] *= units[j] ?? 0) ** 2;
    first ||= square;
    if (square <= tolerance ** 2 * first || square === 0) break;
    for (let j = 0; j < direction.length; j++) {
      direction[j] = (i === 0 ? 0 : direction[j] * square / before) - gradient[j];
    }
    const moved = direction.map((value, j) => value * (units[j] ?? 0));
    runErrors(parameters, y, moved.slice(), image, true);
    const step = square / sumOfSquares(image);
    for (let t = 0; t < errors.length; t++) errors[t] += step * image[t];
    for (let j = 0; j < moved.length; j++) initial[j] += step * moved[j];
    before = square;
  }
  const last = initial.slice();
  runErrors(parameters, y, last, errors);
  return { initial, last, errors };
}

/**
 * Forecasts the steps after the last state.
 *
 * @param steps Number of steps of the history.
 */
export function continueState(
  { period, damping }: Smoothing,
  state: SmoothingState,
  steps: number,
  horizon: number,
): Float64Array {
  let [level, trend] = state;
  return Float64Array.from({ length: horizon }, (_, h) => {
    trend *= damping;
    level += trend;
    return level + state[2 + (steps + h) % period];
  });
}

/**
 * Runs the recursion from a state, in place, and writes the errors.
 *
 * @param isLinear Whether the values count as 0: the errors are then linear in the state.
 */
function runErrors(
  { period, level: alpha, trend: beta, season: gamma, damping: phi }: Smoothing,
  y: Float64Array,
  state: SmoothingState,
  errors: Float64Array,
  isLinear = false,
): void {
  let [level, trend] = state;
  for (let t = 0, k = 2; t < y.length; t++) {
    trend *= phi;
    level += trend;
    if (Number.isNaN(y[t])) errors[t] = 0;
    else {
      const error = (isLinear ? 0 : y[t]) - level - state[k];
      errors[t] = error;
      level += alpha * error;
      trend += beta * error;
      state[k] += gamma * error;
    }
    if (++k === period + 2) k = 2;
  }
  state[0] = level;
  state[1] = trend;
}

/** Transposed derivative of the errors in the initial state, applied to `errors`. */
function pullBack(
  { period, level: alpha, trend: beta, season: gamma, damping: phi }: Smoothing,
  y: Float64Array,
  errors: Float64Array,
  result: SmoothingState,
): void {
  result.fill(0);
  let [level, trend] = [0, 0];
  for (let t = y.length - 1, k = 2 + t % period; t >= 0; t--) {
    if (!Number.isNaN(y[t])) {
      const error = errors[t] + alpha * level + beta * trend + gamma * result[k];
      level -= error;
      result[k] -= error;
    }
    trend = phi * (trend + level);
    if (--k === 1) k = period + 1;
  }
  result[0] = level;
  result[1] = trend;
}

function meanOf(y: Float64Array): number {
  let [sum, count] = [0, 0];
  for (const value of y) if (!Number.isNaN(value)) [sum, count] = [sum + value, count + 1];
  return count > 0 ? sum / count : 0;
}

/** Sum of the squares of some numbers. */
export function sumOfSquares(values: Float64Array): number {
  let sum = 0;
  for (const value of values) sum += value * value;
  return sum;
}
