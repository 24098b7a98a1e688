/** Exponential smoothing and the seasonal naive forecast as models of users' own series. */
import { layer, parameter } from "../nn/layer.ts";
import { tensor, zeros } from "../tensor/creation.ts";
import { selectEvenly } from "./select_evenly.ts";
import type { ForecastWindow } from "./forecast_windows.ts";
import { historyOf, wholePast } from "./histories.ts";
import {
  countKnown,
  forecastHistory,
  type HistoryForecast,
  relativeDeviationOf,
} from "./smoothed_forecast.ts";
import { smoothHistory, type SmoothingForm, sumOfSquares } from "./smoothing.ts";
import type { FitData, Given, HistoryModel, WindowModel, WindowModelSizes } from "./window_models.ts";

/** Parameters of a channel of a series: those of its form, and the relative standard deviation of its errors. */
interface ChannelSmoothing {
  readonly form: SmoothingForm;
  readonly relativeDeviation: number;
}

/** Number of parameters of a channel of a series. */
const size = 7;

/** Maximum numbers of forms, and of series to compare them on, to choose the form of new series. */
const [maxForms, maxCompared] = [16, 64];

/** Maximum time between two turns of the event loop while fitting, in milliseconds. */
const turnInterval = 50;

/** The last season repeats; without a season the last value. It is exponential smoothing with fixed weights. */
export function seasonalNaiveForm(season: number): SmoothingForm {
  const isSeasonal = season > 1;
  return {
    ...{ period: season, level: isSeasonal ? 0 : 1, trend: 0, season: isSeasonal ? 1 : 0, damping: 0 },
    isLog: false,
  };
}

/**
 * A model that smooths the history of each channel. Each training series has its own form and parameters. A
 * new series is forecast with the form and the parameters of the training series that fit all training series
 * best: they do not depend on the scale of the values.
 *
 * Parameters: `(series + 1, channels, 7)`, the last row for new series.
 *
 * @param chooseForm Fits the form and the parameters to the history of a channel.
 */
export function smoothingModel(
  sizes: WindowModelSizes,
  chooseForm: (history: Float64Array, season: number) => SmoothingForm,
): WindowModel {
  const { channels, continued, context, gap, horizon, season, names } = sizes;
  const rowOf = new Map(names.map((name, row) => [name, row]));
  const smoothing = parameter(zeros([names.length + 1, channels, size]));
  /** Parameters on the host. Before they are loaded, all forecasts are 0. */
  let host: ArrayLike<number> | undefined;

  /** Parameters of a channel of a series; those of new series for an unknown name. */
  const smoothingOf = (series: string, channel: number): ChannelSmoothing => {
    const at = ((rowOf.get(series) ?? names.length) * channels + channel) * size;
    const [period, level, trend, season, damping, isLog, relativeDeviation] = Array.from(
      { length: size },
      (_, i) => host![at + i],
    );
    return {
      form: { period: period || 1, level, trend, season, damping, isLog: isLog === 1 },
      relativeDeviation,
    };
  };

  let forecasts = new WeakMap<ForecastWindow, readonly HistoryForecast[]>();
  const load = async () => {
    host = await smoothing.data();
    forecasts = new WeakMap();
  };
  const forecastAll = (window: ForecastWindow): HistoryForecast[] =>
    Array.from({ length: channels }, (_, channel) => {
      if (!host || !continued.includes(channel)) {
        return { steps: new Float64Array(horizon), standardDeviations: new Float64Array(horizon) };
      }
      const { form, relativeDeviation } = smoothingOf(window.series, channel);
      return forecastHistory(
        form,
        relativeDeviation,
        historyOf(window, channel, channels, { gap, context }),
        horizon,
      );
    });
  const history: HistoryModel = {
    load,
    forecast(window) {
      const known = forecasts.get(window) ?? forecastAll(window);
      forecasts.set(window, known);
      return known;
    },
  };

  async function fit({ series }: FitData): Promise<void> {
    const fitted = new Float32Array(smoothing.size);
    const write = (row: number, channel: number, { form, relativeDeviation }: ChannelSmoothing) => {
      const { period, level, trend, season, damping, isLog } = form;
      fitted.set(
        [period, level, trend, season, damping, +isLog, relativeDeviation],
        (row * channels + channel) * size,
      );
    };
    const pasts = series.flatMap((one) => {
      const row = rowOf.get(one.name);
      const past = wholePast(one, channels, continued);
      return row === undefined || !past ? [] : [{ row, past }];
    });
    let turned = performance.now();
    for (const channel of continued) {
      const own: { row: number; y: Float64Array; smoothing: ChannelSmoothing }[] = [];
      for (const { row, past } of pasts) {
        const y = historyOf(past, channel, channels, { gap, context });
        if (countKnown(y) === 0) continue;
        const form = chooseForm(y, season);
        own.push({ row, y, smoothing: { form, relativeDeviation: relativeDeviationOf(form, y) } });
        if (performance.now() - turned > turnInterval) {
          await new Promise((resolve) => setTimeout(resolve));
          turned = performance.now();
        }
      }
      const common = commonOf(own) ??
        { form: { ...seasonalNaiveForm(1), isLog: false }, relativeDeviation: 1 };
      for (let row = 0; row <= names.length; row++) write(row, channel, common);
      for (const { row, smoothing } of own) write(row, channel, smoothing);
    }
    smoothing.assign(tensor(fitted, { shape: smoothing.shape }));
    await load();
  }

  return Object.assign(layer({ smoothing }, ({ steps }: Given) => steps!), { fit, history });
}

/** Parameters of the series that fit all series best, by the mean logarithm of their errors. */
function commonOf(
  fitted: readonly { readonly y: Float64Array; readonly smoothing: ChannelSmoothing }[],
): ChannelSmoothing | undefined {
  const compared = selectEvenly(fitted, maxCompared);
  const costOf = ({ form }: ChannelSmoothing) =>
    compared.reduce((sum, { y }) => {
      const isLog = form.isLog && !y.some((value) => value <= 0);
      const values = isLog ? y.map(Math.log) : y;
      const jacobian = isLog ? values.reduce((sum, value) => sum + (value || 0), 0) / countKnown(y) : 0;
      const { errors } = smoothHistory(form, values);
      return sum + Math.log(Math.max(sumOfSquares(errors) / countKnown(y), 1e-300)) / 2 + jacobian;
    }, 0);
  if (fitted.length <= 1) return fitted[0]?.smoothing;
  const costs = selectEvenly(fitted, maxForms).map(({ smoothing }) => ({
    smoothing,
    cost: costOf(smoothing),
  }));
  return costs.reduce((best, one) => one.cost < best.cost ? one : best).smoothing;
}
