/** Features of the steps after the forecast origin of a window, for models of trees. */
import { monthDateOf, secondsOfMonths } from "../../../data/months.ts";
import { daySeconds, localOfTime, weekdayOf } from "../../record/calendar.ts";
import { type ForecastWindow, futureRows } from "../../read/forecast_windows.ts";
import { weekOf } from "../../read/season.ts";
import type { WindowModelSizes } from "../forecaster.ts";
import { scalesOf } from "../window_batches.ts";

/** Sizes of windows, and the form of their data. */
export type FeatureSizes = Pick<
  WindowModelSizes,
  "statistics" | "targetChannels" | "gap" | "season" | "names" | "context" | "horizon" | "time"
>;

/** The past of a channel. Features do not depend on later values of the channels to forecast. */
export interface ChannelPast {
  readonly window: ForecastWindow;
  /** Position of the channel. */
  readonly channel: number;
  /** Mean and standard deviation of the grid of the window. */
  readonly mean: number;
  readonly standardDeviation: number;
  /** Values on the grid with mean 0 and standard deviation 1; NaN before the first observation. Shape (context). */
  readonly values: Float64Array;
  /** Pasts of all channels to forecast. */
  readonly all: readonly ChannelPast[];
  /** Row of the window's targets whose known columns hold at each of the steps 1, 2, ...; -1 without a row. */
  readonly rows: Int32Array;
}

/** A feature of a channel; NaN is unknown. */
export type ForecastFeature =
  & { readonly name: string }
  & (
    /** A feature of the past is equal at all steps. */
    | { ofPast(past: ChannelPast): number }
    /** A feature of a step after the forecast origin, from 1. */
    | { ofStep(past: ChannelPast, step: number): number }
  );

/** Numbers of recent values, and of earlier periods, that are features. */
const [recentValues, earlierPeriods] = [4, 3];
/** Maximum number of channels that are features of each other. */
const maxOthers = 16;

/** Pasts of the channels to forecast. */
export function channelPasts(
  window: ForecastWindow,
  { statistics, targetChannels, context, horizon }: FeatureSizes,
): ChannelPast[] {
  const width = statistics.length;
  const scales = scalesOf(window.grid, statistics);
  const rows = futureRows(window, horizon);
  const all: ChannelPast[] = [];
  for (const channel of targetChannels) {
    const { mean, standardDeviation } = scales[channel];
    const values = Float64Array.from(
      { length: context },
      (_, step) =>
        step < context - window.observed
          ? NaN
          : (window.grid[step * width + channel] - mean) / standardDeviation,
    );
    all.push({ window, channel, mean, standardDeviation, values, all, rows });
  }
  return all;
}

/** Grid step of the latest value that is whole periods before a step after the forecast origin, from 1. May be negative. */
function periodStep(step: number, period: number, context: number): number {
  return context - 1 + step - period * Math.ceil(step / period);
}

/** The value one season before a step after the forecast origin, or the last value; 0, the mean, without a value. */
export function naiveValue({ values }: ChannelPast, step: number, season: number): number {
  const context = values.length;
  const seasonal = season > 1 ? values[periodStep(step, season, context)] : NaN;
  return [seasonal, values[context - 1]].find((value) => value !== undefined && !Number.isNaN(value)) ?? 0;
}

/** The features of a table. */
export function forecastFeatures(sizes: FeatureSizes): ForecastFeature[] {
  return [
    { name: "step", ofStep: (_, step) => step },
    ...pastFeatures(sizes),
    ...periodsOf(sizes).flatMap((period) => periodFeatures(period, sizes.context)),
    ...calendarFeatures(sizes),
    ...columnFeatures(sizes),
    ...seriesFeatures(sizes),
    ...changeFeatures(sizes),
  ];
}

/** Recent values, and means and standard deviations of windows that end at the forecast origin. */
function pastFeatures({ context, season }: FeatureSizes): ForecastFeature[] {
  const lengths = new Set([context / 8, context / 4, context / 2, season].map(Math.ceil));
  return [
    ...Array.from({ length: Math.min(recentValues, context) }, (_, lag) => ({
      name: `value ${lag} steps before the origin`,
      ofPast: ({ values }: ChannelPast) => values[context - 1 - lag],
    })),
    ...[...lengths].filter((length) => length > 1 && length < context).flatMap((length) => [
      { name: `mean of ${length} steps`, ofPast: (past: ChannelPast) => momentsOf(past, length).mean },
      {
        name: `standard deviation of ${length} steps`,
        ofPast: (past: ChannelPast) => momentsOf(past, length).standardDeviation,
      },
    ]),
    { name: "mean", ofPast: ({ mean }) => mean },
    { name: "standard deviation", ofPast: ({ standardDeviation }) => standardDeviation },
  ];
}

/** Mean and standard deviation of the known values among the last ones. */
function momentsOf({ values }: ChannelPast, length: number): { mean: number; standardDeviation: number } {
  const observed = values.subarray(values.length - length).filter((value) => !Number.isNaN(value));
  const mean = observed.reduce((sum, value) => sum + value, 0) / observed.length;
  const squares = observed.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return { mean, standardDeviation: Math.sqrt(squares / observed.length) };
}

