/** Season of series: from the calendar, or from autocorrelations. */
import { formatSteps } from "../../charts/format.ts";
import { plural } from "../../data/format.ts";
import type { Series, SeriesSet } from "../../data/series.ts";
import { selectEvenly } from "../math/select_evenly.ts";
import { historyOf, wholePast } from "./histories.ts";
import { daySeconds, openSeconds, type RecordedCalendar } from "../record/calendar.ts";

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
  /** Calendar of the times. Closed hours have no steps. */
  calendar?: RecordedCalendar;
  /** Series up to the end of the training period. */
  series: readonly Series[];
  /** Number of channels. */
  channels: number;
  /** Positions of the channels to forecast. */
  targetChannels: readonly number[];
}

/**
 * Default season in steps: a year for months and quarters; for shorter steps a day, or a week if its
 * autocorrelation is clearly stronger; a week for days. For other steps, the lag of the first clear peak of
 * the autocorrelation. 1 for no season, or if no series has two seasons.
 */
export function seasonOf(data: SeasonData): number {
  const { times } = data;
  const season = calendarSeason(data);
  if (season === undefined) return peakOf(autocorrelations(data));
  const rows = longest(data);
  if (season === 1 || 2 * season > rows) return 1;
  const weekly = weekOf(data);
  if (times === "month" || season === weekly || weekly === undefined) return season;
  const daily = season;
  if (2 * weekly > rows || weekly > maxLag) return daily;
  const correlation = autocorrelations(data);
  return correlation[weekly] > correlation[daily] + clearlyStronger ? weekly : daily;
}

/**
 * Season that the calendar suggests for the time step: 12 months, a week for days, a day for shorter steps, in steps of the calendar.
 * 1 if the season is not a whole number of steps. Undefined if times are numbers, or steps are longer than a day.
 */
function calendarSeason(data: Pick<SeasonData, "gap" | "times" | "calendar">): number | undefined {
  const { gap, times, calendar } = data;
  if (times !== "month" && (times !== "date" || gap > daySeconds)) return undefined;
  // Days with different open hours have no season of a day.
  const days = calendar?.open ? calendar.equalDays : 7;
  const daily = days === undefined ? 1 : openSeconds(calendar ?? {}) / days / gap;
  const season = times === "month" ? 12 / gap : daily === 1 ? weekOf(data) ?? 1 : daily;
  return Number.isInteger(season) ? season : 1;
}

/** Steps of a week, or undefined if a week is not a whole number of steps. */
export function weekOf(
  { gap, times, calendar }: Pick<SeasonData, "gap" | "times" | "calendar">,
): number | undefined {
  const steps = times === "date" ? openSeconds(calendar ?? {}) / gap : NaN;
  return Number.isInteger(steps) ? steps : undefined;
}

/** Number of rows of the longest series. */
const longest = ({ series }: Pick<SeasonData, "series">): number =>
  Math.max(0, ...series.map(({ times }) => times.length));

/**
 * Returns a line if the training period is too short for a season: forecasts then have no season, or lack values of the
 * given one.
 *
 * @param season Season of the forecasts in steps.
 * @param isRequested Whether the season is an option of the user.
 */
export function describeShortSeason(
  data: Pick<SeasonData, "gap" | "times" | "calendar" | "series">,
  season: number,
  isRequested: boolean,
): string[] {
  const rows = longest(data);
  const inWords = (steps: number) => formatSteps(steps, data.gap, data.times);
  const actual = `the training part of the longest series has ${plural(rows, "row")}`;
  if (isRequested) {
    return season <= rows
      ? []
      : [`${actual}, fewer than a season of ${inWords(season)}: give longer series or a shorter season`];
  }
  const expected = calendarSeason(data) ?? 1;
  return season > 1 || 2 * expected <= rows || expected === 1 ? [] : [
    `no season: ${actual}, and a season of ${inWords(expected)} needs ${2 * expected}; ` +
    "seasonal-naive then repeats the last value",
  ];
}

/**
 * Mean autocorrelations over some series and channels, after subtracting a linear trend. Index k has lag k.
 * Lags are up to a third of the longest history; a history shorter than three lags has no part in their mean.
 */
function autocorrelations({ gap, series, channels, targetChannels }: SeasonData): Float64Array {
  const histories = selectEvenly(series, maxSeries).flatMap((one) => {
    const past = wholePast(one, channels, targetChannels);
    return past
      ? targetChannels.map((channel) => historyOf(past, channel, channels, { gap, context: maxSteps }))
      : [];
  }).map(withoutTrend).filter((history) => history.some((value) => value !== 0 && !Number.isNaN(value)));
  const most = Math.min(maxLag, Math.floor(Math.max(0, ...histories.map(({ length }) => length)) / 3));
  return Float64Array.from({ length: most + 1 }, (_, lag) => {
    const longEnough = histories.filter(({ length }) => length >= 3 * lag);
    return longEnough.reduce((sum, history) => sum + correlationAt(history, lag), 0) / longEnough.length;
  });
}

/** Correlation of the values with those `lag` steps later, where both are observed. 0 without such values. */
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
  const observed = Array.from(values.keys()).filter((t) => !Number.isNaN(values[t]));
  const mean = (of: (t: number) => number) => observed.reduce((sum, t) => sum + of(t), 0) / observed.length;
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
