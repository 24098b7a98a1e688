/** Labelled time series on the host, irregular or with missing values, and their preprocessing. */
import { checkOptions, namesOf } from "../device/options.ts";
import { largest } from "../device/min_max.ts";
import { checkCount } from "../nn/layer.ts";
import { checkWord } from "../tensor/checks.ts";
import { type Key, randpermArray, splitKey as splitKey } from "../tensor/random.ts";
import type { ChannelStatistics } from "./scaling.ts";
import type { TimeKind, TimeUnit } from "./format.ts";
import { DataError } from "../device/errors.ts";

const splitShareNames = namesOf<{ train: number; validation: number }>()("train validation");

/** One series of observations. */
export interface Series {
  /** Name, unique in its set. */
  readonly name: string;
  /** Times of the observations, ascending. Shape (length). */
  readonly times: Float64Array;
  /** Observations `(length, channels)`, row-major; NaN is missing. */
  readonly values: Float64Array;
  /** Index of the class in {@linkcode SeriesSet.classes}; -1 for an unlabelled series. */
  readonly label: number;
  /** Numeric targets of the whole series, in the order of {@linkcode SeriesSet.targets}; NaN is unknown. */
  readonly targets?: Float64Array;
  /** Name of a group of series, such as a patient. A fair split keeps the series of a group in one part. */
  readonly group?: string;
}

/** Origin of a channel, and when its values are known. */
export interface ChannelKind {
  /** Name of the table's column. */
  readonly column: string;
  /**
   * Category that the channel marks. The channel is 1 where the column contains the category, 0 for another
   * category and NaN for a missing cell. Without a category, the channel contains the numbers of the column.
   */
  readonly category?: string;
  /**
   * `"observed"`: known up to the present. `"covariate"`: known up to the present, and not forecast.
   * `"known"`: also known ahead of time, such as a calendar, so that a forecast may read it over its horizon.
   * `"static"`: one value for the whole series, repeated at each observation.
   */
  readonly role: "observed" | "covariate" | "known" | "static";
}

/** Series with the same channels, and their classes. */
export interface SeriesSet {
  /** Name of the set, for messages. */
  readonly name: string;
  /** Names of the channels. */
  readonly channels: readonly string[];
  /** Notation of the times. Dates are in seconds since 1970. */
  readonly times: TimeKind;
  /** Notation of the times in the table. */
  readonly timeUnit?: TimeUnit;
  /** Names of the classes. */
  readonly classes: readonly string[];
  /** The series. */
  readonly series: readonly Series[];
  /** Index of the first series of a given validation set, which ends where the test set begins. */
  readonly validationFrom?: number;
  /** Index of the first series of a given test set. Without it, all series may be split anew. */
  readonly testFrom?: number;
  /** Columns of the table that were not read, each with the reason. */
  readonly ignored?: readonly string[];
  /**
   * Origin of each channel, in the order of the channels. By default each is a column of observed numbers.
   */
  readonly kinds?: readonly ChannelKind[];
  /**
   * Content of each column of the table: numbers, categories or ignored texts. Another table can be read in
   * the same way.
   */
  readonly columns?: Readonly<Record<string, "number" | "text" | readonly string[]>>;
  /** Names of the targets in {@linkcode Series.targets}. */
  readonly targets?: readonly string[];
  /**
   * Time zone of dates without a zone, such as `"Europe/Berlin"`.
   *
   * @default {"UTC"}
   */
  readonly zone?: string;
  /** Remarks of the reader for the user, such as merged or sorted rows and recognised notations. */
  readonly notices?: readonly string[];
}

/** Whether the only channel has no name. In a wide table the columns are series, so the channel has no name. */
export function isUnnamed(channels: readonly string[], columns: SeriesSet["columns"]): boolean {
  return columns === undefined && channels.length === 1 && channels[0] === "value";
}

/** One value for each part of a data set. */
export interface Splits<T> {
  /** Value for the training set. */
  readonly train: T;
  /** Value for the validation set, which decides which epoch is the best. */
  readonly validation: T;
  /** Value for the test set. */
  readonly test: T;
}

/** Applies a function to each part of a data set. */
export function mapSplits<T, U>(splits: Splits<T>, f: (part: T) => U): Splits<U> {
  return { train: f(splits.train), validation: f(splits.validation), test: f(splits.test) };
}

/**
 * Splits items so that the classes have the same proportions in each part. By default 70 % are for training,
 * 15 % for validation and the rest for testing. Every class of three or more items has items in all three
 * parts.
 *
 * @param items Items to split. `label` is the class of an item, an integer from 0.
 * @param key Random key of the split.
 * @param shares Fractions of the training set and the validation set, each above 0, with a sum of at most 1.
 * @throws {RangeError} If the fractions are outside this range.
 */
