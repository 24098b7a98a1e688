/** Stacks of layers that mix rows along time, each with a residual connection, and models of such stacks. */
import { checkOptions, namesOf } from "../../device/options.ts";
import { checkCount, type Layer, layer, type ParameterOptions, type ParameterTree } from "../../nn/layer.ts";
import { Linear, type LinearParameters } from "../../nn/linear.ts";
import { checkWord } from "../../tensor/checks.ts";
import { arange, zeros } from "../../tensor/creation.ts";
import { type Key, splitKey } from "../../tensor/random.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import type { Tree } from "../../tensor/tree.ts";
import type { ForecastCell } from "../forecaster.ts";
import { checkReadout, chooseStates, readoutOptionNames, type ReadoutOptions } from "../readout_states.ts";
import { checkSequences, sequenceOptionNames, type SequenceOptions } from "../sequences.ts";

/** Sizes of a stack of layers. */
export interface StateSpaceSizes extends Pick<ParameterOptions, "dtype"> {
  /** Features of each layer's inputs and outputs. */
  modelDim: number;
  /**
   * Number of layers.
   *
   * @default {1}
   */
  layers?: number;
}

export const stateSpaceSizeNames = namesOf<StateSpaceSizes>()("modelDim layers? dtype?");

/** Options of a model of such layers. */
export interface StateSpaceOptions extends StateSpaceSizes, SequenceOptions {
  /**
   * How to reduce rows to an output: `"last"` (default) reads the features of the current row; `"mean"`, used
   * by the papers for classification, reads the mean over all rows up to the current row.
   *
   * @default {"last"}
   */
  pooling?: "last" | "mean";
}

export const stateSpaceOptionNames = namesOf<StateSpaceOptions>()(
  stateSpaceSizeNames,
  sequenceOptionNames,
  "pooling?",
);

/** A causal layer: maps sequences to sequences of the same length. */
export interface SequenceLayer {
  readonly parameters: ParameterTree;
  /** `(batch, length, inputs)` to `(batch, length, features)`; the layers of a stack keep the features. */
  all(u: Tensor): Tensor;
  /** The state before the first row of `batch` series. */
  start(batch: number): Tree;
  /** Reads a row `(batch, inputs)`. Returns the next state and the output `(batch, features)`. */
  step(u: Tensor, state: Tree): [Tree, Tensor];
}

/** The parts of a stack that depend on the kind of layer. */
export interface StackParts {
  /** Makes a layer including its norm, without its residual connection. */
  makeLayer(key: Key): SequenceLayer;
  /**
   * Makes the first of the `layers`, which maps the input to features in place of a linear encoder and has no
   * residual connection.
   */
  makeFirst?(key: Key): SequenceLayer;
  /** The norm after the last layer. */
  norm?: Layer;
}

/** Parameters of a stack. */
export type StackParameters = Omit<StateSpaceModel["parameters"], "readout">;

/**
 * Maps sequences `(batch, length, inputChannels)` to the output at the end, `(batch, outputChannels)`, or
 * with `states: "all"` to the output at every row, `(batch, length, outputChannels)`. The output at a row
 * depends only on rows up to that row.
 */
export type StateSpaceModel =
  & Layer<
    [x: Tensor, call?: ReadoutOptions],
    {
      /** Maps the channels of a row to `modelDim` features; in a `StructuredCDE`, the first layer. */
      readonly encoder: LinearParameters | ParameterTree;
      /** The layers after the encoder, in the order of computation. */
      readonly layers: readonly ParameterTree[];
      /** The norm after the last layer, if any. */
      readonly norm?: ParameterTree;
      /** Maps the features of the last layer to the outputs. */
      readonly readout: LinearParameters;
    }
  >
  & {
    /** The state before the first row of `batch` series. */
    start(batch: number): Tree;
    /** Reads a row `(batch, inputChannels)`. Returns the next state and the output. */
    step(row: Tensor, state: Tree): [state: Tree, output: Tensor];
  };

