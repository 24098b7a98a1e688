/** Features of whole series that convolutions cannot see: kernels whose weights add up to 0 ignore the level. */
import type { Series } from "../data/series.ts";

/** Features of each channel: mean, standard deviation and share of known values. */
const ofChannel = 3;

/** Number of global features. */
export function globalFeatureCount(channels: number): number {
  return ofChannel * channels + 2;
}

/**
 * Writes the mean, the standard deviation and the share of known values of each channel, and the logarithms of
 * the number of observations and of the duration. A channel without a known value has the mean 0.
 *
 * @param series Series with scaled channels.
 * @param timeScale Factor of the duration.
 */
export function writeGlobalFeatures(
  { times, values }: Series,
  channels: number,
  timeScale: number,
  into: Float32Array,
): void {
  for (let c = 0; c < channels; c++) {
    let [count, sum, squares] = [0, 0, 0];
    for (let i = c; i < values.length; i += channels) {
      if (Number.isNaN(values[i])) continue;
      count++;
      sum += values[i];
    }
    const mean = count > 0 ? sum / count : 0;
    for (let i = c; i < values.length; i += channels) {
      if (!Number.isNaN(values[i])) squares += (values[i] - mean) ** 2;
    }
    into.set([mean, Math.sqrt(squares / Math.max(1, count)), count / times.length], ofChannel * c);
  }
  const duration = (times[times.length - 1] - times[0]) * timeScale;
  into.set([Math.log(times.length), Math.log1p(duration)], ofChannel * channels);
}
