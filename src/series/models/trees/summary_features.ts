/** Summaries of series of any length, with irregular times and missing values, as features of trees. */
import type { ChannelKind, Series } from "../../../data/series.ts";
import type { RecordedRanges } from "../../record/data_record.ts";

/** A channel to summarise. */
export interface SummaryChannel {
  readonly name: string;
  /** A static channel has one value for the whole series; `"observed"` by default. */
  readonly role?: ChannelKind["role"];
}

/** Features of a channel over each window. */
const ofWindow = ["mean", "minimum", "maximum", "standard deviation", "slope", "count"] as const;
/** Further features of a channel over the whole series. `since` is the time from the last value to the last row. */
const ofSeries = ["last", "first", "change", "since"] as const;
/** The whole series and windows at its end, from a fraction of its duration to another one. */
const endWindows = [
  { suffix: "", from: 0, to: 1 },
  { suffix: ", last half", from: 1 / 2, to: 1 },
  { suffix: ", last quarter", from: 3 / 4, to: 1 },
];

/** Windows of a series: those at its end, and equal parts. The last of four parts is the last quarter. */
function windowsOf(parts: number): typeof endWindows {
  const equal = Array.from(
    { length: parts },
    (_, i) => ({ suffix: `, part ${i + 1} of ${parts}`, from: i / parts, to: (i + 1) / parts }),
  );
  return [...endWindows, ...(parts === 4 ? equal.slice(0, 3) : equal)];
}

/** Minimum mean number of rows of a part, and minimum duration of a series as a fraction of the longest one. */
const [rowsPerPart, leastDuration] = [4, 0.75];

/**
 * Number of equal parts that have features: 8, 4 or 0. Parts of series of unequal durations, such as the
 * visits of patients, have no common meaning.
 */
export function partsFor({ durations, lengths }: Pick<RecordedRanges, "durations" | "lengths">): number {
  if (!durations || !lengths || durations.low < leastDuration * durations.high) return 0;
  return [8, 4].find((parts) => lengths.mean >= parts * rowsPerPart) ?? 0;
}

/**
 * Names of the features of {@linkcode summaryFeatures}, in their order.
 *
 * @param parts Number of equal parts.
 */
export function summaryNames(channels: readonly SummaryChannel[], parts = 0): string[] {
  const windows = windowsOf(parts);
  return [
    ...channels.flatMap(({ name, role }) =>
      role === "static" ? [name] : [
        ...ofSeries.map((feature) => `${feature} of ${name}`),
        ...windows.flatMap(({ suffix }) => ofWindow.map((feature) => `${feature} of ${name}${suffix}`)),
      ]
    ),
    "number of rows",
    "duration",
  ];
}

/**
 * Summarises a series. Each channel has its last and first known value and their difference, the time since the
 * last value, and the mean, minimum, maximum, standard deviation, slope and number of known values of the whole
 * series, of its last half, of its last quarter and of each of the equal parts (intervals as in Deng et al., "A time
 * series forest for classification and feature extraction", 2013), measured in time. A static channel has its value.
 * The number of rows and the duration follow.
 *
 * @param channels Channels of the series, in their order.
 * @param parts Number of equal parts, 0 by default.
 * @returns One number for each of {@linkcode summaryNames}, in the units of the series; NaN without known values,
 * and for slopes without two times.
 */
export function summaryFeatures(
  { times, values }: Pick<Series, "times" | "values">,
  channels: readonly SummaryChannel[],
  parts = 0,
): Float64Array {
  const end = times[times.length - 1];
  const duration = end - times[0];
  const windows = windowsOf(parts);
  const timeOf = (fraction: number) => end - (1 - fraction) * duration;
  const features = channels.flatMap(({ role }, c) => {
    const observed = observedOf(times, values, c, channels.length);
    const { length } = observed.times;
    if (role === "static") return length > 0 ? [observed.values[0]] : [NaN];
    const [first, last] = length > 0 ? [observed.values[0], observed.values[length - 1]] : [NaN, NaN];
    return [
      ...[last, first, last - first, length > 0 ? end - observed.times[length - 1] : NaN],
      ...windows.flatMap(({ from, to }) =>
        // The difference of two times may be rounded, so the first and the last row are not left to it.
        windowFeatures(observed, from === 0 ? -Infinity : timeOf(from), to === 1 ? Infinity : timeOf(to))
      ),
    ];
  });
  return Float64Array.of(...features, times.length, duration);
}

/** Known values of a channel, with their times. */
interface Observed {
  readonly times: Float64Array;
  readonly values: Float64Array;
}

function observedOf(times: Float64Array, values: Float64Array, channel: number, channels: number): Observed {
  const column = times.map((_, i) => values[i * channels + channel]);
  const isObserved = (i: number) => !Number.isNaN(column[i]);
  return { times: times.filter((_, i) => isObserved(i)), values: column.filter((_, i) => isObserved(i)) };
}

/** Features of the values from a time to below another one, in the order of {@linkcode ofWindow}. */
function windowFeatures({ times, values }: Observed, from: number, to: number): number[] {
  let [first, end] = [0, times.length];
  while (first < end && times[first] < from) first++;
  while (end > first && times[end - 1] >= to) end--;
  const count = end - first;
  if (count === 0) return [NaN, NaN, NaN, NaN, NaN, 0];
  let [minimum, maximum, sum, timeSum] = [Infinity, -Infinity, 0, 0];
  for (let i = first; i < end; i++) {
    minimum = Math.min(minimum, values[i]);
    maximum = Math.max(maximum, values[i]);
    sum += values[i];
    timeSum += times[i] - times[first];
  }
  // The mean of equal values may differ from them by a rounding error, which trees would see.
  const mean = Math.min(Math.max(sum / count, minimum), maximum);
  const timeMean = timeSum / count;
  let [squares, timeSquares, products] = [0, 0, 0];
  for (let i = first; i < end; i++) {
    const [value, time] = [values[i] - mean, times[i] - times[first] - timeMean];
    squares += value * value;
    timeSquares += time * time;
    products += value * time;
  }
  return [mean, minimum, maximum, Math.sqrt(squares / count), products / timeSquares, count];
}