/**
 * A stack from `inputs` channels to `modelDim` features: x_0 = encoder(input), x_l = x_(l-1) +
 * layer_l(x_(l-1)).
 */
export function stack(
  name: string,
  { inputs, modelDim, layers: count = 1, key, dtype }: StateSpaceSizes & { inputs: number; key: Key },
  { makeLayer, makeFirst, norm }: StackParts,
): Required<ForecastCell<readonly Tree[], StackParameters>> {
  checkCount(name, "layers", count);
  const [encoderKey, ...layerKeys] = splitKey(key, makeFirst ? count : count + 1);
  const encoder = makeFirst?.(encoderKey) ??
    rowByRow(Linear({ inputs, outputs: modelDim, key: encoderKey, dtype }));
  const layers = layerKeys.map((layerKey) => makeLayer(layerKey));
  const finish = (x: Tensor) => norm ? norm(x) : x;
  return {
    parameters: {
      encoder: encoder.parameters,
      layers: layers.map(({ parameters }) => parameters),
      ...(norm ? { norm: norm.parameters } : {}),
    },
    features: modelDim,
    all: (x) => finish(layers.reduce((u, { all }) => u.add(all(u)), encoder.all(x))),
    start: (x) => [encoder, ...layers].map(({ start }) => start(x.shape[0])),
    step(row, [first, ...states]) {
      const [begun, features] = encoder.step(row, first);
      let u = features;
      const next = layers.map(({ step }, i) => {
        const [state, output] = step(u, states[i]);
        u = u.add(output);
        return state;
      });
      return [[begun, ...next], finish(u)];
    },
  };
}

/** A function of single rows as a layer without a state. */
function rowByRow(encoder: Layer): SequenceLayer {
  return {
    parameters: encoder.parameters,
    all: encoder,
    start: () => [],
    step: (row, state) => [state, encoder(row)],
  };
}

/**
 * Makes a model: a stack and a linear readout.
 *
 * @throws {RangeError} If a size is not a positive integer, or the pooling is unknown.
 */
export function stateSpaceModel(
  name: string,
  options: StateSpaceOptions,
  parts: StackParts,
): StateSpaceModel {
  const { inputChannels, modelDim, outputChannels, pooling = "last", key, dtype } = options;
  checkWord(name, "pooling", pooling, ["last", "mean"]);
  checkCount(name, "inputChannels", inputChannels);
  const [stackKey, readoutKey] = splitKey(key);
  const { parameters, all, start, step } = stack(
    name,
    { ...options, inputs: inputChannels, key: stackKey },
    parts,
  );
  const readout = Linear({ inputs: modelDim, outputs: outputChannels, key: readoutKey, dtype });
  const model = layer(
    { ...parameters, readout: readout.parameters },
    (x: Tensor, call: ReadoutOptions = {}) => {
      checkOptions(name, call, readoutOptionNames);
      checkReadout(name, call);
      checkSequences(name, x, inputChannels);
      const features = all(x);
      const rows = arange(x.shape[1], { dtype: x.dtype }).add(1).expandDims(1);
      const pooled = pooling === "mean" ? features.cumsum(1).div(rows) : features;
      return readout(chooseStates(name, pooled, call));
    },
  );
  /** The layers' states and, for mean pooling, the sum of the features so far and the number of rows. */
  type State = { states: readonly Tree[]; sum: Tensor; count: Tensor };
  return Object.assign(model, {
    start: (batch: number): Tree => ({
      states: start(zeros([batch, 1, inputChannels], { dtype })),
      sum: zeros([batch, modelDim], { dtype }),
      count: zeros([batch, 1], { dtype }),
    }),
    step(row: Tensor, state: Tree): [Tree, Tensor] {
      const { states, ...before } = state as State;
      const [next, features] = step(row, states);
      const [sum, count] = [before.sum.add(features), before.count.add(1)];
      return [{ states: next, sum, count }, readout(pooling === "mean" ? sum.div(count) : features)];
    },
  });
}
