import type { Chart } from "../../charts/chart.ts";
import { forecastPanel } from "../../charts/forecast.ts";
import type { Section } from "../../charts/section.ts";
import { isUnnamed } from "../../data/series.ts";
import { type DataRecord, takeColumns } from "../record/data_record.ts";
import {
  type ForecastWindow,
  gridValue,
  targetChannelsOf,
  type WindowForecast,
} from "../read/forecast_windows.ts";
import { levels } from "./error_quantiles.ts";
import { forecastVerdict, lastValue, pastMean, seasonBefore } from "./forecast_verdict.ts";
import { besideValidation, type MeasuredMean } from "./validated.ts";
import { describeRecordedTime, instantOfTime } from "../record/calendar.ts";
import { coverage, quantileCrps } from "./metrics/forecasts.ts";
import { describeWarnings, rangeWarnings } from "./range_warnings.ts";
import { forecastColumns } from "./window_forecaster.ts";
import { numberMeasures } from "./metrics/numbers.ts";
import { selectEvenly } from "../math/select_evenly.ts";
import { channelImportance, withChannel } from "./importance.ts";
import type { ForecastPrediction } from "../record/predictions.ts";
import { importanceSection } from "./report_sections.ts";
import { timeAxis } from "./time_axis.ts";
import type { Evaluation } from "../../train/task.ts";

/** Options of {@linkcode evaluateForecasts}. */
interface ForecastsToEvaluate {
  /** Windows with their past and the values that follow. */
  windows: readonly ForecastWindow[];
  record: DataRecord;
  forecast(windows: readonly ForecastWindow[]): Promise<WindowForecast[]>;
  /** Name of the model, for the verdict. */
  model?: string;
}

/**
 * Errors of a model and of the seasonal naive forecast in a horizon (the naive forecast without a season): absolute errors divided by that of the seasonal naive forecast in
 * training. The horizons of a series do not overlap; a window is in that of its origin.
 */
export type HorizonErrors = readonly [errors: readonly number[], baseline: readonly number[]];

/** Maximum number of channels whose errors are also measured in their units. */
const mostMeasured = 6;
/** Number of windows per batch. */
const batchSize = 64;
/** Number of windows in a report. */
const shown = 4;

/** Forecasts of the baselines, at times in steps after the forecast origin. */
function baselinesOf(
  { channels, windows }: DataRecord,
): Record<string, (window: ForecastWindow, channel: number, at: number) => number> {
  const { context, season } = windows!;
  const value = (window: ForecastWindow, channel: number, step: number) =>
    gridValue(window, step, channel, channels);
  return {
    [pastMean]: (window, channel) => {
      let sum = 0;
      for (let step = 0; step < context; step++) sum += value(window, channel, step);
      return sum / context;
    },
    [lastValue]: (window, channel) => value(window, channel, context - 1),
    ...(season > 1 && season <= context
      ? {
        [seasonBefore]: (window: ForecastWindow, channel: number, at: number) =>
          value(window, channel, context - season + (Math.max(1, Math.round(at)) - 1) % season),
      }
      : {}),
  };
}

/**
 * Compares forecasts with the observed values, and with the baselines: the mean of the past, the last value and the season before.
 * Errors are divided by the standard deviation of each channel in the training set, so that all channels have
 * the same weight. MASE (Hyndman and Koehler, 2006) divides the errors of each series by its mean absolute
 * difference of values one season apart. The mean absolute error of few channels is also given in their units.
 */
export async function evaluateForecasts(options: ForecastsToEvaluate): Promise<Evaluation> {
  const { windows, record, model } = options;
  const { channels } = record;
  const checked: Pick<ForecastPrediction, "warnings">[] = [];
  const { measures, baselines, validated } = await measuresOf(options, ({ series, past }, forecast) => {
    checked.push({
      warnings: rangeWarnings(record, { ...past, name: series }, forecastColumns(record, forecast)),
    });
  });
  const importanceOf = () =>
    channelImportance(
      windows,
      channels.map(({ name }) => name),
      measures.mse,
      (one, other, channel) => {
        const exchanged = (values: Float64Array, others: Float64Array) =>
          withChannel(values, others, channel, channels.length);
        return {
          ...one,
          grid: exchanged(one.grid, other.grid),
          past: { ...one.past, values: exchanged(one.past.values, other.past.values) },
          // The exchanged channel also has later values if it is known ahead of time. Otherwise the later
          // values are the truth.
          ...(channels[channel].role === "known" ? { targets: exchanged(one.targets, other.targets) } : {}),
        };
      },
      async (changed) => (await measuresOf({ ...options, windows: changed })).measures.mse,
    );
  const verdict = forecastVerdict(measures, baselines, model);
  const beside = besideValidation(record.training?.validated, validated);
  return {
    measures,
    baselines,
    verdict: verdict && `${verdict}${beside.text}`,
    verdictMeasure: "mase",
    warnings: [...beside.warnings, ...describeWarnings(checked)],
    sections: async () => [
      ...importanceSection("scaled squared error", await importanceOf(), "window"),
    ],
  };
}

