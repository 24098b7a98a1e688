/** Fewer steps for long series: means of blocks of rows, or longer windows of log-signatures. */
import { largest, smallest } from "../../device/min_max.ts";
import type { Series } from "../../data/series.ts";
import { BlockMean } from "../record/block_mean.ts";
import type { RecordedCondensing } from "../record/data_record.ts";
import type { ModelReading } from "./model_settings.ts";
import { defaultWindow } from "./series_reading.ts";
import type { SeriesSettings } from "../record/settings.ts";

/** Maximum number of rows of a typical series that is read row by row, and of steps of a longer one. */
const defaultSteps = 512;
/** Maximum number of steps along the longest series, as a multiple of those along a typical series. */
const longestShare = 4;

/**
 * Number of rows per step for series of some lengths. It is 1 if the median is at most 512 rows, and the longest
 * series has at most four times as many.
 *
 * @param steps Maximum number of steps for a longer series of median length; at most 512.
 */
export function rowsPerStep(lengths: readonly number[], steps = defaultSteps): number {
  const typical = lengths.toSorted((a, b) => a - b)[lengths.length >> 1];
  const rows = Math.max(typical / defaultSteps, largest(lengths) / (longestShare * defaultSteps));
  return rows <= 1 ? 1 : Math.ceil(rows * defaultSteps / steps);
}

/**
 * Chooses how a model shortens long series. A given `condense` or `window` takes precedence.
 *
 * @param kind Kind of the model. A model that is fitted in closed form reads all rows.
 * @param series Training series.
 * @returns Undefined if the rows stay as they are, or the settings have the window.
 */
export function downsamplingOf(
  kind: ModelReading,
  { condense, window }: Pick<SeriesSettings, "condense" | "window">,
  series: readonly Pick<Series, "times">[],
): RecordedCondensing | undefined {
  if (kind.reads === undefined) return undefined;
  const rows = rowsPerStep(series.map(({ times }) => times.length), kind.typicalSteps);
  if (kind.reads === "windows") {
    return window === undefined && rows > defaultWindow ? { by: "log-signatures", rows } : undefined;
  }
  return (condense ?? rows) > 1 ? { by: "means", rows: condense ?? rows } : undefined;
}

/**
 * Averages blocks of consecutive rows. A time is the mean of the block's times. A value is the mean of the known
 * values of its channel, and NaN without a known value. The last block may have fewer rows. A row of the result
 * does not depend on later blocks.
 *
 * @param channels Number of channels.
 * @param rows Number of rows of a block; 1 returns the series itself.
 */
export function downsample(series: Series, channels: number, rows: number): Series {
  if (rows === 1) return series;
  const blocks = Math.ceil(series.times.length / rows);
  const [times, values] = [new Float64Array(blocks), new Float64Array(blocks * channels)];
  for (let block = 0; block < blocks; block++) {
    const mean = new BlockMean(channels);
    const end = Math.min((block + 1) * rows, series.times.length);
    for (let i = block * rows; i < end; i++) {
      mean.add(series.times[i], series.values.subarray(i * channels, (i + 1) * channels));
    }
    times[block] = mean.time;
    values.set(mean.values, block * channels);
  }
  return { ...series, times, values };
}

/** A line about the downsampling of series. Undefined if all rows are kept. */
export function describeRows(
  condensing: RecordedCondensing | undefined,
  series: readonly Pick<Series, "times">[],
): string | undefined {
  if (!condensing) return undefined;
  const { by, rows } = condensing;
  const lengths = series.map(({ times }) => times.length);
  const range = (numbers: readonly number[]) => {
    const [low, high] = [smallest(numbers), largest(numbers)];
    return low === high ? `${low}` : `${low} to ${high}`;
  };
  const steps = range(lengths.map((length) => Math.ceil((by === "means" ? length : length - 1) / rows)));
  return by === "means"
    ? `rows are averaged in blocks of ${rows}, from ${range(lengths)} to ${steps} steps; ` +
      `changes within ${rows} rows are lost`
    : `log-signatures of windows of ${rows} rows, from ${range(lengths)} rows to ${steps} steps`;
}
