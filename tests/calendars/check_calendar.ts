/** Checks of forecasts on tables whose steps follow a calendar. */
import { forecast } from "../../src/series/run/learn.ts";
import { forecastKinds } from "../../src/series/models/model.ts";
import { seriesModels } from "../../src/series/models/series_models.ts";
import { formatTimeAfter, inRecordedTimes } from "../../src/series/record/calendar.ts";
import { findCalendar } from "../../src/series/read/find_calendar.ts";
import { readSeries } from "../../src/series/read/read_series.ts";
import { seasonOf } from "../../src/series/read/season.ts";
import { typicalGap } from "../../src/series/read/spans.ts";
import type { CalendarCase } from "./random_calendar.ts";

/** Table and options of a case. */
function sourceOf({ rows, zone }: CalendarCase) {
  return { source: { name: "table", rows: [...rows] }, table: zone ? { zone } : {} };
}

/** Checks the times and the season of a case, without a model. Returns what is wrong, or undefined. */
export async function checkTimes(one: CalendarCase): Promise<string | undefined> {
  const { source, table } = sourceOf(one);
  const read = await readSeries(source, { ...table, targets: "channels" });
  const time = findCalendar(read, one.calendar);
  const set = inRecordedTimes(read, time);
  const count = ({ series }: typeof set) => series.reduce((sum, { times }) => sum + times.length, 0);
  if (count(set) !== count(read)) return `${count(read) - count(set)} rows left out`;
  const typical = typicalGap(set);
  const gap = set.times === "month" ? Math.round(typical) : typical;
  for (const { name, times } of set.series) {
    const found = one.next[name].map((_, h) => formatTimeAfter(times.at(-1)!, (h + 1) * gap, time));
    if (instants(found) !== instants(one.next[name])) {
      return `${name}: times ${found}, expected ${one.next[name]}`;
    }
  }
  const season = seasonOf({
    ...{
      gap,
      times: set.times,
      calendar: time.calendar,
      series: set.series,
      channels: 1,
      targetChannels: [0],
    },
  });
  if (season === 1) return undefined;
  const phases = new Set<number>();
  for (const { times, values } of set.series) {
    times.forEach((t, row) => {
      if (!Number.isNaN(values[row])) phases.add(((Math.round(t / gap) % season) + season) % season);
    });
  }
  return phases.size === season
    ? undefined
    : `a season of ${season} steps has ${season - phases.size} without a row`;
}

/** Texts of times that are comparable: dates may be written with or without seconds of 0. */
function instants(times: readonly string[]): string {
  return times.map((time) => time.endsWith("Z") ? new Date(time).toISOString() : time).join();
}

/** Models in the order of the fits. Those that are trained with gradients take turns. */
const turns = [
  ...["seasonal-naive", "linear", "exponential-smoothing", "auto"],
  ...["seasonal-naive", "linear", "autoregression", "naive", "boosted-trees"],
];

/** Models that are trained with gradients: with few steps, since they are slow. */
const kinds = forecastKinds(seriesModels);
const trained = Object.keys(kinds).filter((name) => kinds[name].takes.includes("hidden"));

/** Model of a fit, from 0: each in turn. */
export function modelOf(fit: number): string {
  const [turn, round] = [fit % (turns.length + 1), Math.floor(fit / (turns.length + 1))];
  return turns[turn] ?? trained[round % trained.length];
}

/** Checks the forecasts of a model. Returns what is wrong, or undefined. */
export async function checkForecasts(one: CalendarCase, model: string): Promise<string | undefined> {
  const { source, table } = sourceOf(one);
  const learned = await forecast(source, {
    ...{ model, horizon: one.horizon, table, device: "cpu", seed: 0 },
    ...(one.calendar ? { calendar: one.calendar } : {}),
    ...(trained.includes(model) ? { epochs: 1, hidden: 4, context: 4 } : {}),
  });
  const isExact = model === "seasonal-naive" && one.period !== undefined;
  for (const { series, times, channels } of await learned.predict(source, table)) {
    if (instants(times as string[]) !== instants(one.next[series])) {
      return `${model}, ${series}: times ${times}, expected ${one.next[series]}`;
    }
    const { mean, quantiles } = channels.x;
    const [low, high] = [quantiles["0.1"], quantiles["0.9"]];
    if (!low || !mean.every(Number.isFinite)) {
      return `${model}, ${series}: mean ${mean}, interval from ${low}`;
    }
    const narrow = low.findIndex((value, h) => !(high[h] - value > 1e-9 * Math.abs(mean[h])));
    if (!one.isConstant && narrow >= 0) return `${model}, ${series}: no width at step ${narrow + 1}`;
    const { season } = learned.record.windows!;
    if (isExact && season % one.period! === 0) {
      const wrong = one.truth[series].findIndex((value, h) =>
        Math.abs(mean[h] - value) > 1e-4 * Math.abs(value)
      );
      if (wrong >= 0) return `${model}, ${series}: mean ${mean}, expected ${one.truth[series]}`;
    }
  }
}
