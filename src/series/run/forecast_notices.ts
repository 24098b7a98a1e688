/** Lines about the series of forecasts. */
import { listed } from "../../data/format.ts";
import type { Series } from "../../data/series.ts";
import { lastObserved, originRows, targetChannelsOf } from "../read/forecast_windows.ts";
import type { DataRecord, RecordedWindows } from "../record/data_record.ts";

/** Returns a line about the series that are too short for training, if there are any. */
export function describeUnused(series: readonly Series[], windows: RecordedWindows): string[] {
  const span = { from: -Infinity, to: windows.until.train };
  const unused = series.filter((one) => originRows(one, windows, span).length === 0).map(({ name }) => name);
  if (unused.length === 0) return [];
  return [
    `nothing is learned from ${unused.length} of ${series.length} series, ${
      listed(unused)
    }: in the part to train on ` +
    "they are shorter than the horizon",
  ];
}

/**
 * Returns a line for each channel that was known ahead of time in training, and is not in some of these
 * series.
 */
export function missingFutureCovariates(series: readonly Series[], { channels }: DataRecord): string[] {
  const width = channels.length;
  const targetChannels = targetChannelsOf(channels);
  return channels.flatMap(({ name, role }, channel) => {
    if (role !== "known") return [];
    const without = series.filter((one) =>
      lastObserved(one, width, [channel]) <= lastObserved(one, width, targetChannels)
    );
    return without.length === 0 ? [] : [
      `"${name}" has no values after the last observation of ${listed(without.map(({ name }) => name))}: ` +
      "forecasts are made without it; add rows with its future values",
    ];
  });
}
