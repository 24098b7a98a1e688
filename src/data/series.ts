/** Labelled time series on the host, perhaps irregular and partly missing, and what is done to them before training. */
import { checkOptions } from "../device/options.ts";
import { splitShareNames } from "./option_names.ts";
import { largest } from "../device/extremes.ts";
import { checkCount } from "../nn/layer.ts";
import { checkWord } from "../tensor/checks.ts";
import { type Key, permutationArray, split as splitKey } from "../tensor/random.ts";
import { quantileOf } from "./quantile.ts";
import type { TimeKind, TimeUnit } from "./format.ts";
import { DataError } from "../files/data_error.ts";

/** One series as it was observed. */
export interface Series {
  /** Name, unlike any other of its set. */
  readonly name: string;
  /** Times of the observations, ascending. Shape (length). */
  readonly times: Float64Array;
  /** Observations `(length, channels)`, row-major; NaN is missing. */
  readonly values: Float64Array;
  /** Position of the class in {@linkcode SeriesSet.classes}; -1 without one. */
  readonly label: number;
  /** Numbers that belong to the whole series, in the order of {@linkcode SeriesSet.targets}; NaN is unknown. */
  readonly targets?: Float64Array;
  /** Name of what several series have in common, such as a patient: a fair split keeps them together. */
  readonly group?: string;
}

/** Origin of a channel, and when its values are known. */
export interface ChannelKind {
  /** Name of the table's column. */
  readonly column: string;
  /**
   * Category that the channel marks: 1 where the column holds it, 0 where it holds another, NaN where it holds nothing.
   * Without one, the channel holds the column's numbers.
   */
  readonly category?: string;
  /**
   * `"observed"`: known up to the present. `"covariate"`: the same, and not to be forecast. `"known"`: known ahead of time,
   * too, such as a calendar, so that a forecast may read it over its horizon. `"static"`: one value of the whole series, held
   * at each of its observations.
   */
  readonly role: "observed" | "covariate" | "known" | "static";
}

/** Series of the same channels, with their classes. */
export interface SeriesSet {
  /** Name of the set, for messages. */
  readonly name: string;
  /** Names of the channels. */
  readonly channels: readonly string[];
  /** Notation of the times; dates are in seconds since 1970. */
  readonly times: TimeKind;
  /** Notation of the table. */
  readonly timeUnit?: TimeUnit;
  /** Names of the classes. */
  readonly classes: readonly string[];
  /** The series. */
  readonly series: readonly Series[];
  /** Position from which on series are those that the data set sets apart to test on. Without it all may be split anew. */
  readonly testFrom?: number;
  /** Columns of a table that were not read, each with the reason. */
  readonly ignored?: readonly string[];
  /** Origin of each channel, in their order. Without it each is a column of numbers, observed. */
  readonly kinds?: readonly ChannelKind[];
  /**
   * Content that each column of the table was read as: numbers, categories, or texts, which are left out. Another table is read in
   * the same way with them.
   */
  readonly columns?: Readonly<Record<string, "number" | "text" | readonly string[]>>;
  /** Names of the numbers in {@linkcode Series.targets}. */
  readonly targets?: readonly string[];
  /** Time zone of dates that named none, such as `"Europe/Berlin"`. `"UTC"` by default. */
  readonly zone?: string;
  /** Remarks of a reader that its user should know: rows that were merged or sorted, what it recognised. */
  readonly notices?: readonly string[];
}

/** One value for each part of a data set. */
export interface Splits<T> {
  /** Value for the part to train on. */
  readonly train: T;
  /** Value for the part that decides which epoch is the best. */
  readonly validation: T;
  /** Value for the part to test on. */
  readonly test: T;
}

/** Applies a function to each part of a data set. */
export function mapSplits<T, U>(splits: Splits<T>, f: (part: T) => U): Splits<U> {
  return { train: f(splits.train), validation: f(splits.validation), test: f(splits.test) };
}

/**
 * Splits items so that each class is divided in the same proportions: 70 % to train, 15 % to validate and the rest to
 * test, by default. Every class of three or more items is in all three.
 *
 * @param items Items to split, each with its class, a whole number from 0, as `label`.
 * @param key Random key of the split.
 * @param shares Shares of the items that train and validate, each above 0, together at most 1.
 * @throws {RangeError} If the shares are others.
 */
