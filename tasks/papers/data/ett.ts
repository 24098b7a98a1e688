import { checkOptions } from "../../../src/device/options.ts";
import { cutWindowOptionNames, ettWindowOptionNames } from "./option_names.ts";
import {
  DataFormatError,
  decodeUtf8,
  maxValue,
  numberOf,
  readBytes,
  requireDistinct,
  timeOf,
} from "../../../src/data/format.ts";
import {
  type ChannelStatistics,
  channelStatistics,
  mapSplits,
  type Splits,
} from "../../../src/data/series.ts";
import type { Trajectories } from "./trajectories.ts";

/** One long series of several channels at equally spaced times. */
export interface LongSeries {
  /** Names of the channels. */
  readonly columns: readonly string[];
  /** Times in seconds since 1970. Shape (length). */
  readonly times: Float64Array;
  /** Observations, row-major. Shape (length, channels). */
  readonly values: Float64Array;
}

/**
 * Reads a table with a first column `date` and one column per channel, at equally spaced times: the
 * electricity transformer data sets ETTh1, ETTh2, ETTm1 and ETTm2 (Zhou et al., "Informer", 2021). Their last
 * channel, the oil temperature, is the target.
 *
 * @param text Content of the file.
 * @param file Name of the file, for messages.
 * @throws {DataFormatError} With the line, if a value is not a number or the times are not equally spaced.
 */
export function parseLongSeries(text: string, file: string): LongSeries {
  const [header = "", ...rows] = text.trimEnd().split(/\r?\n/);
  const [first, ...columns] = header.split(",");
  if (first !== "date" || columns.length === 0) {
    throw new DataFormatError(file, 1, `expected a column "date" and then the channels, got "${header}"`);
  }
  requireDistinct(columns, file);
  const times = new Float64Array(rows.length);
  const values = new Float64Array(rows.length * columns.length);
  rows.forEach((row, i) => {
    const fail = (message: string) => new DataFormatError(file, i + 2, message);
    const fields = row.split(",");
    if (fields.length !== columns.length + 1) {
      throw fail(`${fields.length} fields, expected ${columns.length + 1}`);
    }
    times[i] = timeOf(fields[0], "date");
    const gap = times[i] - times[i - 1];
    if (Number.isNaN(times[i]) || i > 1 && gap !== times[1] - times[0]) {
      throw fail(`"${fields[0]}" is no date as far from the one before as the others`);
    }
    fields.slice(1).forEach((field, channel) => {
      const value = numberOf(field.trim());
      if (!(Math.abs(value) <= maxValue)) {
        throw fail(`expected a number in ${columns[channel]}, got "${field}"`);
      }
      values[i * columns.length + channel] = value;
    });
  });
  return { columns, times, values };
}

/**
 * Reads a file; see {@linkcode parseLongSeries}.
 *
 * @throws {Error} If the file cannot be read, or is not in UTF-8.
 */
export async function readLongSeries(path: string): Promise<LongSeries> {
  const bytes = await readBytes(path, "a table with a column date and a column a channel");
  return parseLongSeries(decodeUtf8(bytes, path), path);
}

/** Hours of a month of thirty days. */
const months = 30 * 24;

/**
 * Hours of the training (twelve months), validation (four) and test sets (four), with months of thirty days.
 */
export const ettHours = { train: 12 * months, validation: 4 * months, test: 4 * months } as const;

/** Number of rows per hour: 1, or 4 for ETTm1 and ETTm2. */
export function rowsAnHour({ times }: Pick<LongSeries, "times">): number {
  return 3600 / (times[1] - times[0]);
}

/** Sizes of the windows of a long series. */
export interface WindowOptions {
  /** Number of context rows, at least 1. */
  context: number;
  /** Number of predicted rows, at least 1. */
  horizon: number;
  /** Number of rows between the starts of consecutive windows, 1 by default. */
  every?: number;
}

/**
 * Windows of a long series in the standard split of the ETT data: twelve months of training, four of
 * validation and four of test data. Each channel is scaled to mean zero and standard deviation one over the
 * training months. The windows of the validation and test sets begin `context` rows earlier, so that every
 * row of these sets is predicted.
 *
 * @param options `hours`: hours of each set, {@linkcode ettHours} by default; `statistics`: statistics of
 * each channel, by default those of the training months.
 * @returns Windows `(windows, context + horizon, channels)` of each set, and the channels' statistics.
 * @throws {RangeError} If the series is shorter than the sets together.
 */
export function ettWindows(
  series: LongSeries,
  options: WindowOptions & { hours?: Splits<number>; statistics?: readonly ChannelStatistics[] },
): { splits: Splits<Trajectories>; statistics: readonly ChannelStatistics[] } {
  checkOptions("ettWindows", options, ettWindowOptionNames);
  const { context, horizon, every, hours = ettHours } = options;
  const width = series.columns.length;
  const rows = mapSplits(hours, (hours) => hours * rowsAnHour(series));
  const needed = rows.train + rows.validation + rows.test;
  if (series.times.length < needed) {
    throw new RangeError(`ettWindows: a series of ${series.times.length} rows, expected ${needed} at least`);
  }
  const statistics = options.statistics ??
    channelStatistics([{ values: series.values.subarray(0, rows.train * width) }], width);
  const part = (from: number, to: number) =>
    cutWindows(series, statistics, { context, horizon, every, from, to });
  const validation = rows.train + rows.validation;
  return {
    splits: {
      train: part(0, rows.train),
      validation: part(rows.train - context, validation),
      test: part(validation - context, needed),
    },
    statistics,
  };
}

/**
 * Scaled windows of a long series, in chronological order.
 *
 * @param statistics Mean and standard deviation of each channel.
 * @param options `from` and `to`: range of rows, by default all.
 * @returns Windows `(windows, context + horizon, channels)`, at the times 0, 1, ...
 */
export function cutWindows(
  series: LongSeries,
  statistics: readonly ChannelStatistics[],
  options: WindowOptions & { from?: number; to?: number },
): Trajectories {
  checkOptions("cutWindows", options, cutWindowOptionNames);
  const { context, horizon, every = 1, from = 0, to = series.times.length } = options;
  const channels = series.columns.length;
  const length = context + horizon;
  const count = Math.max(0, Math.floor((to - from - length) / every) + 1);
  const values = Float64Array.from({ length: count * length * channels }, (_, i) => {
    const window = Math.floor(i / (length * channels));
    const { mean, standardDeviation } = statistics[i % channels];
    const value = series.values[(from + window * every) * channels + i % (length * channels)];
    return (value - mean) / standardDeviation;
  });
  return { times: Float64Array.from({ length }, (_, t) => t), values, shape: [count, length, channels] };
}
