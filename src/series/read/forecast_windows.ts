import type { Series } from "../../data/series.ts";
import type { DataRecord, RecordedWindows } from "../record/data_record.ts";
import { largest } from "../../device/min_max.ts";
import { DataError } from "../../device/errors.ts";

/** The past of a series up to the forecast origin, and the values that follow. */
export interface ForecastWindow {
  /** Name of the series. */
  readonly series: string;
  /** Past observations up to the forecast origin, unscaled. */
  readonly past: Series;
  /** Time of the last past observation. */
  readonly origin: number;
  /**
   * Past values on a regular grid that ends at the forecast origin, interpolated between observations. NaN in a
   * channel without observations. Shape (context, channels).
   */
  readonly grid: Float64Array;
  /** Number of grid points from the first observation to the forecast origin, both included; at most the context. */
  readonly observed: number;
  /** Times of the following observations, in steps after the forecast origin, from 0 to the horizon. */
  readonly at: Float64Array;
  /** Values of the following observations, NaN if not observed. Shape (at, channels). */
  readonly targets: Float64Array;
}

/** Expected values and quantiles of each channel, at some times. */
export type WindowForecast = readonly { readonly mean: number[]; readonly quantiles: readonly number[][] }[];

/** Period of the targets of windows: later than `from`, up to and including `to`. */
interface Span {
  from: number;
  to: number;
}

/** Default maximum number of windows of a part. Above it, only every n-th window is used. */
const maxWindows = 4000;

/**
 * Windows whose targets are in a period. Their past may start before the period.
 *
 * @param channels Number of channels of the series.
 */
export function windowsOf(
  series: readonly Series[],
  channels: number,
  sizes: Omit<RecordedWindows, "until">,
  span: Span,
  most = maxWindows,
): ForecastWindow[] {
  const candidates = series.flatMap((one) => originRows(one, sizes, span).map((row) => ({ one, row })));
  const every = Math.max(1, Math.ceil(candidates.length / most));
  return candidates.filter((_, i) => i % every === 0)
    .map(({ one, row }) => windowAt(one, row, channels, sizes, span.to));
}

/** Positions of the observations that can be the forecast origin of a window. */
export function originRows(
  { times }: Series,
  sizes: Pick<RecordedWindows, "gap" | "horizon">,
  { from, to }: Span,
): number[] {
  const last = (times[times.length - 1] ?? -Infinity) + sizes.gap / 2;
  return Array.from(times.keys()).filter((p) =>
    p >= 1 && times[p + 1] > from && endsBy(times[p], sizes, Math.min(to, last))
  );
}

/** Maximum number of past observations in a window. */
export function longestPast(
  series: readonly Series[],
  sizes: Pick<RecordedWindows, "gap" | "context" | "horizon">,
): number {
  return largest(series.flatMap((one) => {
    let first = 0;
    return originRows(one, sizes, { from: -Infinity, to: Infinity }).map((originRow) => {
      while (one.times[first] < startOf(one.times[originRow], sizes)) first++;
      return originRow + 1 - first;
    });
  }));
}

/** Whether the horizon after a forecast origin ends by a time. */
export function endsBy(
  origin: number,
  { gap, horizon }: Pick<RecordedWindows, "gap" | "horizon">,
  time: number,
): boolean {
  return origin + (horizon - rounding) * gap <= time;
}

/** Tolerance of times for rounding errors, in steps. */
const rounding = 1e-6;

/**
 * Makes the window whose origin is the observation at a position.
 *
 * @param originRow Position of the observation, at least 0.
 * @param to Time of the last possible target.
 */
export function windowAt(
  { name, times, values }: Series,
  originRow: number,
  width: number,
  { gap, context, horizon }: Omit<RecordedWindows, "until">,
  to = Infinity,
): ForecastWindow {
  const now = times[originRow];
  const start = startOf(now, { gap, context });
  let first = originRow;
  while (first > 0 && times[first - 1] >= start) first--;
  const until = Math.min(to, now + (horizon + 0.5) * gap);
  let end = originRow + 1;
  while (end < times.length && times[end] <= until) end++;
  return {
    series: name,
    past: {
      name,
      times: times.slice(first, originRow + 1),
      values: values.slice(first * width, (originRow + 1) * width),
      label: -1,
    },
    origin: now,
    observed: first > 0 ? context : Math.min(context, Math.round((now - times[0]) / gap) + 1),
    grid: onGrid(times, values, width, originRow, { gap, context }),
    at: times.slice(originRow + 1, end).map((time) => Math.min((time - now) / gap, horizon)),
    targets: values.slice((originRow + 1) * width, end * width),
  };
}

/** Observations of a series up to and including a time. */
export function upTo(time: number, series: Series, width: number): Series {
  const rows = series.times.filter((rowTime) => rowTime <= time).length;
  return { ...series, times: series.times.slice(0, rows), values: series.values.slice(0, rows * width) };
}