export function stratifiedSplit<T extends { readonly label: number }>(
  items: readonly T[],
  key: Key,
  shares: { train: number; validation: number } = { train: 0.7, validation: 0.15 },
): Splits<T[]> {
  checkOptions("stratifiedSplit", shares, splitShareNames);
  const { train, validation } = shares;
  // Rounding may lift a sum of one.
  if (!(train > 0 && validation > 0 && train + validation < 1 + 1e-9)) {
    throw new RangeError(
      `stratifiedSplit: shares are ${train} and ${validation}, expected numbers above 0, together at most 1`,
    );
  }
  const classes = Map.groupBy(items, ({ label }) => label);
  const parts: { train: T[]; validation: T[]; test: T[] } = { train: [], validation: [], test: [] };
  const keys = splitKey(key, Math.max(0, largest(classes.keys())) + 1);
  for (const label of [...classes.keys()].sort((a, b) => a - b)) {
    const members = classes.get(label)!;
    const order = Array.from(permutationArray(keys[label], members.length), (i) => members[i]);
    const share = (part: number) => Math.max(1, Math.round(part * members.length));
    const train = Math.min(share(shares.train), Math.max(1, members.length - 2));
    const validation = train + Math.min(share(shares.validation), Math.max(1, members.length - train - 1));
    order.forEach((item, i) => {
      parts[i < train ? "train" : i < validation ? "validation" : "test"].push(item);
    });
  }
  return parts;
}

/**
 * Splits items for cross-validation: each of so many folds tests once, a seventh of the others validates, and the rest train.
 * Each class is divided alike, so that every item tests exactly once over all folds.
 *
 * @param items Items to split, each with its class, a whole number from 0, as `label`.
 * @param key Random key of the split.
 * @param folds Number of folds, at least 2.
 * @param fold The fold that tests, from 0.
 * @throws {RangeError} If there is one fold, no such fold, or there are fewer items than folds.
 */
export function foldSplit<T extends { readonly label: number }>(
  items: readonly T[],
  key: Key,
  folds: number,
  fold: number,
): Splits<T[]> {
  checkCount("foldSplit", "folds", folds, 2);
  if (!(Number.isInteger(fold) && fold >= 0 && fold < folds)) {
    throw new RangeError(`foldSplit: fold ${fold}, expected 0 to ${folds - 1}, one of ${folds} folds`);
  }
  if (items.length < folds) {
    throw new RangeError(`foldSplit: ${items.length} items in ${folds} folds: take fewer`);
  }
  const [order, rest] = splitKey(key);
  const shuffled = Array.from(permutationArray(order, items.length), (i) => items[i]);
  // One class after another, dealt out in turns.
  const dealt = shuffled.sort((a, b) => a.label - b.label);
  const test = dealt.filter((_, i) => i % folds === fold);
  const others = stratifiedSplit(dealt.filter((_, i) => i % folds !== fold), rest, {
    train: 6 / 7,
    validation: 1 / 7,
  });
  return { train: [...others.train, ...others.test], validation: others.validation, test };
}

/**
 * Makes a share of every series' observations missing, all channels of an observation at once, as the irregularly sampled
 * experiments of Kidger et al. (Neural Controlled Differential Equations, 2020, section 4.1) do. One observation always
 * stays.
 *
 * @param share Share of the observations, from 0 to below 1.
 * @param key Random key of the choice, which each series has of its own.
 * @throws {RangeError} If the share is outside its range.
 */
export function dropObservations(set: SeriesSet, share: number, key: Key): SeriesSet {
  if (!(share >= 0 && share < 1)) {
    throw new RangeError(`dropObservations: share ${share} is not from 0 to below 1`);
  }
  if (share === 0) return set;
  const channels = set.channels.length;
  const keys = splitKey(key, set.series.length);
  return {
    ...set,
    series: set.series.map((series, i) => {
      const length = series.times.length;
      const values = series.values.slice();
      for (const position of permutationArray(keys[i], length).subarray(0, Math.floor(share * length))) {
        values.fill(NaN, position * channels, (position + 1) * channels);
      }
      return { ...series, values };
    }),
  };
}

/** Mean and standard deviation of a channel's values, or what stands for them. */
export interface ChannelStatistics {
  /** Mean of the values, which is subtracted from them. */
  readonly mean: number;
  /** Standard deviation of the values, above 0, which they are divided by. */
  readonly standardDeviation: number;
}

/** A way to bring channels to one size: by mean and standard deviation, or by what outliers do not move. */
export type Scaling = "standard" | "robust";

/**
 * Mean and standard deviation of each channel's observed values; a channel that never changes has its value and deviation one.
 *
 * @param scaling `"robust"`: the median, and the distance of the quartiles over 1.349, which are the same for normally
 * distributed values; the standard deviation where the quartiles are equal.
 */
export function channelStatistics(
  series: readonly Pick<Series, "values">[],
  channels: number,
  scaling: Scaling = "standard",
): ChannelStatistics[] {
  checkWord("channelStatistics", "scaling", scaling, ["standard", "robust"]);
  return Array.from({ length: channels }, (_, channel) => {
    let [count, sum, squares, least, most] = [0, 0, 0, Infinity, -Infinity];
    const visit = (f: (value: number) => void) => {
      for (const { values } of series) {
        for (let i = channel; i < values.length; i += channels) if (!Number.isNaN(values[i])) f(values[i]);
      }
    };
    visit((value) => {
      count++;
      sum += value;
      least = Math.min(least, value);
      most = Math.max(most, value);
    });
    // A mean is rounded, and a deviation from it would be that of rounding.
    if (least === most) return { mean: least, standardDeviation: 1 };
    const mean = count ? sum / count : 0;
    visit((value) => squares += (value - mean) ** 2);
    const standardDeviation = count && squares > 0 ? Math.sqrt(squares / count) : 1;
    if (scaling === "standard" || count === 0) return { mean, standardDeviation };
    const sorted = new Float64Array(count);
    let at = 0;
    visit((value) => sorted[at++] = value);
    sorted.sort();
    const [low, median, high] = [0.25, 0.5, 0.75].map((share) => quantileOf(sorted, share));
    return { mean: median, standardDeviation: high > low ? (high - low) / 1.349 : standardDeviation };
  });
}

