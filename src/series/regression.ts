import { mapSplits, type Series, type Splits } from "../data/series.ts";
import { tensor } from "../tensor/creation.ts";
import type { Tensor } from "../tensor/tensor.ts";
import type { NumberPrediction } from "./predictions.ts";
import { evaluateNumbers } from "./evaluate_numbers.ts";
import type { Measures, Task } from "../train/task.ts";
import { networkStreams } from "./prediction_stream.ts";
import { closedForm, settling } from "./learning.ts";
import {
  groupsOfOneLength,
  type SeriesInputs,
  seriesNetwork,
  type SeriesNetworkOptions,
  type SeriesPredictor,
} from "./series_network.ts";

/** Series with their numeric targets. */
type NumbersBatch = SeriesInputs & {
  /** Targets of the record, scaled; NaN is unknown. Shape (batch, targets). */
  readonly targets: Tensor;
};

/** A model that predicts the numeric targets of its record. */
export type Regressor = SeriesPredictor<NumbersBatch, NumberPrediction>;

/** Makes a model whose outputs are the targets of the record. */
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
  /** Scaled targets; NaN is unknown. Shape (series, targets). */
  const targetsOf = (series: readonly Series[]) =>
    series.flatMap((one) =>
      targets.map(({ mean, standardDeviation }, i) => ((one.targets?.[i] ?? NaN) - mean) / standardDeviation)
    );
  const toBatch = (series: readonly Series[]): NumbersBatch => ({
    ...network.inputs(series),
    targets: tensor(targetsOf(series), { shape: [series.length, targets.length] }),
  });
  return {
    parameters: network.parameters,
    toBatch,
    toBatches: (series) => groupsOfOneLength(series, network.lengthOf).map(toBatch),
    evaluate: (batch, key) => knownErrors(network.outputs(batch, key), batch.targets),
    weights: knownCounts,
    predict,
    stream: networkStreams(network, options.record, predictionOf),
    onLoad: network.onLoad,
    fit: network.fit && ((series) => {
      network.fit!(series, Float64Array.from(targetsOf(series)));
      return Promise.resolve();
    }),
    evaluatePredictions: (series) =>
      evaluateNumbers({
        series,
        targets,
        predict,
        channels: options.record.channels.map(({ name }) => name),
        times: options.record.time.kind,
      }),
  };
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
export function regression(options: RegressionOptions): Task<NumbersBatch> {
  const { record, splits, settings } = options;
  const { parameters, evaluate, toBatch, evaluatePredictions, onLoad, fit } = regressor({
    ...options,
    train: splits.train,
  });
  const steps = Math.ceil(splits.train.length / settings.batchSize);
  return {
    record,
    parameters,
    ...(fit ? closedForm(fit, splits) : settling({ parameters, settings, steps })),
    data: mapSplits(splits, toBatch),
    onLoad,
    evaluate,
    weights: knownCounts,
    metric: { name: "loss", mode: "min" },
    evaluatePredictions: () => evaluatePredictions(splits.test),
  };
}
