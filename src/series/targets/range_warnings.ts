/** Warnings about data and predictions far outside of the ranges of the data that a model learned from. */
import { formatNumber } from "../../charts/format.ts";
import { quoted } from "../../data/format.ts";
import type { Series } from "../../data/series.ts";
import type { DataRecord, RecordedRange } from "../record/data_record.ts";
import type { Prediction, RangeCode, RangeWarning } from "../record/predictions.ts";

/** Distance from the mean, and least distance from the range, that is far, in standard deviations. */
const [farFromMean, farFromRange] = [10, 5];

/** Duration or number of observations that is far longer than the longest series, as a multiple of it. */
const farLonger = 3;

/** Ratio of the typical times between observations of two series that is large. */
const farRatio = 10;

/** Largest rounding error of a prediction, as a fraction of the largest absolute value of the range. */
const roundingShare = 2 ** -44;

/** Lowest and highest value that are not far outside. */
interface Bounds {
  readonly low: number;
  readonly high: number;
}

/** Time from the first to the last observation. */
export function durationOf({ times }: Pick<Series, "times">): number {
  return times[times.length - 1] - times[0];
}

/** Median time between two observations. */
export function typicalGapOf({ times }: Pick<Series, "times">): number {
  return times.subarray(1).map((time, i) => time - times[i]).sort()[(times.length - 1) >> 1];
}

/** A series to compare with the ranges of a record. */
export type CheckedSeries = Pick<Series, "name" | "times" | "values">;

/** Predicted values of a column, in the unit of its range. */
export interface PredictedColumn {
  readonly column: string;
  readonly values: ArrayLike<number>;
  readonly range: RecordedRange | null;
}

/**
 * Compares a series and its prediction with the ranges of a record. A value is far outside if it is more than 10
 * standard deviations from the mean, and outside the range by more than 5 standard deviations. An input must also be
 * outside by more than the width of the range. Returns the value that is farthest outside for each column, and nothing for
 * a record without ranges, of an earlier version.
 *
 * @param series Unscaled series with the channels of the record.
 */
export function rangeWarnings(
  { ranges, channels, time, windows }: Pick<DataRecord, "ranges" | "channels" | "time" | "windows">,
  series: CheckedSeries,
  predicted: readonly PredictedColumn[] = [],
): RangeWarning[] {
  if (!ranges) return [];
  const warnings: RangeWarning[] = [];
  const compare = (
    code: RangeCode,
    range: RecordedRange | null,
    bounds: (range: RecordedRange) => Bounds,
    values: ArrayLike<number>,
    { column, first = 0, width = 1 }: { column?: string; first?: number; width?: number } = {},
  ) => {
    if (!range) return;
    const { low, high } = bounds(range);
    let [farthest, value] = [0, NaN];
    for (let i = first; i < values.length; i += width) {
      const distance = Math.max(low - values[i], values[i] - high);
      if (distance > farthest) [farthest, value] = [distance, values[i]];
    }
    if (farthest === 0) return;
    warnings.push({
      ...{ code, series: series.name },
      ...(column === undefined ? {} : { column }),
      ...{ value, low: range.low, high: range.high },
      ...(isTime.has(code) && time.kind !== "number" ? { unit: unitOf[time.kind] } : {}),
    });
  };
  ranges.channels.forEach((range, first) => {
    const { name: column, standardDeviation } = channels[first];
    const channel = { column, first, width: channels.length };
    compare("value-outside", range, (range) => inputBounds(range, standardDeviation), series.values, channel);
  });
  if (!windows) {
    if (time.origin === "zero") compare("time-outside", ranges.times, wideBounds, series.times);
    else compare("duration-outside", ranges.durations, lengthBounds, [durationOf(series)]);
    compare("length-outside", ranges.lengths, lengthBounds, [series.times.length]);
  }
  // With two rows, the gap is the duration, which is compared above.
  if (series.times.length > 2) compare("gap-outside", ranges.gaps, ratioBounds, [typicalGapOf(series)]);
  for (const { column, values, range } of predicted) {
    compare("prediction-outside", range, predictionBounds, values, { column });
  }
  return warnings;
}

const isTime: ReadonlySet<RangeCode> = new Set(["time-outside", "duration-outside", "gap-outside"]);
const unitOf = { date: "seconds", month: "months" } as const;

function boundsWith(margin: number, { low, high, mean, standardDeviation }: RecordedRange): Bounds {
  const rounding = roundingShare * Math.max(Math.abs(low), Math.abs(high));
  return {
    low: Math.min(mean - farFromMean * standardDeviation, low - margin) - rounding,
    high: Math.max(mean + farFromMean * standardDeviation, high + margin) + rounding,
  };
}

function predictionBounds(range: RecordedRange): Bounds {
  return boundsWith(farFromRange * range.standardDeviation, range);
}

/** @param scaledBy Standard deviation that the model divides by. It is larger if the range is a rounding error. */
function inputBounds(range: RecordedRange, scaledBy: number): Bounds {
  const standardDeviation = Math.max(range.standardDeviation, scaledBy);
  const margin = Math.max(farFromRange * standardDeviation, range.high - range.low);
  return boundsWith(margin, { ...range, standardDeviation });
}

function wideBounds({ low, high }: RecordedRange): Bounds {
  return { low: low - (high - low), high: high + (high - low) };
}

function lengthBounds({ high }: RecordedRange): Bounds {
  return { low: -Infinity, high: high > 0 ? farLonger * high : Infinity };
}

function ratioBounds({ low, high }: RecordedRange): Bounds {
  return { low: low / farRatio, high: high * farRatio };
}

/** Adds warnings to a prediction. Without warnings, returns the prediction. */
export function withWarnings<One extends Prediction>(
  prediction: One,
  warnings: readonly RangeWarning[],
): One {
  return warnings.length > 0 ? { ...prediction, warnings } : prediction;
}

const texts: Readonly<Record<RangeCode, (column: string) => string>> = {
  "value-outside": (column) => `values of ${column}`,
  "time-outside": () => "times",
  "duration-outside": () => "durations",
  "length-outside": () => "numbers of observations",
  "gap-outside": () => "times between observations",
  "prediction-outside": (column) => `predictions of ${column}`,
};

/** A line for each kind of warning and column, with the number of series. */
export function describeWarnings(answers: readonly Pick<Prediction, "warnings">[]): string[] {
  const all = answers.flatMap(({ warnings = [] }) => warnings);
  const kinds = Map.groupBy(all, ({ code, column }) => JSON.stringify([code, column]));
  return Array.from(kinds.values(), (warnings) => {
    const distance = ({ value, low, high }: RangeWarning) => Math.max(low - value, value - high);
    const { code, column = "", series, value, low, high, unit } = warnings.reduce((most, one) =>
      distance(one) > distance(most) ? one : most
    );
    const count = new Set(warnings.map(({ series }) => series)).size;
    return `${texts[code](quoted(column))} far outside the training data (${formatNumber(low)} to ${
      formatNumber(high)
    }${unit ? ` ${unit}` : ""}) in ${count} series, such as ${formatNumber(value)} in ${
      quoted(series)
    }: their predictions may be wrong`;
  });
}
