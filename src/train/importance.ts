/**
 * Importance of channels by permutation: how much worse predictions become when a channel is that of another series (Breiman,
 * "Random Forests", 2001, section 10).
 */
import type { Series } from "../data/series.ts";
import { key, permutationArray } from "../tensor/random.ts";

/** Most channels that are permuted: each takes as long as answering about all series. */
const mostChannels = 24;

/**
 * The error that each channel saves, by its name; nothing where there are one channel or very many, or a single series.
 *
 * @param worse How much worse the predictions about changed series are, in the order of the series.
 */
export async function channelImportance(
  series: readonly Series[],
  channels: readonly string[],
  worse: (changed: readonly Series[]) => Promise<number>,
): Promise<Record<string, number> | undefined> {
  if (channels.length < 2 || channels.length > mostChannels || series.length < 2) return undefined;
  const order = permutationArray(key(0), series.length);
  const importance: Record<string, number> = {};
  for (const [channel, name] of channels.entries()) {
    const changed = Array.from(
      order,
      (other, i) => withChannel(series[i], series[other], channel, channels.length),
    );
    importance[name] = await worse(changed);
  }
  return importance;
}

/** A series whose channel is that of another, stretched to the same length. */
function withChannel(one: Series, other: Series, channel: number, channels: number): Series {
  const values = one.values.slice();
  const [length, rows] = [one.times.length, other.times.length];
  for (let t = 0; t < length; t++) {
    const at = length > 1 ? Math.round(t / (length - 1) * (rows - 1)) : rows - 1;
    values[t * channels + channel] = other.values[at * channels + channel];
  }
  return { ...one, values };
}
