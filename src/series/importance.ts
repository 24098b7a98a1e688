/**
 * Importance of channels by permutation: how much worse predictions become when a channel is that of another series (Breiman,
 * "Random Forests", 2001, section 10), or of another window of one.
 */
import type { Series } from "../data/series.ts";
import { key, permutationArray } from "../tensor/random.ts";

/** Most channels that are permuted: each takes as long as answering about all series. */
const mostChannels = 24;

/**
 * The error that each channel saves, by its name; nothing where there are one channel or very many, or a single series.
 *
 * @param series Series, or windows of them.
 * @param exchange One of them with the channel of another.
 * @param worse How much worse the predictions about changed series are, in the order of the series.
 */
export async function channelImportance<T>(
  series: readonly T[],
  channels: readonly string[],
  exchange: (one: T, other: T, channel: number) => T,
  worse: (changed: readonly T[]) => Promise<number>,
): Promise<Record<string, number> | undefined> {
  if (channels.length < 2 || channels.length > mostChannels || series.length < 2) return undefined;
  const order = permutationArray(key(0), series.length);
  const importance: Record<string, number> = {};
  for (const [channel, name] of channels.entries()) {
    importance[name] = await worse(
      Array.from(order, (other, i) => exchange(series[i], series[other], channel)),
    );
  }
  return importance;
}

/** Values `(length, channels)` with a channel of others, stretched to the same length. */
export function withChannel(
  one: Float64Array,
  other: Float64Array,
  channel: number,
  channels: number,
): Float64Array {
  const values = one.slice();
  const [length, rows] = [one.length / channels, other.length / channels];
  for (let t = 0; t < length && rows > 0; t++) {
    const at = length > 1 ? Math.round(t / (length - 1) * (rows - 1)) : rows - 1;
    values[t * channels + channel] = other[at * channels + channel];
  }
  return values;
}

/** A series with the channel of another. */
export function seriesWithChannel(channels: number): (one: Series, other: Series, channel: number) => Series {
  return (one, other, channel) => ({
    ...one,
    values: withChannel(one.values, other.values, channel, channels),
  });
}
