import {
  type ChannelStatistics,
  channelStatistics,
  DataFormatError,
  mapSplits,
  parseCsv,
  readTable,
  type Scaling,
  type SeriesSet,
  type Splits,
} from "@weft/weft/data";
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
 * @throws {DataFormatError} With the line, if the table is malformed, a value is missing or the times are not
 * equally spaced.
 */
export function parseLongSeries(text: string, file: string): LongSeries {
  return toLongSeries(parseCsv(text, file, tableOptions), file);
}

const tableOptions = { time: "date", targets: "none" } as const;

function toLongSeries({ channels, series: [{ times, values }] }: SeriesSet, file: string): LongSeries {
  const gap = times[1] - times[0];
  const wrong = times.findIndex((time, i) => i > 1 && time - times[i - 1] !== gap);
  if (wrong >= 0) {
    const date = new Date(1000 * times[wrong]).toISOString();
    throw new DataFormatError(
      file,
      wrong + 2,
      `${date} is not ${gap} s after the row before, as the others are`,
    );
  }
  const missing = values.findIndex(Number.isNaN);
  if (missing >= 0) {
    const [row, channel] = [Math.floor(missing / channels.length), missing % channels.length];
    throw new DataFormatError(file, row + 2, `no number in ${channels[channel]}`);
  }
  return { columns: channels, times, values };
}

/**
 * Reads a file; see {@linkcode parseLongSeries}.
 *
 * @throws {Error} If the file cannot be read, or is not in UTF-8.
 */
export async function readLongSeries(path: string): Promise<LongSeries> {
  return toLongSeries(await readTable(path, tableOptions), path);
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
interface WindowOptions {
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
 * @param options `hours`: hours of each set, {@linkcode ettHours} by default; `scaling`: scaling of each
 * channel, `"standard"` by default; `statistics`: statistics of each channel, by default the statistics of the
 * training months.
 * @returns Windows `(windows, context + horizon, channels)` of each set, and the channels' statistics.
 * @throws {RangeError} If the series is shorter than the sets together.
 */
export function ettWindows(
  series: LongSeries,
  options: WindowOptions & {
    hours?: Splits<number>;
    scaling?: Scaling;
    statistics?: readonly ChannelStatistics[];
  },
): { splits: Splits<Trajectories>; statistics: readonly ChannelStatistics[] } {
  const { context, horizon, every, scaling, hours = ettHours } = options;
  const width = series.columns.length;
  const rows = mapSplits(hours, (hours) => hours * rowsAnHour(series));
  const needed = rows.train + rows.validation + rows.test;
  if (series.times.length < needed) {
    throw new RangeError(`ettWindows: a series of ${series.times.length} rows, expected ${needed} at least`);
  }
  const statistics = options.statistics ??
    channelStatistics([{ values: series.values.subarray(0, rows.train * width) }], width, scaling);
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
