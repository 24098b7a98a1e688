/** Histories of series on a regular grid, for models that read all past values. */
import type { Series } from "../../data/series.ts";
import { type ForecastWindow, lastObserved } from "./forecast_windows.ts";
import type { RecordedWindows } from "../record/data_record.ts";

/** Maximum number of windows of models that read whole histories: to measure in training, and to test. */
export const historyWindows = { train: 200, test: 1000 };

/**
 * Past values of a channel on the regular grid that ends at the forecast origin, from the first row of the window on.
 * NaN where no value was observed. Of several values at one grid step, the last one.
 */
export function historyOf(
  { past: { times, values }, origin }: Pick<ForecastWindow, "past" | "origin">,
  channel: number,
  channels: number,
  { gap, context }: Pick<RecordedWindows, "gap" | "context">,
): Float64Array {
  const stepOf = (row: number) => context - 1 - Math.round((origin - times[row]) / gap);
  const first = Math.max(0, stepOf(0));
  const history = new Float64Array(context - first).fill(NaN);
  for (let row = 0; row < times.length; row++) {
    const value = values[row * channels + channel];
    const step = stepOf(row) - first;
    if (step >= 0 && !Number.isNaN(value)) history[step] = value;
  }
  return history;
}

/**
 * Fills the steps of a season that were never observed, such as the nights of a shop: linear between the values before
 * and after. Otherwise a model would forecast these steps from nothing.
 *
 * @param history Values at equal time steps `(steps)`; NaN is missing.
 * @returns The history itself if each step of the season was observed, or if it has fewer than two seasons.
 */
export function withWholeSeason(history: Float64Array, season: number): Float64Array {
  if (season < 2 || history.length < 2 * season) return history;
  const isSeen = new Uint8Array(season);
  for (let t = 0; t < history.length; t++) if (!Number.isNaN(history[t])) isSeen[t % season] = 1;
  if (isSeen.every((seen) => seen === 1)) return history;
  const filled = history.slice();
  let last = -1;
  for (let t = 0; t < history.length; t++) {
    if (Number.isNaN(history[t])) continue;
    for (let between = last + 1; last >= 0 && between < t; between++) {
      if (isSeen[between % season]) continue;
      filled[between] = history[last] + (history[t] - history[last]) * (between - last) / (t - last);
    }
    last = t;
  }
  return filled;
}

/** Rows of a series up to its last observation in the channels to forecast, as the past of a window. */
export function wholePast(
  series: Series,
  channels: number,
  targetChannels: readonly number[],
): Pick<ForecastWindow, "past" | "origin"> | undefined {
  const last = lastObserved(series, channels, targetChannels);
  if (last < 0) return undefined;
  return {
    past: {
      ...series,
      times: series.times.slice(0, last + 1),
      values: series.values.slice(0, (last + 1) * channels),
    },
    origin: series.times[last],
  };
}
