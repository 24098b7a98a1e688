import { addIntensity, type Series, type Splits, stackSeries } from "../../data/series.ts";
import { largest } from "../../device/min_max.ts";
import { withinMemory } from "../../device/memory/memory_limit.ts";
import type { ParameterOptions, ParameterTree } from "../../nn/layer.ts";
import { tensor } from "../../tensor/creation.ts";
import { type Key, splitKey } from "../../tensor/random.ts";
import { rowOf } from "../../models/series_streams.ts";
import { tidy } from "../../tensor/scope.ts";
import { concatenate } from "../../tensor/functions.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import type { Tree } from "../../tensor/tree.ts";
import type { Prediction } from "../record/predictions.ts";
import type { Evaluation, Samples, TaskData } from "../../train/task.ts";
import type { TrainedModel } from "./trained_model.ts";
import { type DataRecord, type RecordedRange, takeColumns } from "../record/data_record.ts";
import { linearOutputs } from "../math/linear_model.ts";
import { featuresOfSeries } from "../record/running_summary.ts";
import { predicting } from "../record/failed_predictions.ts";
import { scaledSeries } from "../record/scaled_values.ts";
import type { SeriesSettings } from "../record/settings.ts";
import { DataError, OptionError } from "../../device/errors.ts";
import { type MethodName, methodOf } from "../../solvers/methods.ts";
import { addingStreams, type Average, ensembleStreams, meanOutput } from "./ensemble.ts";
import { downsample } from "./downsample.ts";
import { fittedNetwork } from "./fitted/fitted_networks.ts";
import { shrinkReadouts } from "./slope_scale.ts";
import { kindNamed, type ModelKind } from "./model_settings.ts";
import type { SeriesModel, SeriesModelKind } from "./whole_series.ts";
import { neuralModels } from "./neural/neural_models.ts";
import { seriesForm } from "./series_reading.ts";
import { onGrid } from "../read/time_grid.ts";

/** Series in the form that the model reads. */
export type SeriesInputs = {
  /**
   * Coefficients of a path on the grid 0, 1, ..., log-signatures of windows, or rows of observations. Shape
   * (batch, ...).
   */
  readonly coeffs: Tensor;
  /** Number of grid points of each series, int32 (batch): its observations, or the ends of its windows. */
  readonly lengths: Tensor;
  /** Static channels that determine the initial state. Shape (batch, features). */
  readonly staticFeatures?: Tensor;
  /** Outputs of the linear model of summaries. The outputs of the model are added to them. Shape (batch, outputs). */
  readonly linear?: Tensor;
};

/** Options of {@linkcode seriesNetwork}. */
export interface SeriesNetworkOptions extends Pick<ParameterOptions, "key"> {
  /** Record of the data: channels, scaling, times and targets. */
  record: DataRecord;
  /** Models by name; by default those of Weft. */
  models?: Readonly<Record<string, SeriesModelKind | FittedModelKind>>;
  /** Networks that a comparison has fitted, by model and training series. By default every network is fitted anew. */
  fitted?: Map<string, ReturnType<FittedModelKind["network"]>>;
  /** Training series, unscaled, for a model that learns its input form from them. */
  train?: readonly Series[];
  /** Settings of the run. */
  settings: SeriesSettings;
  /** Default number of features of each hidden layer of a vector field that is a neural network. */
  width: number;
  /** Default number of hidden layers of the vector field. */
  depth: number;
  /**
   * Features of the hidden layer of a network from the static channels to the initial state, for models that
   * support it. By default static channels are inputs at each row.
   */
  staticWidth?: number;
  /** How models that read observations fill missing values; `"hold"` by default. */
  fill?: "hold" | "spline";
  /** Solver if the settings have none; `"rk4"` by default. */
  method?: MethodName;
}

