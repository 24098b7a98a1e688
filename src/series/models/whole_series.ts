/** Kinds of models that read series: their sizes, calls and inputs. */
import type { SeriesStreams } from "../../models/series_streams.ts";
import type { StaticFeaturesOptions } from "../../models/static_features.ts";
import type { StreamableModel } from "../../models/stream.ts";
import type { WARPModel } from "../../models/warp/warp.ts";
import type { Layer, ParameterOptions } from "../../nn/layer.ts";
import type { MethodName } from "../../solvers/methods.ts";
import type { Key } from "../../tensor/random.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import type { RecordedPace } from "../record/data_record.ts";
import type { ModelKind } from "./model_settings.ts";
import type { SeriesReading } from "./series_reading.ts";

/** Sizes of fast weights, except their number of features. */
export interface FastWeightSizes {
  /** Number of heads, 4 by default. */
  heads?: number;
  /** Features of the feedforward block; four times those of the model by default. */
  feedForward?: number;
  /** Number of layers, 1 by default. */
  layers?: number;
}

/** Sizes and solver of a model for series. */
export interface SeriesModelSizes extends Pick<ParameterOptions, "key"> {
  /** Number of channels of the series, including the time. */
  inputChannels: number;
  /** Number of outputs. */
  outputChannels: number;
  /** Features of the state, or of all heads of a fast weight programmer in total. */
  hidden: number;
  /** Features of each hidden layer of a vector field that is a neural network. */
  width: number;
  /** Number of hidden layers of the vector field. */
  depth: number;
  /** Sizes of fast weights. */
  fastWeights?: FastWeightSizes;
  /** Method of the solver, `"rk4"` by default. */
  method?: MethodName;
  /** Step size of the solver. By default the distance between observations, or a window. */
  stepSize?: number;
  /** Bound on the absolute values of WARP's weights; no bound by default or if 0. */
  clipWeights?: number;
  /** Origin of WARP's theta_0: a network of the first row by default. */
  initial?: "network" | "learned";
  /** Depth of the log-signatures, from 1 to 4, 2 by default. */
  signatureDepth?: number;
  /** Network that computes the initial state from static features, for models that support it. */
  staticFeatures?: StaticFeaturesOptions;
  /** Pace of a typical series, which decides the scale of slopes; a scale of 1 by default. */
  pace?: RecordedPace;
}

/** Arguments of a call of a model. */
export type SeriesCall = {
  /** Number of grid points of each series, int32 `(batch)`. */
  lengths: Tensor;
  /** Random key of dropout, in training. */
  key?: Key;
  /** `(batch, features)`, if the model has static features. */
  staticFeatures?: Tensor;
};

/** Access to the states of a model, besides its outputs. */
export interface SeriesModelStates extends Partial<StreamableModel> {
  /** Streams of series with unit distance between rows, if the model can read them row by row. */
  streams?(): SeriesStreams;
  /** The WARP, whose states are weights of its root network. It reads rows without the time. */
  readonly warp?: WARPModel;
}

/** Maps series in the form of {@linkcode SeriesReading} to outputs `(batch, outputChannels)`. */
export type SeriesModel = Layer<[form: Tensor, call: SeriesCall]> & SeriesModelStates;

/** A kind of model that reads series. */
export interface SeriesModelKind extends ModelKind {
  /** Makes the model. @param settings All settings of the run, for models with further options. */
  make(sizes: SeriesModelSizes, settings?: object): SeriesModel;
  /** Input of the model. */
  readonly reads: SeriesReading;
  /** Whether the initial state can be computed from static features. */
  readonly takesStatic: boolean;
}
