/** Ranges of the data that a model learns from. */
import { channelStatistics } from "../../data/scaling.ts";
import type { Series } from "../../data/series.ts";
import type { DataRecord, RecordedRange, RecordedRanges } from "../record/data_record.ts";
import { durationOf, typicalGapOf } from "./range_warnings.ts";

/**
 * Ranges of the channels, the times and the targets of some series.
 *
 * @param record Kinds of the channels, and the targets.
 * @param series Series that a model learns from, unscaled.
 */
export function rangesOf(
  { channels, targets }: Pick<DataRecord, "channels" | "targets">,
  series: readonly Series[],
): RecordedRanges {
  const numbers = (all: readonly ArrayLike<number>[]) => rangesOfColumns(all, 1)[0];
  const columns = rangesOfColumns(series.map(({ values }) => values), channels.length);
  return {
    channels: columns.map((range, i) => channels[i].kind === "number" ? range : null),
    ...(targets ? { targets: rangesOfColumns(series.map((one) => one.targets ?? []), targets.length) } : {}),
    times: numbers(series.map(({ times }) => [times[0], times[times.length - 1]])),
    durations: numbers(series.map((one) => [durationOf(one)])),
    lengths: numbers(series.map(({ times }) => [times.length])),
    gaps: numbers(series.filter(({ times }) => times.length > 1).map((one) => [typicalGapOf(one)])),
  };
}

/** Range of each column of row-major values; null for a column without a known value. */
function rangesOfColumns(values: readonly ArrayLike<number>[], width: number): (RecordedRange | null)[] {
  const statistics = channelStatistics(values.map((values) => ({ values })), width);
  return statistics.map(({ mean, standardDeviation }, column) => {
    let [low, high] = [Infinity, -Infinity];
    for (const one of values) {
      for (let i = column; i < one.length; i += width) {
        if (one[i] < low) low = one[i];
        if (one[i] > high) high = one[i];
      }
    }
    // `channelStatistics` gives a constant channel a standard deviation of at least 1: limit it to the range.
    const most = low < high ? high - low : 1;
    return low <= high ? { low, high, mean, standardDeviation: Math.min(standardDeviation, most) } : null;
  });
}