/** A model that reads unscaled series with the channels of a record. */
export interface SeriesNetwork {
  /** Learned tensors. */
  readonly parameters: ParameterTree;
  /** The model, or the members of an ensemble. Empty for a model that is fitted in closed form. */
  readonly members: readonly SeriesModel[];
  /**
   * Parameters with L2 regularisation: those of the vector field, or all parameters of a model that reads
   * observations (Kidger et al., 2020, appendix D.1).
   */
  readonly regularised: ParameterTree;
  /** Converts series to the form that the model reads. */
  inputs(series: readonly Series[]): SeriesInputs;
  /** Number of bytes of the inputs of a series on the device, if the inputs may be large. */
  bytesOf?(series: Series): number;
  /** Outputs of the model, or the average of the members of an ensemble. Shape (batch, outputs). */
  outputs(inputs: SeriesInputs, key?: Key): Tensor;
  /** Outputs of each member of the ensemble. Shape of each (batch, outputs). */
  memberOutputs(inputs: SeriesInputs, key?: Key): readonly Tensor[];
  /**
   * Length of a series' inputs. In a batch of equal lengths, inputs do not depend on the other series of the
   * batch.
   */
  lengthOf(series: Series): number;
  /** Outputs of the linear model of summaries for a series, if the model adds to it. */
  linearOf?(series: Series): number[];
  /** Outputs of the model for each series. They do not depend on the other series. */
  read(series: readonly Series[]): Promise<Float32Array[]>;
  /**
   * Streams of series. Their rows are the scaled time and channels, and the outputs of the linear model, if the network adds to such a model.
   * Undefined unless the settings are online and the model has streams.
   */
  readonly streams?: SeriesModel["streams"];
  /**
   * Fits the outputs in closed form, for a model without optimiser steps.
   *
   * @param series Unscaled series.
   * @param targets Targets of the series, NaN if unknown. Shape (series, outputs).
   * @returns Outputs for each series, fitted to the other series. Shape (series, outputs).
   */
  fit?(series: readonly Series[], targets: Float64Array): Promise<Float64Array>;
  /** Frees what was kept of series that were read, such as their features. */
  clearCache?(): void;
  /** Range of the outputs for classes in training, if other series can have outputs far outside. */
  readonly outputRange?: RecordedRange;
  /** Reads the parameters that the input form needs, after weights were loaded. */
  onLoad?(): Promise<void>;
}

/** A kind of model that is fitted in closed form. */
export interface FittedModelKind extends ModelKind {
  /** Makes the model. @param outputs Number of output features. */
  network(options: SeriesNetworkOptions, outputs: number): Omit<SeriesNetwork, "members" | "memberOutputs">;
}

/** A model that predicts the targets of its record from series. */
export interface SeriesPredictor<Batch extends Tree, Found extends Prediction> extends
  Pick<
    TrainedModel<Batch>,
    "parameters" | "evaluate" | "scores" | "weights" | "onLoad" | "useCalibration" | "stream"
  > {
  /** Fits the parameters to labelled series in closed form, for a model without optimiser steps. */
  fit?(series: readonly Series[]): Promise<void>;
  /** Converts unscaled series with the record's channels to the form that the model reads. */
  toBatch(series: readonly Series[]): Batch;
  /** As `toBatch`. If the inputs are large, each batch is converted when it is needed. */
  toSamples(series: readonly Series[]): Samples<Batch>;
  /** As `toSamples`, in groups of equal length: each series is read exactly as if it were alone. */
  toGroups(series: readonly Series[]): Samples<Batch>[];
  /** Predicts each series. The series have the channels of the record. */
  predict(series: readonly Series[]): Promise<Found[]>;
  /** Compares the predictions with the known targets of series. */
  evaluatePredictions(series: readonly Series[]): Promise<Evaluation>;
}

/**
 * Makes the model of the settings, by default a Neural CDE. It reads the observations and their times. The
 * record decides the number of members of an ensemble. The parameters of the members are named `0`, `1`, ....
 *
 * @param outputs Number of output features.
 * @param average Average of the outputs of the members.
 */
