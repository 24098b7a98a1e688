/** Predicts numbers of series. */
import type { Series } from "../../data/series.ts";
import { tensor } from "../../tensor/creation.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import type { NumberPrediction } from "../record/predictions.ts";
import type { Calibration } from "../../train/task.ts";
import { maskedCounts, maskedErrors } from "./metrics/masked_errors.ts";
import { type CheckedSeries, rangeWarnings, withWarnings } from "./range_warnings.ts";
import { networkStreams } from "./streams/network_streams.ts";
import { meanOutput } from "../models/ensemble.ts";
import type { LastValueWeights } from "../models/fitted/baselines.ts";
import {
  groupsOfOneLength,
  samplesOf,
  type SeriesInputs,
  seriesNetwork,
  type SeriesNetworkOptions,
  type SeriesPredictor,
} from "../models/series_network.ts";

/** Series with their numeric targets. */
export type NumbersBatch = SeriesInputs & {
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
      const errors = maskedErrors(meanOutput(members), batch.targets);
      if (!key || members.length === 1) return errors;
      // Members are trained independently: the loss is the mean of their losses.
      return {
        ...errors,
        loss: meanOutput(members.map((output) => maskedErrors(output, batch.targets).loss)),
      };
    },
    weights: maskedCounts,
    predict,
    numbers: async (series) => (await network.read(series)).map(unscaled),
    linearNumbers: network.linearOf && ((one) => unscaled(network.linearOf!(one))),
    stream: networkStreams(network, options.record, predictionOf),
    onLoad: network.onLoad,
    fit: network.fit && (async (series) => {
      await network.fit!(series, Float64Array.from(targetsOf(series)));
    }),
    async calibrate(train) {
      const { fitLastValues } = await import("../models/fitted/baselines.ts");
      linear = fitLastValues(train, channels, targetsOf(train));
      return { lastValues: linear };
    },
    useCalibration: (stored) => linear = requireLastValues(stored, targets.length, channels.length),
    async evaluatePredictions(series) {
      const { evaluateNumbers } = await import("./evaluate_numbers.ts");
      const { readLastValues } = await import("../models/fitted/baselines.ts");
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
