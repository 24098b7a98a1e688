/**
 * Trajectories of dynamical systems on the host: several series of equal length, observed at the same times.
 */
import { odeint, onCpu, stack, type Tensor, tensor, tidy } from "@weft/weft";

/** Series of equal length, observed at the same times. */
export interface Trajectories {
  /** Times of the observations, ascending. Shape (length). */
  readonly times: Float64Array;
  /** Observations, row-major. Shape (series, length, channels). */
  readonly values: Float64Array;
  /** Shape of the values. */
  readonly shape: readonly [series: number, length: number, channels: number];
}

/** The slope of each component of the state. All arguments and results have shape (series). */
type ComponentField = (state: readonly Tensor[], parameters: readonly Tensor[]) => Tensor[];

/**
 * Maximum number of series in one solve. Series share the error estimate of a step, so in a larger batch one
 * inaccurate series could go unnoticed.
 */
const maxSeriesPerSolve = 1024;
/** Relative and absolute tolerance of a solve. */
const tolerance = 1e-10;

/**
 * Solves a system for many parameters and initial states by dopri5 in float64 with a tolerance of 1e-10, on
 * the CPU.
 *
 * @param field Slope of the state.
 * @param initial State of each series at the first time. Shape (series, channels).
 * @param parameters Parameters of each series. Shape (series, parameters).
 * @param times Times of the observations, ascending. Shape (length).
 */
export async function solveSystem(
  field: ComponentField,
  initial: readonly (readonly number[])[],
  parameters: readonly (readonly number[])[],
  times: Float64Array,
): Promise<Trajectories> {
  const [length, channels] = [times.length, initial[0]?.length ?? 0];
  const values = new Float64Array(initial.length * length * channels);
  for (let start = 0; start < initial.length; start += maxSeriesPerSolve) {
    // Only the CPU supports float64 and adaptive steps.
    const solution = onCpu(() =>
      tidy(() => {
        const part = <T>(rows: readonly T[]) => rows.slice(start, start + maxSeriesPerSolve);
        const columns = (rows: readonly (readonly number[])[]) =>
          rows[0].map((_, column) => tensor(rows.map((row) => row[column]), { dtype: "float64" }));
        const given = columns(part(parameters));
        const states = odeint(
          (_t, y) => stack(field(initial[0].map((_, i) => y.select(0, i)), given)),
          stack(columns(part(initial))),
          times,
          { method: "dopri5", rtol: tolerance, atol: tolerance },
        );
        return states.permute([2, 0, 1]); // (length, channels, series) to (series, length, channels)
      })
    );
    values.set(await solution.data(), start * length * channels);
  }
  return { times, values, shape: [initial.length, length, channels] };
}

/** `length` equally spaced times from 0 to `end`, both included. */
export function timesUpTo(end: number, length: number): Float64Array {
  return Float64Array.from({ length }, (_, i) => end * i / (length - 1));
}

/** The smallest and the largest of all values. */
interface ValueRange {
  /** The smallest value. */
  readonly low: number;
  /** The largest value. */
  readonly high: number;
}

/** The range of all values, over all channels. */
export function valueRange(trajectories: Pick<Trajectories, "values">): ValueRange {
  const { values } = trajectories;
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) [low, high] = [Math.min(low, value), Math.max(high, value)];
  return { low, high };
}

/**
 * The largest absolute value, over all channels: the initial a and alpha of WARP's dynamic tanh (its appendix
 * A.3).
 */
export function maxAbsolute(trajectories: Pick<Trajectories, "values">): number {
  return trajectories.values.reduce((max, value) => Math.max(max, Math.abs(value)), 0);
}

/**
 * Maps values from a range linearly to [-1, 1], with the same map for all channels.
 *
 * @param trajectories Training series or other series.
 * @param range Range of the training data.
 */
export function rescale<T extends Trajectories>(trajectories: T, range: ValueRange): T {
  const { low, high } = range;
  const values = trajectories.values.map((value) => 2 * (value - low) / (high - low) - 1);
  return { ...trajectories, values };
}