/** Mean absolute error of the seasonal naive forecast in training: of the series, or of all for a new series. */
function seasonalErrorsOf({ split, windows }: DataRecord): (series: string, channel: number) => number {
  const { seasonalErrors, errorsOfSeries } = windows!;
  const errorsByName = new Map(errorsOfSeries?.map((errors, i) => [split.train[i].name, errors]));
  return (series, channel) => errorsByName.get(series)?.[channel] ?? seasonalErrors[channel];
}

/** Errors of forecasts, with their measures. */
export async function forecastErrors(
  options: ForecastsToEvaluate,
): Promise<Pick<Evaluation, "measures"> & { horizons: HorizonErrors[]; validated: MeasuredMean }> {
  const byHorizon = new Map<string, [number[], number[]]>();
  const { measures, validated } = await measuresOf(options, undefined, (horizon, error, baselineError) => {
    const [errors, baseline] = byHorizon.get(horizon) ?? [[], []];
    byHorizon.set(horizon, [errors, baseline]);
    errors.push(error);
    baseline.push(baselineError);
  });
  return { horizons: [...byHorizon.values()], measures, validated };
}

/** Name of the horizon of each window. */
function horizonsOf({ windows, record }: Pick<ForecastsToEvaluate, "windows" | "record">): string[] {
  const { gap, horizon } = record.windows!;
  const first = new Map<string, number>();
  return windows.map(({ series, origin }) => {
    const start = first.get(series) ?? origin;
    first.set(series, start);
    return JSON.stringify([series, Math.floor((origin - start) / (gap * horizon))]);
  });
}

/**
 * Measures of the forecasts and of the baselines.
 *
 * @param onForecast Called with each window and its forecast.
 * @param onError Called with each scaled error of the forecasts, with that of the last baseline.
 */
async function measuresOf(
  { windows, record, forecast }: ForecastsToEvaluate,
  onForecast?: (window: ForecastWindow, forecast: WindowForecast) => void,
  onError?: (horizon: string, error: number, baselineError: number) => void,
): Promise<Pick<Evaluation, "measures" | "baselines"> & { validated: MeasuredMean }> {
  const { channels } = record;
  const baselines = baselinesOf(record);
  const seasonalErrorOf = seasonalErrorsOf(record);
  const names = ["", ...Object.keys(baselines)];
  const sums = new Map(names.map((name) => [name, new WeightedMeans()]));
  /** Mean of the squares of the scaled errors. */
  const squares = new WeightedMeans();
  const targetChannels = targetChannelsOf(channels);
  const horizons = horizonsOf({ windows, record });
  for (let start = 0; start < windows.length; start += batchSize) {
    const part = windows.slice(start, start + batchSize);
    const forecasts = await forecast(part);
    if (onForecast) part.forEach((window, i) => onForecast(window, forecasts[i]));
    for (const channel of targetChannels) {
      const { mean, standardDeviation } = channels[channel];
      const scaled = (value: number) => (value - mean) / standardDeviation;
      const all = (of: (i: number) => ArrayLike<number>) => part.flatMap((_, i) => Array.from(of(i), scaled));
      const truth = all((i) => takeColumns(part[i].targets, channels.length, [channel]));
      const count = truth.filter((value) => !Number.isNaN(value)).length;
      if (count === 0) continue;
      const units = part.flatMap(({ series, at }) =>
        new Array<number>(at.length).fill(seasonalErrorOf(series, channel))
      );
      const errorsOf = (predicted: ArrayLike<number>) =>
        truth.flatMap((value, i) => Number.isNaN(value) ? [] : [Math.abs(value - predicted[i]) / units[i]]);
      const measure = (predicted: ArrayLike<number>, errors = errorsOf(predicted)) => {
        const { mse, mae } = numberMeasures(predicted, truth);
        const inUnits = targetChannels.length > mostMeasured
          ? {}
          : { [`${channels[channel].name} mae`]: mae * standardDeviation };
        return { mse, mae, mase: errors.reduce((sum, error) => sum + error, 0) / count, ...inUnits };
      };
      const predicted = all((i) => forecasts[i][channel].mean);
      const errors = errorsOf(predicted);
      squares.add(count, { mase: errors.reduce((sum, error) => sum + error ** 2, 0) / count });
      const quantiles = forecasts[0][channel].quantiles.map((_, k) =>
        [levels[k], all((i) => forecasts[i][channel].quantiles[k])] as const
      );
      sums.get("")!.add(count, {
        ...measure(predicted, errors),
        ...(quantiles.length > 0
          ? {
            crps: quantileCrps(quantiles, truth),
            coverage: coverage(quantiles[0][1], quantiles.at(-1)![1], truth),
          }
          : {}),
      });
      for (const [index, [name, of]] of Object.entries(baselines).entries()) {
        const predicted = all((i) => Array.from(part[i].at, (at) => of(part[i], channel, at)));
        const baselineErrors = errorsOf(predicted);
        if (index === names.length - 2 && onError) {
          const observedHorizons = part.flatMap(({ at }, i) => Array.from(at, () => horizons[start + i]))
            .filter((_, i) => !Number.isNaN(truth[i]));
          errors.forEach((error, i) => onError(observedHorizons[i], error, baselineErrors[i]));
        }
        const measures = measure(predicted, baselineErrors);
        // For a forecast without quantiles, the CRPS is the mean absolute error.
        sums.get(name)!.add(count, { ...measures, crps: measures.mae });
      }
    }
  }
  const { "": measures, ...others } = Object.fromEntries(names.map((name) => [name, sums.get(name)!.means]));
  const variance = Math.max(0, squares.means.mase - measures.mase ** 2);
  const standardError = Math.sqrt(variance / Math.max(1, new Set(horizons).size));
  return { measures, baselines: others, validated: { measure: "mase", value: measures.mase, standardError } };
}

