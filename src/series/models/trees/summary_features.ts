/** Summaries of series of any length, with irregular times and missing values, as features of trees. */
import type { ChannelKind, Series } from "../../../data/series.ts";

/** A channel to summarise. */
export interface SummaryChannel {
  readonly name: string;
  /** A static channel has one value for the whole series; `"observed"` by default. */
  readonly role?: ChannelKind["role"];
}

/** Features of a channel over the whole series and over each window. */
const ofWindow = ["mean", "minimum", "maximum", "standard deviation", "slope", "count"] as const;
/** Further features of a channel over the whole series. `since` is the time from the last value to the last row. */
const ofSeries = ["last", "first", "change", "since"] as const;
/** Windows at the end of a series, as fractions of its duration. */
const windows = [{ name: "last half", share: 0.5 }, { name: "last quarter", share: 0.25 }] as const;

/** Names of the features of {@linkcode summaryFeatures}, in their order. */
export function summaryNames(channels: readonly SummaryChannel[]): string[] {
  return [
    ...channels.flatMap(({ name, role }) =>
      role === "static" ? [name] : [
        ...[...ofSeries, ...ofWindow].map((feature) => `${feature} of ${name}`),
        ...windows.flatMap((window) => ofWindow.map((feature) => `${feature} of ${name}, ${window.name}`)),
      ]
    ),
    "number of rows",
    "duration",
  ];
}

/**
 * Summarises a series. Each channel has its last and first known value and their difference, the time since the
 * last value, and the mean, minimum, maximum, standard deviation, slope and number of known values of the whole
 * series, of its last half and of its last quarter, measured in time. A static channel has its value. The number
 * of rows and the duration follow.
 *
 * @param channels Channels of the series, in their order.
 * @returns One number for each of {@linkcode summaryNames}, in the units of the series; NaN without known values,
 * and for slopes without two times.
 */
export function summaryFeatures(
  { times, values }: Pick<Series, "times" | "values">,
  channels: readonly SummaryChannel[],
): Float64Array {
  const end = times[times.length - 1];
  const duration = end - times[0];
  const starts = windows.map(({ share }) => end - share * duration);
  const features = channels.flatMap(({ role }, c) => {
    const observed = observedOf(times, values, c, channels.length);
    const { length } = observed.times;
    if (role === "static") return length > 0 ? [observed.values[0]] : [NaN];
    const [first, last] = length > 0 ? [observed.values[0], observed.values[length - 1]] : [NaN, NaN];
    return [
      ...[last, first, last - first, length > 0 ? end - observed.times[length - 1] : NaN],
      ...[-Infinity, ...starts].flatMap((start) => windowFeatures(observed, start)),
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

/** Features of the values from a time on, in the order of {@linkcode ofWindow}. */
function windowFeatures({ times, values }: Observed, start: number): number[] {
  let first = 0;
  while (first < times.length && times[first] < start) first++;
  const count = times.length - first;
  if (count === 0) return [NaN, NaN, NaN, NaN, NaN, 0];
  let [minimum, maximum, sum, timeSum] = [Infinity, -Infinity, 0, 0];
  for (let i = first; i < times.length; i++) {
    minimum = Math.min(minimum, values[i]);
    maximum = Math.max(maximum, values[i]);
    sum += values[i];
    timeSum += times[i] - times[first];
  }
  // The mean of equal values may differ from them by a rounding error, which trees would see.
  const mean = Math.min(Math.max(sum / count, minimum), maximum);
  const timeMean = timeSum / count;
  let [squares, timeSquares, products] = [0, 0, 0];
  for (let i = first; i < times.length; i++) {
    const [value, time] = [values[i] - mean, times[i] - times[first] - timeMean];
    squares += value * value;
    timeSquares += time * time;
    products += value * time;
  }
  return [mean, minimum, maximum, Math.sqrt(squares / count), products / timeSquares, count];
}
