/** Features of whole series that convolutions cannot see: kernels whose weights add up to 0 ignore the level. */
import type { Series } from "../../data/series.ts";

/** Features of each channel: mean, standard deviation and share of known values. */
const ofChannel = 3;

/** Number of global features. */
export function globalFeatureCount(channels: number): number {
  return ofChannel * channels + 2;
}

/** Standard deviation of a constant channel, up to rounding, as a fraction of its mean. */
const roundingShare = 2 ** -40;

/**
 * Magnitude of the numbers that each global feature is computed from, in the unit of the feature. A mean close to 0
 * may be the rounding error of a sum of larger numbers.
 *
 * @param mean Mean of each global feature over series.
 */
export function globalMagnitudes(mean: Float64Array, channels: number): Float64Array {
  const magnitudes = mean.map(Math.abs);
  for (let at = 0; at < ofChannel * channels; at += ofChannel) magnitudes[at] += magnitudes[at + 1];
  return magnitudes;
}

/**
 * Writes the mean, the standard deviation and the share of known values of each channel, and the logarithms of
 * the number of observations and of the duration. A channel without a known value has the mean 0.
 *
 * @param series Series with scaled channels.
 * @param timeScale Factor of the duration.
 * @param ignoresRounding Whether the standard deviation of a channel that is constant up to rounding is 0.
 */
export function writeGlobalFeatures(
  { times, values }: Series,
  channels: number,
  timeScale: number,
  into: Float32Array,
  ignoresRounding = true,
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
    const standardDeviation = Math.sqrt(squares / Math.max(1, count));
    const isConstant = ignoresRounding && standardDeviation <= roundingShare * Math.abs(mean);
    into.set([mean, isConstant ? 0 : standardDeviation, count / times.length], ofChannel * c);
  }
  const duration = (times[times.length - 1] - times[0]) * timeScale;
  into.set([Math.log(times.length), Math.log1p(duration)], ofChannel * channels);
}