/** Series with every channel brought to the given statistics' zero mean and unit deviation. */
export function normalise(series: readonly Series[], statistics: readonly ChannelStatistics[]): Series[] {
  const channels = statistics.length;
  return series.map((one) => ({
    ...one,
    values: one.values.map((value, i) => {
      const { mean, standardDeviation } = statistics[i % channels];
      return (value - mean) / standardDeviation;
    }),
  }));
}

/**
 * Series with a channel more for each, behind them, of how its values were observed (Kidger et al., 2020, section 3.6): where
 * measuring is a decision, as in medicine, that is informative.
 *
 * @param channels Number of channels of the series.
 * @param kind `"count"`: the number of observations so far, which makes the path of a differential equation know of them;
 * `"mask"`: 1 where there is one, 0 where it is missing, for models that read row after row.
 */
export function addIntensity(
  series: readonly Series[],
  channels: number,
  kind: "count" | "mask",
): Series[] {
  checkWord("addIntensity", "kind", kind, ["count", "mask"]);
  return series.map((one) => {
    const values = new Float64Array(2 * one.values.length);
    const counts = new Float64Array(channels);
    one.values.forEach((value, i) => {
      const [row, channel] = [Math.floor(i / channels), i % channels];
      const isObserved = Number.isNaN(value) ? 0 : 1;
      counts[channel] += isObserved;
      values[2 * row * channels + channel] = value;
      values[(2 * row + 1) * channels + channel] = kind === "count" ? counts[channel] : isObserved;
    });
    return { ...one, values };
  });
}

/** Series of one length, time first among the channels. */
export interface SeriesArray {
  /** Times and observations, row-major; NaN is a missing value. Shape (series, length, 1 + channels). */
  readonly values: Float32Array;
  /** Shape of the values, the time counted among the channels. */
  readonly shape: readonly [series: number, length: number, channels: number];
  /** Number of observations of each series of its own. Shape (series). */
  readonly lengths: Int32Array;
  /** Class of each series. Shape (series). */
  readonly labels: Int32Array;
}

/**
 * Puts series of different lengths into one array, on the grid 0, 1, ... length - 1 of the observations' positions, which
 * all share, with time as the first channel: a controlled differential equation does not mind how its control is
 * parametrised, so irregular times belong in the control. Missing values stay NaN, which splines leave out.
 * After its end a series is held, time included, so that the control is at rest and moves the state no further.
 *
 * @param channels Number of channels of the series.
 * @param length Common length, at least that of the longest series.
 * @param timeScale Factor on the times, 1 by default.
 * @throws {RangeError} If a series is longer.
 * @throws {DataError} If a number is too large for float32.
 */
export function stackSeries(
  series: readonly Series[],
  channels: number,
  length: number,
  timeScale = 1,
): SeriesArray {
  const width = channels + 1;
  const values = new Float32Array(series.length * length * width);
  series.forEach(({ name, times, values: observed }, i) => {
    const own = times.length;
    if (own > length) {
      throw new RangeError(`stackSeries: series "${name}" has ${own} observations, more than ${length}`);
    }
    const rows = values.subarray(i * length * width, (i + 1) * length * width);
    for (let t = 0; t < length; t++) rows[t * width] = (times[Math.min(t, own - 1)] - times[0]) * timeScale;
    for (let c = 0; c < channels; c++) {
      const atRest = lastObserved(observed, channels, c);
      for (let t = 0; t < length; t++) {
        rows[t * width + 1 + c] = t < own ? observed[t * channels + c] : atRest;
      }
    }
    const tooLarge = rows.findIndex((value) => Math.abs(value) === Infinity);
    if (tooLarge >= 0) {
      throw new DataError(
        `series "${name}", observation ${
          Math.floor(tooLarge / width) + 1
        }: a value is too large for float32, ` +
          "compared with those of the series to train on",
      );
    }
  });
  return {
    values,
    shape: [series.length, length, width],
    lengths: Int32Array.from(series, ({ times }) => times.length),
    labels: Int32Array.from(series, ({ label }) => label),
  };
}

/** The last value of a channel that was observed; NaN when none was. */
function lastObserved(values: Float64Array, channels: number, channel: number): number {
  for (let i = values.length - channels + channel; i >= 0; i -= channels) {
    if (!Number.isNaN(values[i])) return values[i];
  }
  return NaN;
}
