/** Season of series: from the calendar, or from autocorrelations. */
import type { Series, SeriesSet } from "../data/series.ts";
import { selectEvenly } from "./select_evenly.ts";
import { historyOf, wholePast } from "./histories.ts";

/** Seconds of a day. */
const day = 86_400;

/** Maximum numbers of series and steps to compute autocorrelations of, and the maximum lag. */
const [maxSeries, maxSteps, maxLag] = [16, 2000, 400];

/** Minimum autocorrelation at a season. */
const leastCorrelation = 0.3;

/** A week is the season if its autocorrelation exceeds that of a day by this number. */
const clearlyStronger = 0.1;

/** Series and their typical time step, to find a season. */
interface SeasonData {
  gap: number;
  times: SeriesSet["times"];
  /** Series up to the end of the training period. */
  series: readonly Series[];
  /** Number of channels. */
  channels: number;
  /** Positions of the channels to forecast. */
  continued: readonly number[];
}

/**
 * Default season in steps: a year for months and quarters; for shorter steps a day, or a week if its
 * autocorrelation is clearly stronger; a week for days. For other steps, the lag of the first clear peak of
 * the autocorrelation. 1 for no season, or if no series has two seasons.
 */
export function seasonOf(data: SeasonData): number {
  const { gap, times, series } = data;
  const rows = Math.max(0, ...series.map(({ times }) => times.length));
  const possible = (season: number) => Number.isInteger(season) && 2 * season <= rows;
  if (times === "month") return possible(12 / gap) ? 12 / gap : 1;
  if (times !== "date" || gap > day) return peakOf(autocorrelations(data));
  const [daily, weekly] = [day / gap, 7 * day / gap];
  if (gap === day) return possible(weekly) ? weekly : 1;
  if (!possible(daily)) return 1;
  if (!possible(weekly) || weekly > maxLag) return daily;
  const correlation = autocorrelations(data);
  return correlation[weekly] > correlation[daily] + clearlyStronger ? weekly : daily;
}

/**
 * Mean autocorrelations over some series and channels, after subtracting a linear trend. Index k has lag k.
 * Lags are up to a third of the longest history; a history shorter than three lags has no part in their mean.
 */
function autocorrelations({ gap, series, channels, continued }: SeasonData): Float64Array {
  const histories = selectEvenly(series, maxSeries).flatMap((one) => {
    const past = wholePast(one, channels, continued);
    return past
      ? continued.map((channel) => historyOf(past, channel, channels, { gap, context: maxSteps }))
      : [];
  }).map(withoutTrend).filter((history) => history.some((value) => value !== 0 && !Number.isNaN(value)));
  const most = Math.min(maxLag, Math.floor(Math.max(0, ...histories.map(({ length }) => length)) / 3));
  return Float64Array.from({ length: most + 1 }, (_, lag) => {
    const longEnough = histories.filter(({ length }) => length >= 3 * lag);
    return longEnough.reduce((sum, history) => sum + correlationAt(history, lag), 0) / longEnough.length;
  });
}

/** Correlation of the values that are known, and known again `lag` steps later. 0 without such values. */
function correlationAt(values: Float64Array, lag: number): number {
  let [product, before, after] = [0, 0, 0];
  for (let t = lag; t < values.length; t++) {
    const [x, y] = [values[t - lag], values[t]];
    if (Number.isNaN(x) || Number.isNaN(y)) continue;
    product += x * y;
    before += x * x;
    after += y * y;
  }
  return product / (Math.sqrt(before * after) || 1);
}

/** Residuals of the linear regression on time. */
function withoutTrend(values: Float64Array): Float64Array {
  const known = Array.from(values.keys()).filter((t) => !Number.isNaN(values[t]));
  const mean = (of: (t: number) => number) => known.reduce((sum, t) => sum + of(t), 0) / known.length;
  const [time, level] = [mean((t) => t), mean((t) => values[t])];
  const slope = mean((t) => (t - time) * (values[t] - level)) / (mean((t) => (t - time) ** 2) || 1);
  return values.map((value, t) => value - level - slope * (t - time));
}

/**
 * Lag of the first clear peak: a local maximum, after a lag without positive correlation, that is at least
 * 0.3 and nearly the largest. 1 without such a lag.
 */
function peakOf(correlations: Float64Array): number {
  const peaks: number[] = [];
  let hasFallen = false;
  for (let lag = 2; lag < correlations.length - 1; lag++) {
    hasFallen ||= correlations[lag - 1] <= 0;
    const isPeak = correlations[lag] > correlations[lag - 1] && correlations[lag] >= correlations[lag + 1];
    // The noise of a correlation has a standard deviation of about the square root of the number of values.
    const threshold = Math.max(leastCorrelation, 3 / Math.sqrt(3 * correlations.length));
    if (hasFallen && isPeak && correlations[lag] >= threshold) peaks.push(lag);
  }
  const highest = Math.max(...peaks.map((lag) => correlations[lag]));
  return peaks.find((lag) => correlations[lag] >= 0.9 * highest) ?? 1;
}