/** Value of a window's grid at a step, or the channel's mean if it was never observed. */
export function gridValue(
  { grid }: ForecastWindow,
  step: number,
  channel: number,
  channels: readonly { readonly mean: number }[],
): number {
  const value = grid[step * channels.length + channel];
  return Number.isNaN(value) ? channels[channel].mean : value;
}

/** Last row of the following observations at or before each of the steps 1, 2, ...; -1 without a row. */
export function futureRows({ at }: Pick<ForecastWindow, "at">, horizon: number): Int32Array {
  let row = -1;
  return Int32Array.from({ length: horizon }, (_, step) => {
    while (row + 1 < at.length && at[row + 1] <= step + 1 + 1e-3) row++;
    return row;
  });
}

/**
 * Values at the steps 1, 2, ... after the forecast origin, interpolated between observations. The last value is
 * repeated for less than one step and a half. NaN later.
 */
export function followingSteps(
  window: ForecastWindow,
  channel: number,
  channels: DataRecord["channels"],
  horizon: number,
): Float64Array {
  const { at, targets, grid } = window;
  const width = channels.length;
  const steps = new Float64Array(horizon).fill(NaN);
  let [time, value] = [0, gridValue(window, grid.length / width - 1, channel, channels)];
  let step = 1;
  for (let row = 0; row < at.length; row++) {
    const next = targets[row * width + channel];
    if (Number.isNaN(next)) continue;
    for (; step <= horizon && step <= at[row] + 1e-3; step++) {
      steps[step - 1] = at[row] > time
        ? value + (next - value) * Math.min(1, (step - time) / (at[row] - time))
        : next;
    }
    [time, value] = [at[row], next];
  }
  for (; step <= horizon && step < time + 1.5; step++) steps[step - 1] = value;
  return steps;
}

/** Shortens the past of a window to a number of steps. */
export function withShorterPast(
  window: ForecastWindow,
  steps: number,
  channels: number,
  { gap, context }: Pick<RecordedWindows, "gap" | "context">,
): ForecastWindow {
  const start = startOf(window.origin, { gap, context: steps });
  const first = window.past.times.findIndex((time) => time >= start);
  const times = window.past.times.slice(first);
  const values = window.past.values.slice(first * channels);
  return {
    ...window,
    past: { ...window.past, times, values },
    grid: onGrid(times, values, channels, times.length - 1, { gap, context }),
    observed: Math.min(window.observed, steps),
  };
}

/** Start time of the past in a window, half a step before the first grid point. */
export function startOf(origin: number, { gap, context }: Pick<RecordedWindows, "gap" | "context">): number {
  return origin - (context - 0.5) * gap;
}

/** Positions of the channels to forecast. The others are known ahead of time, covariates or static. */
export function targetChannelsOf(channels: DataRecord["channels"]): number[] {
  return [...channels.keys()].filter((channel) => (channels[channel].role ?? "observed") === "observed");
}

/**
 * Position of the last observation in a channel to forecast; -1 if there is no such observation. Rows after
 * it only request forecasts.
 */
export function lastObserved({ values }: Series, width: number, targetChannels: readonly number[]): number {
  for (let row = values.length / width - 1; row >= 0; row--) {
    if (targetChannels.some((channel) => !Number.isNaN(values[row * width + channel]))) return row;
  }
  return -1;
}

/**
 * As {@linkcode lastObserved}, for a series to forecast.
 *
 * @throws {DataError} If the series has no observation.
 */
export function originRowOf(series: Series, width: number, targetChannels: readonly number[]): number {
  const row = lastObserved(series, width, targetChannels);
  if (row >= 0) return row;
  throw new DataError(
    "empty-series",
    `series "${series.name}": all values are missing; a forecast needs at least one value`,
    { fixes: ["leave it out"] },
  );
}

/**
 * Interpolates the past observations linearly on a regular grid that ends at the forecast origin. Before the first
 * and after the last observation their values are repeated. A channel without observations is NaN.
 */
function onGrid(
  times: Float64Array,
  values: Float64Array,
  channels: number,
  originRow: number,
  { gap, context }: { gap: number; context: number },
): Float64Array {
  const grid = new Float64Array(context * channels).fill(NaN);
  for (let channel = 0; channel < channels; channel++) {
    const value = (row: number) => values[row * channels + channel];
    let right = originRow;
    while (right >= 0 && Number.isNaN(value(right))) right--;
    let left = right;
    for (let step = context - 1; step >= 0 && right >= 0; step--) {
      const time = times[originRow] - (context - 1 - step) * gap;
      while (left >= 0 && (times[left] > time || Number.isNaN(value(left)))) {
        if (!Number.isNaN(value(left))) right = left;
        left--;
      }
      grid[step * channels + channel] = left < 0 || left === right || times[right] <= time
        ? value(left < 0 ? right : left)
        : value(left) +
          (value(right) - value(left)) * (time - times[left]) / (times[right] - times[left]);
    }
  }
  return grid;
}
