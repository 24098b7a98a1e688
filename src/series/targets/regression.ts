import type { Series, Splits } from "../../data/series.ts";
import { tensor } from "../../tensor/creation.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import type { NumberPrediction } from "../record/predictions.ts";
import type { Calibration, Measures, Samples, Task } from "../../train/task.ts";
import { type CheckedSeries, rangeWarnings, withWarnings } from "./learned_ranges.ts";
import { networkStreams } from "./prediction_stream.ts";
import { meanOutput } from "../models/ensemble.ts";
import { fitLastValues, type LastValueWeights, readLastValues } from "../models/fitted/baselines.ts";
import { closedForm, gradientTraining } from "./learning.ts";
import type { SeriesTask } from "./score.ts";
import {
  dataOf,
  groupsOfOneLength,
  samplesOf,
  type SeriesInputs,
  seriesNetwork,
  type SeriesNetworkOptions,
  type SeriesPredictor,
} from "../models/series_network.ts";

/** Series with their numeric targets. */
type NumbersBatch = SeriesInputs & {
  /** Targets of the record, scaled; NaN is unknown. Shape (batch, targets). */
  readonly targets: Tensor;
};

/** A model that predicts the numeric targets of its record. */
export interface Regressor extends SeriesPredictor<NumbersBatch, NumberPrediction> {
  /** Predicted targets of each series, in the units of the data. */
  numbers(series: readonly Series[]): Promise<number[][]>;
  /** Numbers of the linear model, if the network adds to such a model. */
  linearNumbers?(series: Series): number[];
  /** Fits the baseline of evaluations, a linear model on the last values, to training series. */
  calibrate(train: readonly Series[]): Promise<Calibration>;
}

/** Makes a model whose outputs are the targets of the record. */
export function regressor(options: SeriesNetworkOptions): Regressor {
  const { targets = [] } = options.record;
  const network = seriesNetwork(options, targets.length);
  const unscaled = (outputs: ArrayLike<number>) =>
    targets.map(({ mean, standardDeviation }, k) => outputs[k] * standardDeviation + mean);
  const predictionOf = (series: CheckedSeries, outputs: ArrayLike<number>): NumberPrediction => {
    const numbers = unscaled(outputs);
    const predicted = targets.map(({ name: column }, k) => ({
      ...{ column, values: [numbers[k]] },
      range: options.record.ranges?.targets?.[k] ?? null,
    }));
    return withWarnings<NumberPrediction>({
      series: series.name,
      numbers: Object.fromEntries(targets.map(({ name }, k) => [name, numbers[k]])),
    }, rangeWarnings(options.record, series, predicted));
  };
  const predict: Regressor["predict"] = async (series) => {
    const rows = await network.read(series);
    return series.map((one, i) => predictionOf(one, rows[i]));
  };
  /** Scaled targets; NaN is unknown. Shape (series, targets). */
  const targetsOf = (series: readonly Series[]) =>
    series.flatMap((one) =>
      targets.map(({ mean, standardDeviation }, i) => ((one.targets?.[i] ?? NaN) - mean) / standardDeviation)
    );
  const toBatch = (series: readonly Series[]): NumbersBatch => ({
    ...network.inputs(series),
    targets: tensor(targetsOf(series), { shape: [series.length, targets.length] }),
  });
  const toSamples = (series: readonly Series[]) => samplesOf(series, toBatch, network);
  const { channels } = options.record;
  /** Absent in runs of earlier versions. */
  let linear: LastValueWeights | undefined;
  return {
    parameters: network.parameters,
    toBatch,
    toSamples,
    toGroups: (series) => groupsOfOneLength(series, network.lengthOf).map(toSamples),
    evaluate(batch, key) {
      const members = network.memberOutputs(batch, key);
      const errors = knownErrors(meanOutput(members), batch.targets);
      if (!key || members.length === 1) return errors;
      // In training each member learns by itself.
      return {
        ...errors,
        loss: meanOutput(members.map((output) => knownErrors(output, batch.targets).loss)),
      };
    },
    weights: knownCounts,
    predict,
    numbers: async (series) => (await network.read(series)).map(unscaled),
    linearNumbers: network.linearOf && ((one) => unscaled(network.linearOf!(one))),
    stream: networkStreams(network, options.record, predictionOf),
    onLoad: network.onLoad,
    fit: network.fit && (async (series) => {
      await network.fit!(series, Float64Array.from(targetsOf(series)));
    }),
    calibrate(train) {
      linear = fitLastValues(train, channels, targetsOf(train));
      return Promise.resolve({ lastValues: linear });
    },
    useCalibration: (stored) => linear = requireLastValues(stored, targets.length, channels.length),
    async evaluatePredictions(series) {
      const { evaluateNumbers } = await import("./evaluate_numbers.ts");
      return await evaluateNumbers({
        series,
        targets,
        predict,
        channels: channels.map(({ name }) => name),
        times: options.record.time.kind,
        linear: linear && ((one) => unscaled(readLastValues(linear!, one, channels))),
        validated: options.record.training?.validated,
        model: options.settings.model,
      });
    },
  };
}

/** @throws {Error} If the stored value is not a linear model of this number of channels. */
function requireLastValues(stored: Calibration, targets: number, channels: number): LastValueWeights {
  const { lastValues } = stored as { lastValues?: LastValueWeights };
  const isRight = Array.isArray(lastValues) && lastValues.length === targets &&
    lastValues.every((row) =>
      Array.isArray(row) && row.length === 1 + channels && row.every(Number.isFinite)
    );
  if (isRight) return lastValues;
  throw new Error(
    `damaged calibration in the weights: expected ${targets} times ${
      1 + channels
    } numbers of a linear model; ` +
      "restore the file, or train again",
  );
}

/** Mean squared and mean absolute error over the known targets. NaN is unknown. */
export function knownErrors(predicted: Tensor, truth: Tensor): Measures & { mae: Tensor } {
  const isUnknown = truth.isNaN();
  const error = isUnknown.where(0, predicted.sub(isUnknown.where(0, truth)));
  const count = isUnknown.not().cast(error.dtype).sum().maximum(1);
  return { loss: error.square().sum().div(count), mae: error.abs().sum().div(count) };
}

/**
 * Mean number of known targets per sample, the weight of both errors. It is not the fraction of known
 * targets: batches may be padded to different numbers of targets.
 */
export function knownCounts({ targets }: { readonly targets: Tensor }): { loss: Tensor; mae: Tensor } {
  const count = targets.isNaN().not().cast("float32").sum().div(targets.shape[0]);
  return { loss: count, mae: count };
}

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
    weights: knownCounts,
    metric: { name: "loss", mode: "min" },
    predictValidation: () => numbers(splits.validation),
    predictLinear: linearNumbers && (() => splits.validation.map(linearNumbers)),
    calibrate: () => model.calibrate(splits.train),
    useCalibration: model.useCalibration,
    evaluatePredictions: () => model.evaluatePredictions(splits.test),
  };
}