export function stratifiedSplit<T extends { readonly label: number }>(
  items: readonly T[],
  key: Key,
  shares: { train: number; validation: number } = { train: 0.7, validation: 0.15 },
): Splits<T[]> {
  checkOptions("stratifiedSplit", shares, splitShareNames);
  const { train, validation } = shares;
  // The sum may be above 1 by a rounding error.
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
    const order = Array.from(randpermArray(keys[label], members.length), (i) => members[i]);
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
 * Splits items for cross-validation. Each fold is the test set once; a seventh of the other items is the
 * validation set, and the rest is the training set. Each class is divided evenly among the folds. Every item
 * is in exactly one of the test sets.
 *
 * @param items Items to split. `label` is the class of an item, an integer from 0.
 * @param key Random key of the split.
 * @param folds Number of folds, at least 2.
 * @param fold Fold of the test set, from 0.
 * @throws {RangeError} If `folds` is below 2, `fold` is not below `folds`, or there are fewer items than
 * folds.
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
  const shuffled = Array.from(randpermArray(order, items.length), (i) => items[i]);
  // Deal the items to the folds in turn, sorted by class.
  const dealt = shuffled.sort((a, b) => a.label - b.label);
  const test = dealt.filter((_, i) => i % folds === fold);
  const others = stratifiedSplit(dealt.filter((_, i) => i % folds !== fold), rest, {
    train: 6 / 7,
    validation: 1 / 7,
  });
  return { train: [...others.train, ...others.test], validation: others.validation, test };
}

/**
 * Drops a fraction of the observations of each series, in all channels at once, as the experiments of Kidger
 * et al. on irregular sampling (Neural Controlled Differential Equations, 2020, section 4.1). At least one
 * observation is kept.
 *
 * @param share Fraction of the observations to drop, from 0 to below 1.
 * @param key Random key of the choice. Each series gets a different key, split from this one.
 * @throws {RangeError} If the fraction is outside its range.
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
      for (const position of randpermArray(keys[i], length).subarray(0, Math.floor(share * length))) {
        values.fill(NaN, position * channels, (position + 1) * channels);
      }
      return { ...series, values };
    }),
  };
}

/** Scales every channel to zero mean and unit standard deviation, using the given statistics. */
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
 * Adds an intensity channel after each channel, which shows when its values were observed (Kidger et al.,
 * 2020, section 3.6). This is informative where measuring is a decision, as in medicine.
 *
 * @param channels Number of channels of the series.
 * @param kind `"count"`: the number of observations so far, so that the path of a differential equation
 * contains them. `"mask"`: 1 for an observed value and 0 for a missing value, for models that read row by
 * row.
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

/** Series padded to one length, with time as the first channel. */
export interface SeriesArray {
  /** Times and observations, row-major; NaN is a missing value. Shape (series, length, 1 + channels). */
  readonly values: Float32Array;
  /** Shape of the values. The channels include the time. */
  readonly shape: readonly [series: number, length: number, channels: number];
  /** Number of observations of each series before padding. Shape (series). */
  readonly lengths: Int32Array;
  /** Class of each series. Shape (series). */
  readonly labels: Int32Array;
}

/**
 * Stacks series of different lengths in one array on the common grid 0, 1, ..., length - 1. Grid point i is
 * the i-th observation, and the time is the first channel: a controlled differential equation does not depend
 * on the parametrisation of its control, so irregular times belong in the control. Missing values stay NaN,
 * and splines interpolate across them. After the end of a series its last values are repeated, including the
 * time, so that the control is constant and the state no longer changes.
 *
 * @param channels Number of channels of the series.
 * @param length Common length, at least that of the longest series.
 * @param timeScale Factor of the times, 1 by default.
 * @param origin Time zero; by default the first time of each series.
 * @throws {RangeError} If a series is longer than `length`.
 * @throws {DataError} If a number is too large for float32.
 */
export function stackSeries(
  series: readonly Series[],
  channels: number,
  length: number,
  timeScale = 1,
  origin?: number,
): SeriesArray {
  const width = channels + 1;
  const values = new Float32Array(series.length * length * width);
  series.forEach(({ name, times, values: observed }, i) => {
    const observations = times.length;
    if (observations > length) {
      throw new RangeError(
        `stackSeries: series "${name}" has ${observations} observations, more than ${length}`,
      );
    }
    const rows = values.subarray(i * length * width, (i + 1) * length * width);
    const start = origin ?? times[0];
    for (let t = 0; t < length; t++) {
      rows[t * width] = (times[Math.min(t, observations - 1)] - start) * timeScale;
    }
    for (let c = 0; c < channels; c++) {
      const atRest = lastObserved(observed, channels, c);
      for (let t = 0; t < length; t++) {
        rows[t * width + 1 + c] = t < observations ? observed[t * channels + c] : atRest;
      }
    }
    const tooLarge = rows.findIndex((value) => Math.abs(value) === Infinity);
    if (tooLarge >= 0) {
      throw new DataError(
        "invalid-observation",
        `series "${name}", observation ${
          Math.floor(tooLarge / width) + 1
        }: a value is too large for float32 ` +
          "after scaling with the statistics of the training set",
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

/** Last observed value of a channel; NaN if no value was observed. */
function lastObserved(values: Float64Array, channels: number, channel: number): number {
  for (let i = values.length - channels + channel; i >= 0; i -= channels) {
    if (!Number.isNaN(values[i])) return values[i];
  }
  return NaN;
}

/** Lines about ignored columns and the notices of the reader. */
export function noticesOf({ ignored = [], notices = [] }: SeriesSet): string[] {
  return [...ignored.map((column) => `left out: ${column}`), ...notices];
}