/** Number of horizons of the past in a chart. With more, the forecast would be hard to see. */
const shownHorizons = 4;

/**
 * Section of some windows: forecasts, observed values, and the baseline of the season before or the last
 * value.
 */
export async function forecastExamples(
  { windows, record, forecast }: ForecastsToEvaluate,
): Promise<Section> {
  const { channels, windows: sizes, time } = record;
  const { context, gap, horizon } = sizes!;
  const chosen = selectEvenly(windows, shown);
  const forecasts = await forecast(chosen);
  const [name, of] = Object.entries(baselinesOf(record)).at(-1)!;
  const from = Math.max(0, context - shownHorizons * horizon);
  const charts = chosen.map((window, i): Chart => {
    const timeOf = (step: number) => instantOfTime(window.origin + gap * step, time);
    const past = Array.from({ length: context - from }, (_, step) => timeOf(from + step - context + 1));
    const futureTimes = Array.from(window.at, timeOf);
    const { origin } = window;
    return {
      title: `${window.series} after ${describeRecordedTime(origin, time)}`,
      panels: targetChannelsOf(channels).map((channel) => {
        const { mean, quantiles } = forecasts[i][channel];
        const column = (rows: Float64Array) => Array.from(takeColumns(rows, channels.length, [channel]));
        return forecastPanel(timeAxis(time.kind), {
          name: isUnnamed([channels[channel].name], record.columns) ? window.series : channels[channel].name,
          observed: {
            x: [...past, ...futureTimes],
            y: [...column(window.grid).slice(from), ...column(window.targets)],
          },
          predicted: { x: futureTimes, y: mean },
          // An interrupted run has no calibration yet.
          ...(quantiles.length > 0
            ? { interval: { name: "80 % interval", low: quantiles[0], high: quantiles.at(-1)! } }
            : {}),
          baseline: { name, x: futureTimes, y: Array.from(window.at, (at) => of(window, channel, at)) },
        }, [past[0], timeOf(0)]);
      }),
    };
  });
  return {
    ...{ kind: "charts", title: "Forecasts of the test set", charts },
    ...(from > 0 ? { text: "The model reads more of the past than is shown." } : {}),
  };
}

/** Averages measures over parts of different sizes. A part may lack a measure. */
class WeightedMeans {
  readonly #sums: Record<string, { count: number; sum: number }> = {};

  add(count: number, measures: Readonly<Record<string, number>>): void {
    for (const [name, value] of Object.entries(measures)) {
      const total = this.#sums[name] ??= { count: 0, sum: 0 };
      total.count += count;
      total.sum += count * value;
    }
  }

  get means(): Record<string, number> {
    return Object.fromEntries(
      Object.entries(this.#sums).map(([name, { count, sum }]) => [name, sum / count]),
    );
  }
}
