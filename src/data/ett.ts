import {
  DataFormatError,
  decodeUtf8,
  largestValue,
  numberOf,
  readBytes,
  requireDistinct,
  timeOf,
} from "./format.ts";
import type { Splits } from "./series.ts";
import type { Trajectories } from "./trajectories.ts";

/** One long series of several channels at equal distances of time. */
export interface LongSeries {
  /** The channels' names. */
  readonly columns: readonly string[];
  /** In seconds since 1970. Shape (length). */
  readonly times: Float64Array;
  /** Row-major. Shape (length, channels). */
  readonly values: Float64Array;
}

/**
 * Reads a table with a first column `date` and a column a channel, at equal distances of time: the electricity transformer
 * data sets ETTh1, ETTh2, ETTm1 and ETTm2 (Zhou et al., "Informer", 2021), of which the last channel, the oil temperature, is
 * the target.
 *
 * @param file Its name, for messages.
 * @throws {DataFormatError} With the line, if a value is no number or the times are at unequal distances.
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
    const fields = row.split(",");
    if (fields.length !== columns.length + 1) {
      throw new DataFormatError(file, i + 2, `${fields.length} fields, expected ${columns.length + 1}`);
    }
    times[i] = timeOf(fields[0], "date");
    const gap = times[i] - times[i - 1];
    if (Number.isNaN(times[i]) || i > 1 && gap !== times[1] - times[0]) {
      throw new DataFormatError(
        file,
        i + 2,
        `"${fields[0]}" is no date as far from the one before as the others`,
      );
    }
    fields.slice(1).forEach((field, channel) => {
      const value = numberOf(field.trim());
      if (!(Math.abs(value) <= largestValue)) {
        throw new DataFormatError(file, i + 2, `expected a number in ${columns[channel]}, got "${field}"`);
      }
      values[i * columns.length + channel] = value;
    });
  });
  return { columns, times, values };
}

/** Reads a file; see {@linkcode parseLongSeries}. @throws {Error} If it cannot be read, or is not in UTF-8. */
export async function readLongSeries(path: string): Promise<LongSeries> {
  const bytes = await readBytes(path, "a table with a column date and a column a channel");
  return parseLongSeries(decodeUtf8(bytes, path), path);
}

/** Hours of the twelve months that train, the four that validate and the four that test, of thirty days each. */
const months = 30 * 24;
export const ettHours = { train: 12 * months, validation: 4 * months, test: 4 * months } as const;

/** Scaling of a channel: its mean is subtracted, then it is divided by its standard deviation. */
export interface Scale {
  readonly mean: number;
  readonly deviation: number;
}

/** Which pieces a long series is cut into. */
export interface WindowOptions {
  /** Hours that are given. */
  context: number;
  /** Hours that are to be predicted. */
  horizon: number;
  /** Hours from one window's beginning to the next; 1 by default. */
  every?: number;
}

/**
 * Windows of a long series in the usual split of the hourly ETT data: of the first twelve months, the four after them and
 * the four after those. Each channel is brought to mean zero and deviation one over the training months. The windows of
 * validation and test begin `context` hours earlier, so that every one of their own hours is predicted.
 *
 * @param options `hours`: of each part, {@linkcode ettHours} by default; `scales`: those of the training months by default.
 */
export function ettWindows(
  series: LongSeries,
  options: WindowOptions & { hours?: Splits<number>; scales?: readonly Scale[] },
): { splits: Splits<Trajectories>; scales: readonly Scale[] } {
  const { context, hours = ettHours } = options;
  const needed = hours.train + hours.validation + hours.test;
  if (series.times.length < needed) {
    throw new RangeError(`ettWindows: a series of ${series.times.length} hours, expected ${needed} at least`);
  }
  const scales = options.scales ?? scalesOf(series, hours.train);
  const part = (from: number, to: number) => cutWindows(series, scales, { ...options, from, to });
  const validation = hours.train + hours.validation;
  return {
    splits: {
      train: part(0, hours.train),
      validation: part(hours.train - context, validation),
      test: part(validation - context, needed),
    },
    scales,
  };
}

/** Mean and deviation of each channel over the first hours of a series. */
function scalesOf({ columns, values }: LongSeries, hours: number): Scale[] {
  return columns.map((_, channel): Scale => {
    const own = Array.from({ length: hours }, (_, t) => values[t * columns.length + channel]);
    const mean = own.reduce((sum, value) => sum + value, 0) / own.length;
    const variance = own.reduce((sum, value) => sum + (value - mean) ** 2, 0) / own.length;
    return { mean, deviation: Math.sqrt(variance) || 1 };
  });
}

/**
 * Pieces of a long series, scaled, in the order of their times.
 *
 * @param options `from` and `to`: the hours that they are cut from, all by default.
 */
export function cutWindows(
  series: LongSeries,
  scales: readonly Scale[],
  options: WindowOptions & { from?: number; to?: number },
): Trajectories {
  const { context, horizon, every = 1, from = 0, to = series.times.length } = options;
  const channels = series.columns.length;
  const length = context + horizon;
  const count = Math.max(0, Math.floor((to - from - length) / every) + 1);
  const values = Float64Array.from({ length: count * length * channels }, (_, i) => {
    const window = Math.floor(i / (length * channels));
    const { mean, deviation } = scales[i % channels];
    return (series.values[(from + window * every) * channels + i % (length * channels)] - mean) / deviation;
  });
  return { times: Float64Array.from({ length }, (_, t) => t), values, shape: [count, length, channels] };
}
