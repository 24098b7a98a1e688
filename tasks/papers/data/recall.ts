import { foldIn, type Key, splitKey } from "@weft/weft";
import { randpermArray, unitPair } from "@weft/weft/data";
import { checkCount } from "./check_count.ts";

/** Sizes of {@linkcode recall}. */
export interface RecallSizes {
  /** Number of distinct keys, 4 by default. */
  keys?: number;
  /** Number of distinct values, 4 by default. */
  values?: number;
  /**
   * Number of times that each key is written, each time with a different value. 3 by default, at most
   * `values`.
   */
  writes?: number;
  /** Number of observations of each pair, 8 by default. */
  hold?: number;
  /** Number of observations of a series, at least `hold * (keys * writes + 1)`. */
  length: number;
}

/** Series that ask for the last value written under a key. */
export interface RecallArray {
  /** Observations, row-major. Shape (series, length, channels). */
  readonly values: Float32Array;
  /** Shape of the values. */
  readonly shape: readonly [series: number, length: number, channels: number];
  /** The last value written under the requested key. Shape (series). Chance accuracy is 1 / `values`. */
  readonly labels: Int32Array;
}

/**
 * A test of memory over long series. Pairs of a key and a value are shown, each for `hold` observations. The
 * first pairs carry a mark and must be remembered: every key occurs several times, in random order, each time
 * with a different value, and the last value counts. Unmarked pairs follow, which must be ignored, as many as
 * fit the length. The series ends with a key alone; the label is its value.
 *
 * The channels are the key and the value, one-hot, and the mark. There is no time channel. A rule that
 * accumulates without reading its memory (Hebb's) therefore cannot determine which value of a key came last:
 * its accuracy is at most 1 / `writes`.
 *
 * @param count Number of series.
 * @param key Random key of the series; the same key gives the same series on every machine.
 * @throws {RangeError} If a size is not a positive integer, or the sizes contradict each other.
 */
export function recall(count: number, key: Key, sizes: RecallSizes): RecallArray {
  const { keys = 4, values = 4, writes = 3, hold = 8, length } = sizes;
  const counts = { keys, values, writes, hold, length };
  for (const [name, count] of Object.entries(counts)) checkCount("recall", name, count);
  if (writes > values) {
    throw new RangeError(`recall: ${writes} writes of each key take as many values, but there are ${values}`);
  }
  const minLength = hold * (keys * writes + 1);
  if (length < minLength) {
    throw new RangeError(
      `recall: length is ${length}, expected at least ${minLength} for ${keys * writes} writes and a query`,
    );
  }
  const channels = keys + values + 1;
  const x = new Float32Array(count * length * channels);
  const labels = new Int32Array(count);
  splitKey(key, count).forEach((seriesKey, series) => {
    const rows = x.subarray(series * length * channels, (series + 1) * length * channels);
    const show = (item: number, channel: number) => {
      for (let t = item * hold; t < Math.min(length, (item + 1) * hold); t++) {
        rows[t * channels + channel] = 1;
      }
    };
    const [orderKey, valueKey, restKey] = splitKey(seriesKey, 3);
    const valuesOf = Array.from({ length: keys }, (_, k) => randpermArray(foldIn(valueKey, k), values));
    const written = new Array(keys).fill(0);
    randpermArray(orderKey, keys * writes).forEach((place, item) => {
      const k = place % keys;
      show(item, k);
      show(item, keys + valuesOf[k][written[k]++]);
      show(item, keys + values);
    });
    const question = Math.floor((length - hold) / hold);
    const draw = (item: number) => unitPair(restKey, item);
    for (let item = keys * writes; item < question; item++) {
      const [a, b] = draw(item);
      show(item, Math.floor(a * keys));
      show(item, keys + Math.floor(b * values));
    }
    const asked = Math.floor(draw(question)[0] * keys);
    for (let t = question * hold; t < length; t++) rows[t * channels + asked] = 1;
    labels[series] = valuesOf[asked][writes - 1];
  });
  return { values: x, shape: [count, length, channels], labels };
}
