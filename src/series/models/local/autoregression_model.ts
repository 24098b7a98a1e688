/** Autoregression as a model of users' own series. */
import {
  type Autoregression,
  forecastAutoregression,
  runAutoregression,
  scaledHistory,
} from "./autoregression.ts";
import { autoregressionOrder, fitAutoregression } from "./fit_autoregression.ts";
import { type HistoryMethod, historyModel } from "./history_model.ts";
import type { WindowModel, WindowModelSizes } from "../forecaster.ts";
import { log } from "../../math/elementary.ts";

/** A model that forecasts the history of each channel by an autoregression. */
export function autoregressionModel(sizes: WindowModelSizes): WindowModel {
  const { season } = sizes;
  const order = autoregressionOrder(season);
  const method: HistoryMethod<Autoregression> = {
    size: 3 + order,
    initial: { coefficients: new Float64Array(order), constant: 0, isLog: false, relativeDeviation: 1 },
    fit: (y) => fitAutoregression(y, season),
    encode: (
      { isLog, relativeDeviation, constant, coefficients },
    ) => [+isLog, relativeDeviation, constant, ...coefficients],
    decode: ([isLog, relativeDeviation, constant, ...coefficients]) => ({
      ...{ relativeDeviation, constant, isLog: isLog === 1 },
      coefficients: Float64Array.from(coefficients),
    }),
    forecast: forecastAutoregression,
    cost(form, y) {
      const isLog = form.isLog && !y.some((value) => value <= 0);
      const { values, mean, unit } = scaledHistory(y, isLog);
      const { squares, count } = runAutoregression(form, values, 0);
      // In the unit of the values: d(log y) / dy = 1 / y, and the mean is that of the logarithms.
      const jacobian = log(unit) + (isLog ? mean : 0);
      return count === 0 ? 0 : log(Math.max(squares / count, 1e-300)) / 2 + jacobian;
    },
  };
  return historyModel(sizes, method);
}