export function seriesNetwork(
  options: SeriesNetworkOptions,
  outputs: number,
  average: Average = meanOutput,
): SeriesNetwork {
  const { record, settings, key, depth } = options;
  const { channels, time, length, training, pace, condensing, linear } = record;
  const { model: name = "neural-cde", hidden, method = options.method, stepSize } = settings;
  const blockRows = condensing?.by === "means" ? condensing.rows : 1;
  const window = settings.window ?? (condensing?.by === "log-signatures" ? condensing.rows : undefined);
  const { width = options.width, signatureDepth, online, intensity = false } = settings;
  if (online && intensity) {
    throw new OptionError(
      "conflicting-options",
      (write) => `${write("intensity")} cannot be used with ${write("online")}: leave one of them out`,
      { option: "intensity" },
    );
  }
  const { heads, feedForward, depth: layers, clipWeights } = settings;
  const kind = kindNamed<SeriesModelKind | FittedModelKind>(options.models ?? neuralModels, name);
  if ("network" in kind) {
    const network = fittedNetwork(options.fitted, name, record, () => kind.network(options, outputs));
    return { ...network, members: [], memberOutputs: (inputs, key) => [network.outputs(inputs, key)] };
  }
  const { reads, takesStatic, make } = kind;
  const indices = Array.from(channels.keys());
  const isFirst = (i: number) => !!options.staticWidth && takesStatic && channels[i].role === "static";
  const first = indices.filter(isFirst);
  const read = indices.filter((i) => !isFirst(i));
  const memberOf = (key: Key) => {
    const member = make({
      ...{ hidden, width, depth: layers ?? depth, method, stepSize, signatureDepth, clipWeights, pace, key },
      fastWeights: { heads, feedForward, layers },
      inputChannels: 1 + (intensity ? 2 : 1) * read.length,
      outputChannels: outputs,
      ...(first.length > 0 ? { staticFeatures: { channels: first.length, width: options.staticWidth } } : {}),
    }, settings);
    if (pace) shrinkReadouts(member.parameters);
    return member;
  };
  const { ensemble = 1 } = training ?? {};
  const members = (ensemble === 1 ? [key] : splitKey(key, ensemble)).map(memberOf);
  const parameters = ensemble === 1
    ? members[0].parameters
    : Object.fromEntries(members.map(({ parameters }, i) => [`${i}`, parameters]));
  /** Input channels of each row, including intensity channels. */
  const rowsOf = (series: readonly Series[]) => {
    const selected = first.length === 0
      ? series
      : series.map((one) => ({ ...one, values: takeColumns(one.values, channels.length, read) }));
    return intensity
      ? addIntensity(selected, read.length, reads === "observations" ? "mask" : "count")
      : selected;
  };
  const form = seriesForm(reads, {
    window,
    signatureDepth,
    online,
    fill: options.fill,
    marks: intensity ? read.length : 0,
  });
  /** Static features, scaled. A feature without a value is 0, the mean. */
  const firstOf = (series: readonly Series[]) => {
    const features = series.flatMap(({ values }) =>
      first.map((i) => values.find((value, at) => at % channels.length === i && !Number.isNaN(value)) ?? 0)
    );
    return tensor(features, { shape: [series.length, first.length] });
  };
  const readChannels = (intensity ? 2 : 1) * read.length;
  const rowBytes = (1 + readChannels) * Float32Array.BYTES_PER_ELEMENT;
  // A spline needs at least two observations.
  const commonLength = (series: readonly Series[]) =>
    Math.max(2, Math.ceil(largest([length, ...series.map(({ times }) => times.length)]) / blockRows));
  // A stream cannot insert missing rows of the grid, so models that predict online read the rows as they are.
  const rowsOfSeries = (one: Series) => reads === "spline" && !online ? onGrid(one, time.grid, length) : one;
  const { vectorField = parameters } = parameters as { vectorField?: ParameterTree };
  const lengthOf = (one: Series) => commonLength([rowsOfSeries(one)]);
  const linearOf = linear && ((one: Series) => linearOutputs(linear, featuresOfSeries(one, record)));
  const network: Omit<SeriesNetwork, "read"> = {
    lengthOf,
    linearOf,
    parameters,
    members,
    regularised: reads === "observations" ? parameters : vectorField,
    inputs(batch) {
      const series = batch.map(rowsOfSeries);
      const length = commonLength(series);
      const most = Math.max(1, Math.floor(maxReadBytes / (length * rowBytes)));
      const origin = time.origin === "zero" ? 0 : undefined;
      const parts = chunksOf(series, most).map((some) => {
        const scaled = some.map((one) => scaledSeries(downsample(one, channels.length, blockRows), channels));
        const stacked = stackSeries(rowsOf(scaled), readChannels, length, time.scale, origin);
        return {
          coeffs: tidy(() => form.read(tensor(stacked.values, { shape: stacked.shape }))),
          lengths: Array.from(stacked.lengths, (length) => form.gridPoints(length)),
          ...(first.length > 0 ? { staticFeatures: firstOf(scaled) } : {}),
        };
      });
      const base = linearOf && batch.flatMap(linearOf);
      const joined = (tensors: Tensor[]) => tensors.length === 1 ? tensors[0] : concatenate(tensors);
      const statics = parts.flatMap(({ staticFeatures }) => staticFeatures ?? []);
      return {
        coeffs: joined(parts.map(({ coeffs }) => coeffs)),
        lengths: tensor(parts.flatMap(({ lengths }) => lengths), { dtype: "int32" }),
        ...(statics.length > 0 ? { staticFeatures: joined(statics) } : {}),
        ...(base ? { linear: tensor(base, { shape: [batch.length, outputs] }) } : {}),
      };
    },
    bytesOf: (one) => form.numbers(lengthOf(one), 1 + readChannels) * Float32Array.BYTES_PER_ELEMENT,
    outputs: (inputs, key) => average(network.memberOutputs(inputs, key)),
    memberOutputs({ coeffs, lengths, staticFeatures, linear }, key) {
      const keys = key && ensemble > 1 ? splitKey(key, ensemble) : members.map(() => key);
      return members.map((member, i) => {
        const output = member(coeffs, { lengths, key: keys[i], staticFeatures });
        // Only training has a key. A trained network is weighted by the factor that cross-validation chose.
        return linear ? (key ? output : output.mul(networkWeight)).add(linear) : output;
      });
    },
  };
  const networkWeight = training?.found?.share ?? 1;
  const streams = members.flatMap(({ streams }) =>
    streams ? [linear ? () => addingStreams(streams(), networkWeight, outputs) : streams] : []
  );
  return {
    ...network,
    ...(online && streams.length === ensemble && hasStreams(method)
      ? {
        streams: ensemble === 1 ? streams[0] : () => ensembleStreams(streams.map((open) => open()), average),
      }
      : {}),
    async read(series) {
      const rows = await predicting(
        series.map(({ name }) => name),
        outputsInBatches(series, lengthOf, (some) => network.outputs(network.inputs(some))),
      );
      rows.forEach((outputs, i) => requireFiniteOutputs(series[i].name, outputs));
      return rows;
    },
  };
}

