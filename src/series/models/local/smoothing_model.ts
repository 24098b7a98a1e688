/** Exponential smoothing and the seasonal naive forecast as models of users' own series. */
import { fitSmoothing } from "./fit_smoothing.ts";
import { type HistoryMethod, historyModel } from "./history_model.ts";
import { countObserved, forecastHistory, relativeDeviationOf } from "./smoothed_forecast.ts";
import { smoothHistory, type SmoothingForm, sumOfSquares } from "./smoothing.ts";
import type { WindowModel, WindowModelSizes } from "../forecaster.ts";
import { log } from "../../math/elementary.ts";

/** Parameters of a channel of a series: those of its form, and the relative standard deviation of its errors. */
interface ChannelSmoothing {
  readonly form: SmoothingForm;
  readonly relativeDeviation: number;
}

/** The last season repeats; without a season the last value. It is exponential smoothing with fixed weights. */
export function seasonalNaiveForm(season: number): SmoothingForm {
  const isSeasonal = season > 1;
  return {
    ...{ period: season, level: isSeasonal ? 0 : 1, trend: 0, season: isSeasonal ? 1 : 0, damping: 0 },
    isLog: false,
  };
}

/**
 * A model that smooths the history of each channel.
 *
 * @param chooseForm Fits the form and the parameters to the history of a channel.
 */
function smoothingModel(
  sizes: WindowModelSizes,
  chooseForm: (history: Float64Array, season: number) => SmoothingForm,
): WindowModel {
  const method: HistoryMethod<ChannelSmoothing> = {
    size: 7,
    initial: { form: seasonalNaiveForm(1), relativeDeviation: 1 },
    fit(y) {
      const form = chooseForm(y, sizes.season);
      return { form, relativeDeviation: relativeDeviationOf(form, y) };
    },
    encode({ form: { period, level, trend, season, damping, isLog }, relativeDeviation }) {
      return [period, level, trend, season, damping, +isLog, relativeDeviation];
    },
    decode([period, level, trend, season, damping, isLog, relativeDeviation]) {
      return {
        form: { period: period || 1, level, trend, season, damping, isLog: isLog === 1 },
        relativeDeviation,
      };
    },
    forecast: ({ form, relativeDeviation }, y, horizon) =>
      forecastHistory(form, relativeDeviation, y, horizon),
    cost({ form }, y) {
      const isLog = form.isLog && !y.some((value) => value <= 0);
      const values = isLog ? y.map(log) : y;
      const jacobian = isLog ? values.reduce((sum, value) => sum + (value || 0), 0) / countObserved(y) : 0;
      const { errors } = smoothHistory(form, values);
      return log(Math.max(sumOfSquares(errors) / countObserved(y), 1e-300)) / 2 + jacobian;
    },
  };
  return historyModel(sizes, method);
}

/** The last value. */
export const naiveModel = (sizes: WindowModelSizes): WindowModel =>
  smoothingModel(sizes, () => seasonalNaiveForm(1));

/** The value of one season before; without a season the last value. */
export const seasonalNaiveModel = (sizes: WindowModelSizes): WindowModel =>
  smoothingModel(sizes, (_, season) => seasonalNaiveForm(season));

/** Exponential smoothing, with the form and the parameters that fit the history of each channel. */
export const exponentialSmoothingModel = (sizes: WindowModelSizes): WindowModel =>
  smoothingModel(sizes, fitSmoothing);