/** The season, and the day for a season of a week, in steps. */
function periodsOf({ season, gap, time, context }: FeatureSizes): number[] {
  const { calendar } = time;
  const isWeek = season === weekOf({ gap, times: time.kind, calendar });
  return [season, ...isWeek ? [season / (calendar?.equalDays ?? 7)] : []]
    .filter((period) => period > 1 && period <= context && Number.isInteger(period));
}

/** Values whole periods before a step, and their mean. */
function periodFeatures(period: number, context: number): ForecastFeature[] {
  const count = Math.min(earlierPeriods, Math.floor(context / period));
  return [
    ...Array.from({ length: count }, (_, earlier) => ({
      name: `value ${earlier + 1} periods of ${period} steps before`,
      ofStep: ({ values }: ChannelPast, step: number) =>
        values[periodStep(step, period, context) - earlier * period] ?? NaN,
    })),
    {
      name: `mean of values whole periods of ${period} steps before`,
      ofStep({ values }, step) {
        let [sum, terms] = [0, 0];
        for (let at = periodStep(step, period, context); at >= 0 && !Number.isNaN(values[at]); at -= period) {
          sum += values[at];
          terms++;
        }
        return sum / terms;
      },
    },
  ];
}

/** Parts of the date of a step. */
function calendarFeatures({ time, gap }: FeatureSizes): ForecastFeature[] {
  if (time.kind === "number") return [];
  const part = (name: string, of: (local: number) => number): ForecastFeature => ({
    name,
    ofStep({ window }, step) {
      const at = window.origin + step * gap;
      return of(time.kind === "month" ? secondsOfMonths(at) : localOfTime(at, time));
    },
  });
  const month = part("month", (local) => 1 + monthDateOf(local).month % 12);
  if (time.kind === "month") return [month];
  return [
    ...(gap < daySeconds ? [part("time of the day", (local) => weekdayOf(local).time)] : []),
    ...(gap <= daySeconds ? [part("weekday", (local) => weekdayOf(local).weekday)] : []),
    part("day of the month", (local) => monthDateOf(local).day),
    month,
    part("day of the year", dayOfYear),
  ];
}

/** Day of the year of local time, from 1. */
function dayOfYear(local: number): number {
  const date = new Date(1000 * local);
  return 1 + Math.floor((date.getTime() - Date.UTC(date.getUTCFullYear(), 0)) / (1000 * daySeconds));
}

/** Columns that are known ahead of time, at a step and one season before, and the last values of other columns. */
function columnFeatures({ statistics, context, season }: FeatureSizes): ForecastFeature[] {
  const width = statistics.length;
  const hasSeason = season > 1 && season <= context;
  return statistics.flatMap(({ name, role }, channel): ForecastFeature[] => {
    if (role === "static" || role === "covariate") {
      return [{ name, ofPast: ({ window }) => window.grid[(context - 1) * width + channel] }];
    }
    if (role !== "known") return [];
    const before: ForecastFeature = {
      name: `${name} a season before`,
      ofStep: ({ window }, step) => window.grid[periodStep(step, season, context) * width + channel],
    };
    return [
      {
        name,
        ofStep: ({ window, rows }, step) => window.targets[rows[step - 1] * width + channel] ?? NaN,
      },
      ...(hasSeason ? [before] : []),
    ];
  });
}

/**
 * Changes of columns that are known ahead of time, since the step whose value the naive forecast repeats. The trees learn
 * the change of the channel since that step. A level of a column outside those of training says little about the change.
 */
function changeFeatures({ statistics, context, season }: FeatureSizes): ForecastFeature[] {
  const width = statistics.length;
  const period = season <= context ? season : 1;
  return statistics.flatMap(({ name, role }, channel): ForecastFeature[] => {
    if (role !== "known") return [];
    return [{
      name: `change of ${name}`,
      ofStep: ({ window, rows }, step) =>
        (window.targets[rows[step - 1] * width + channel] ?? NaN) -
        window.grid[periodStep(step, period, context) * width + channel],
    }];
  });
}

/** The series and the channel as categories, and the last values of all channels. */
function seriesFeatures({ names, statistics, targetChannels }: FeatureSizes): ForecastFeature[] {
  const indexOfName = new Map(names.map((name, index) => [name, index]));
  const hasOthers = targetChannels.length > 1 && targetChannels.length <= maxOthers;
  return [
    ...(names.length > 1
      ? [{ name: "series", ofPast: ({ window }: ChannelPast) => indexOfName.get(window.series) ?? NaN }]
      : []),
    ...(targetChannels.length > 1
      ? [{ name: "channel", ofPast: ({ channel }: ChannelPast) => channel }]
      : []),
    ...(hasOthers
      ? targetChannels.map((channel, index) => ({
        name: `last value of ${statistics[channel].name}`,
        ofPast: ({ all }: ChannelPast) => all[index].values.at(-1)!,
      }))
      : []),
  ];
}
