/** Trains models that predict numbers of series. */
import type { Series, Splits } from "../../data/series.ts";
import type { Samples, Task } from "../../train/task.ts";
import { dataOf, type SeriesNetworkOptions } from "../models/series_network.ts";
import { closedForm, gradientTraining } from "./learning.ts";
import { maskedCounts } from "./metrics/masked_errors.ts";
import { type NumbersBatch, regressor } from "./regressor.ts";
import type { SeriesTask } from "./score.ts";

/** Options of {@linkcode regression}. */
interface RegressionOptions extends SeriesNetworkOptions {
  /** Series of the record, unscaled. */
  splits: Splits<readonly Series[]>;
}

/** Makes the task of training a {@linkcode regressor}. */
export function regression(
  options: RegressionOptions,
): Task<NumbersBatch, Samples<NumbersBatch>> & SeriesTask {
  const { record, splits, settings } = options;
  const { parameters, evaluate, toSamples, numbers, linearNumbers, onLoad, fit, ...model } = regressor({
    ...options,
    train: splits.train,
  });
  return {
    record,
    parameters,
    ...(fit
      ? closedForm(fit, splits)
      : gradientTraining({ parameters, settings, record, samples: splits.train.length })),
    data: dataOf(splits, toSamples),
    onLoad,
    evaluate,
    weights: maskedCounts,
    metric: { name: "loss", mode: "min" },
    predictValidation: () => numbers(splits.validation),
    predictLinear: linearNumbers && (() => splits.validation.map(linearNumbers)),
    calibrate: () => model.calibrate(splits.train),
    useCalibration: model.useCalibration,
    evaluatePredictions: () => model.evaluatePredictions(splits.test),
  };
}
