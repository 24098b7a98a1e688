import { mapSplits, type Series, type Splits } from "../data/series.ts";
import { tensor } from "../tensor/creation.ts";
import type { Tensor } from "../tensor/tensor.ts";
import type { NumberPrediction } from "./predictions.ts";
import { evaluateNumbers } from "./evaluate_numbers.ts";
import type { Measures, Task } from "../train/task.ts";
import { streamOf } from "./prediction_stream.ts";
import { settling } from "./learning.ts";
import {
  groupsOfOneLength,
  type SeriesInputs,
  seriesNetwork,
  type SeriesNetworkOptions,
  type SeriesPredictor,
} from "./series_network.ts";

/** Series with the numbers that belong to each. */
type NumbersBatch = SeriesInputs & {
  /** The record's targets, scaled; NaN is unknown. Shape (batch, targets). */
  readonly targets: Tensor;
};

/** A model that finds numbers of series as its record says. */
export type Regressor = SeriesPredictor<NumbersBatch, NumberPrediction>;

/** A model of the settings whose outputs are the record's targets. */
export function regressor(options: SeriesNetworkOptions): Regressor {
  const { targets = [] } = options.record;
  const network = seriesNetwork(options, targets.length);
  const predictionOf = (series: string, outputs: ArrayLike<number>): NumberPrediction => ({
    series,
    numbers: Object.fromEntries(
      targets.map(({ name, mean, standardDeviation }, k) => [name, outputs[k] * standardDeviation + mean]),
    ),
  });
  const predict: Regressor["predict"] = async (series) => {
    const rows = await network.read(series);
    return series.map(({ name }, i) => predictionOf(name, rows[i]));
  };
  const toBatch = (series: readonly Series[]): NumbersBatch => {
    const scaled = series.flatMap((one) =>
      targets.map(({ mean, standardDeviation }, i) => ((one.targets?.[i] ?? NaN) - mean) / standardDeviation)
    );
    return {
      ...network.inputs(series),
      targets: tensor(scaled, { shape: [series.length, targets.length] }),
    };
  };
  return {
    parameters: network.parameters,
    toBatch,
    toBatches: (series) => groupsOfOneLength(series, network.lengthOf).map(toBatch),
    evaluate: (batch, key) => knownErrors(network.outputs(batch, key), batch.targets),
    weights: knownCounts,
    predict,
    stream: streamOf(network, options.record, predictionOf),
    evaluatePredictions: (series) =>
      evaluateNumbers({
        series,
        targets,
        predict,
        channels: options.record.channels.map(({ name }) => name),
      }),
  };
}

/** Mean squared and mean absolute error of predictions, where the truth is known: NaN is unknown. */
export function knownErrors(predicted: Tensor, truth: Tensor): Measures & { mae: Tensor } {
  const isUnknown = truth.isNaN();
  const error = isUnknown.where(0, predicted.sub(isUnknown.where(0, truth)));
  const count = isUnknown.not().cast(error.dtype).sum().maximum(1);
  return { loss: error.square().sum().div(count), mae: error.abs().sum().div(count) };
}

/**
 * Number of known targets of a sample, on average: the weight of both errors. Not their share: batches may have room for
 * different numbers of targets.
 */
export function knownCounts({ targets }: { readonly targets: Tensor }): { loss: Tensor; mae: Tensor } {
  const count = targets.isNaN().not().cast("float32").sum().div(targets.shape[0]);
  return { loss: count, mae: count };
}

/** Options of {@linkcode regression}. */
interface RegressionOptions extends SeriesNetworkOptions {
  /** The record's series, as they were observed. */
  splits: Splits<readonly Series[]>;
}

/** Learns to find numbers of series with a {@linkcode regressor}. */
export function regression(options: RegressionOptions): Task<NumbersBatch> {
  const { record, splits, settings } = options;
  const { parameters, evaluate, toBatch, evaluatePredictions } = regressor(options);
  const steps = Math.ceil(splits.train.length / settings.batchSize);
  return {
    record,
    parameters,
    ...settling({ parameters, settings, steps }),
    data: mapSplits(splits, toBatch),
    evaluate,
    weights: knownCounts,
    metric: { name: "loss", mode: "min" },
    evaluatePredictions: () => evaluatePredictions(splits.test),
  };
}
