/**
 * Permutation importance of channels: the increase of the error when a channel is replaced by that of another
 * series or window (Breiman, "Random Forests", 2001, section 10).
 */
import type { Series } from "../../data/series.ts";
import { key, randpermArray } from "../../tensor/random.ts";
import { selectEvenly } from "../math/select_evenly.ts";

/** Maximum numbers of channels and of series or windows to permute. Each channel costs a prediction of these series. */
const [mostChannels, mostSeries] = [24, 128];

/**
 * Increase of the error when each channel is permuted, by the name of the channel. Returns undefined for a
 * single channel, for more than 24 channels, or for a single series.
 *
 * @param series Series or windows; of more than 128, some at equal distances are used.
 * @param unchanged Error of all series.
 * @param exchange Returns `one` with a channel of `other`.
 * @param errorOf Returns the error of changed series, which have the given indices in `series`.
 */
export async function channelImportance<T>(
  series: readonly T[],
  channels: readonly string[],
  unchanged: number,
  exchange: (one: T, other: T, channel: number) => T,
  errorOf: (changed: readonly T[], indices: readonly number[]) => Promise<number>,
): Promise<Record<string, number> | undefined> {
  if (channels.length < 2 || channels.length > mostChannels || series.length < 2) return undefined;
  const indices = selectEvenly([...series.keys()], mostSeries);
  const some = indices.map((i) => series[i]);
  const order = randpermArray(key(0), some.length);
  const error = some.length === series.length ? unchanged : await errorOf(some, indices);
  const importance: Record<string, number> = {};
  for (const [channel, name] of channels.entries()) {
    const changed = Array.from(order, (other, i) => exchange(some[i], some[other], channel));
    importance[name] = await errorOf(changed, indices) - error;
  }
  return importance;
}

/** Replaces a channel of values `(length, channels)` by that of others, stretched to the same length. */
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

/** Returns a function that replaces a channel of a series by that of another. */
export function seriesWithChannel(channels: number): (one: Series, other: Series, channel: number) => Series {
  return (one, other, channel) => ({
    ...one,
    values: withChannel(one.values, other.values, channel, channels),
  });
}