/** Whether a solver can continue from the state alone, as streams need. */
function hasStreams(method: SeriesSettings["method"]): boolean {
  return method === undefined || methodOf(method).kind === "explicit";
}

/** @throws {DataError} If an output is not finite. */
export function requireFiniteOutputs(series: string, outputs: ArrayLike<number>): void {
  if (Array.prototype.every.call(outputs, Number.isFinite)) return;
  throw new DataError(
    "no-prediction",
    `series "${series}": the model's prediction is not a number; its values or times are far outside the range that the model ` +
      "learned from",
  );
}

/** Bytes of rows that are converted at once: conversion takes several times as many. */
const maxReadBytes = 2 ** 25;

/** Bytes of the inputs of a part of the data that stay on the device. */
const maxResidentBytes = 2 ** 28;

/** Splits items into lists of limited length. Without items, returns an empty list. */
function chunksOf<T>(items: readonly T[], most: number): (readonly T[])[] {
  if (items.length <= most) return [items];
  const count = Math.ceil(items.length / most);
  return Array.from({ length: count }, (_, i) => items.slice(i * most, (i + 1) * most));
}

/** Samples of some series. If their inputs take more than 256 MiB, each batch is converted when it is needed. */
export function samplesOf<Batch extends Tree>(
  series: readonly Series[],
  toBatch: (series: readonly Series[]) => Batch,
  { bytesOf = () => 0 }: Pick<SeriesNetwork, "bytesOf">,
): Samples<Batch> {
  const bytes = series.reduce((sum, one) => sum + bytesOf(one), 0);
  if (bytes <= maxResidentBytes) return toBatch(series);
  return {
    count: series.length,
    batch: (positions) => toBatch(Array.from(positions, (position) => series[position])),
  };
}

/** Samples of the parts of a data set. Without validation series the data have no validation set. */
export function dataOf<Batch extends Tree>(
  { train, validation, test }: Splits<readonly Series[]>,
  toSamples: (series: readonly Series[]) => Samples<Batch>,
): TaskData<Samples<Batch>> {
  return {
    train: toSamples(train),
    ...(validation.length > 0 ? { validation: toSamples(validation) } : {}),
    test: toSamples(test),
  };
}

/** Number of samples per batch of predictions. */
const predictionBatch = 16;
/** Memory in bytes that the values of such a batch may take. */
const predictionMemory = 2 ** 29;

/**
 * Groups samples by length. A spline depends on the padding of its series, which must not depend on the other
 * samples of the batch.
 */
export function groupsOfOneLength<T>(samples: readonly T[], lengthOf: (sample: T) => number): T[][] {
  return Map.groupBy(samples, lengthOf).values().toArray();
}

/**
 * Computes the outputs of samples in batches of a fixed size, padded with the last sample. Kernels for other
 * batch sizes sum in another order, so the last digits of a prediction would depend on the number of samples. The
 * size is 16, or 8, 4, 2 or 1 if a batch takes too much memory: it depends only on the model and the length.
 *
 * @param lengthOf Length of a sample. Only samples of equal length share a batch, as in
 * {@linkcode groupsOfOneLength}.
 * @param outputs Maps samples to their outputs `(samples, ...)`.
 * @param memory Limit in bytes of the values of a batch; 512 MiB by default.
 */
export async function outputsInBatches<T>(
  samples: readonly T[],
  lengthOf: (sample: T) => number,
  outputs: (samples: readonly T[]) => Tensor,
  memory = predictionMemory,
): Promise<Float32Array[]> {
  const rows: Float32Array[] = [];
  for (const indices of Map.groupBy(samples.keys(), (i) => lengthOf(samples[i])).values()) {
    let size = predictionBatch;
    for (let start = 0; start < indices.length;) {
      const batch = indices.slice(start, start + size);
      const filled = Array.from({ length: size }, (_, i) => samples[batch[Math.min(i, batch.length - 1)]]);
      const result = withinMemory(size > 1 ? memory : Infinity, () => tidy(() => outputs(filled)));
      if (!result) {
        size /= 2;
        continue;
      }
      const values = await result.data() as Float32Array;
      batch.forEach((index, i) => rows[index] = rowOf(values, i, size) as Float32Array);
      start += size;
    }
  }
  return rows;
}
