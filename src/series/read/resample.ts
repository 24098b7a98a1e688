/** Series on a regular grid. */
import type { Series } from "../../data/series.ts";

/** A regular grid of times that starts at the first observation of each series. */
export interface TimeGrid {
  /** Number of grid points, at least 2. */
  readonly points: number;
  /** Time from the first to the last grid point, in the unit of the times. */
  readonly duration: number;
}

/**
 * Resamples a series on a regular grid. Values are linear in time between the known values of a channel, and
 * constant before the first and after the last. If a channel has more than two known values for each grid
 * point, a value is the mean around its grid point instead. A channel without a known value is 0.
 *
 * @param channels Number of channels of the series.
 * @param chosen Channels to resample.
 * @returns Values `(chosen, points)`.
 */
export function resample(
  { times, values }: Pick<Series, "times" | "values">,
  channels: number,
  chosen: readonly number[],
  { points, duration }: TimeGrid,
): Float64Array {
  const resampled = new Float64Array(chosen.length * points);
  /** Positions of the times on the grid, where grid points are 0, 1, .... */
  const gridPositions = times.map((time) => duration > 0 ? (time - times[0]) / duration * (points - 1) : 0);
  chosen.forEach((channel, c) => {
    const into = resampled.subarray(c * points, (c + 1) * points);
    const [positions, observed] = [[] as number[], [] as number[]];
    gridPositions.forEach((position, i) => {
      const value = values[i * channels + channel];
      if (Number.isNaN(value)) return;
      positions.push(position);
      observed.push(value);
    });
    if (observed.length === 0) return;
    interpolate(positions, observed, into);
    if (observed.length > 2 * points) average(positions, observed, into);
  });
  return resampled;
}

/** Linear interpolation at 0, 1, .... `positions` ascends. */
function interpolate(positions: readonly number[], observed: readonly number[], into: Float64Array): void {
  let next = 0;
  for (let t = 0; t < into.length; t++) {
    while (next < positions.length && positions[next] < t) next++;
    if (next === 0) into[t] = observed[0];
    else if (next === positions.length) into[t] = observed[next - 1];
    else {
      const share = (t - positions[next - 1]) / (positions[next] - positions[next - 1]);
      into[t] = observed[next - 1] + share * (observed[next] - observed[next - 1]);
    }
  }
}

/** Means of the values whose nearest grid point is 0, 1, .... Grid points without such values are kept. */
function average(positions: readonly number[], observed: readonly number[], into: Float64Array): void {
  const [sums, counts] = [new Float64Array(into.length), new Float64Array(into.length)];
  positions.forEach((position, i) => {
    const t = Math.round(position);
    if (t >= into.length) return;
    sums[t] += observed[i];
    counts[t]++;
  });
  counts.forEach((count, t) => {
    if (count > 0) into[t] = sums[t] / count;
  });
}
