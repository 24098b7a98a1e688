/** Models of layers that mix along time, one above the other, each with a residual connection. */
import type { DType } from "../../device/dtype.ts";
import { checkCount, type Layer, layer, type ParameterTree } from "../../nn/layer.ts";
import { Linear, type LinearParameters } from "../../nn/linear.ts";
import { arange, zeros } from "../../tensor/creation.ts";
import { type Key, split } from "../../tensor/random.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import type { Tree } from "../../tensor/tree.ts";
import { checkReadout, chooseStates, type ReadoutOptions } from "../readout_states.ts";
import { checkSequences } from "../sequences.ts";

/** Sizes of a model of layers that mix along time. */
export interface StateSpaceOptions {
  /** Channels of the sequences. */
  inputChannels: number;
  /** Features of each layer's inputs and outputs. */
  modelDim: number;
  /** Features that are read out. */
  outputChannels: number;
  /** Number of layers, 1 by default. */
  layers?: number;
  /**
   * What is read out at a row: the features of the last layer there, `"last"`, the default, or their mean over all rows up to it,
   * `"mean"`, by which the papers classify.
   */
  pooling?: "last" | "mean";
  /** Random key of the initial parameters. */
  key: Key;
  /** `"float32"` by default. */
  dtype?: DType;
}

/** A function of sequences of some features to sequences of the same features, which looks back only. */
export interface SequenceLayer {
  readonly parameters: ParameterTree;
  /** `(batch, length, features)` to the same shape. */
  along(u: Tensor): Tensor;
  /** What it knows before the first row. */
  start(batch: number): Tree;
  /** The same row by row: the output of a row `(batch, features)` and what it knows then. */
  step(u: Tensor, state: Tree): [output: Tensor, state: Tree];
}

/** Parameters of a model of layers that mix along time. */
export type StateSpaceParameters = {
  readonly encoder: LinearParameters;
  readonly layers: readonly ParameterTree[];
  /** The norm behind the last layer, where the model has one. */
  readonly norm?: ParameterTree;
  readonly readout: LinearParameters;
};

/**
 * From sequences `(batch, length, inputChannels)` to what is read out at the end, `(batch, outputChannels)`, or with
 * `states: "all"` at every row, `(batch, length, outputChannels)`. What is read out at a row depends on rows up to it.
 */
export type StateSpaceModel = Layer<[x: Tensor, call?: ReadoutOptions], StateSpaceParameters> & {
  /** What the model knows before the first row of so many series. */
  start(batch: number): Tree;
  /** The same row by row: what is read out at a row `(batch, inputChannels)`, and what the model knows then. */
  step(row: Tensor, state: Tree): [output: Tensor, state: Tree];
};

/** The parts of {@linkcode stack} that a model chooses. */
export interface StackParts {
  /** A layer, with its norm and without its residual connection. */
  makeLayer(key: Key): SequenceLayer;
  /** The norm behind the last layer. */
  norm?: Layer;
}

/**
 * Makes a model: x_0 = encoder(input), x_l = x_(l-1) + layer_l(x_(l-1)), and a linear readout.
 *
 * @throws {RangeError} If a size is not a whole number above zero, or there is no such pooling.
 */
export function stack(name: string, options: StateSpaceOptions, parts: StackParts): StateSpaceModel {
  const { inputChannels, modelDim, outputChannels, layers: count = 1, pooling = "last", key } = options;
  const { dtype = "float32" } = options;
  checkCount(name, "modelDim", modelDim);
  checkCount(name, "layers", count);
  if (pooling !== "last" && pooling !== "mean") {
    throw new RangeError(`${name}: pooling is "${pooling}", expected "last" or "mean"`);
  }
  const [encoderKey, readoutKey, ...layerKeys] = split(key, count + 2);
  const encoder = Linear({ inputs: inputChannels, outputs: modelDim, key: encoderKey, dtype });
  const readout = Linear({ inputs: modelDim, outputs: outputChannels, key: readoutKey, dtype });
  const layers = layerKeys.map((own) => parts.makeLayer(own));
  const { norm } = parts;
  const finish = (x: Tensor) => norm ? norm(x) : x;
  const parameters: StateSpaceParameters = {
    encoder: encoder.parameters,
    layers: layers.map((own) => own.parameters),
    ...(norm ? { norm: norm.parameters } : {}),
    readout: readout.parameters,
  };
  const model = layer(parameters, (x: Tensor, call: ReadoutOptions = {}) => {
    checkReadout(name, call);
    checkSequences(name, x, inputChannels);
    const features = finish(layers.reduce((u, { along }) => u.add(along(u)), encoder(x)));
    const rows = arange(x.shape[1], { dtype: x.dtype }).add(1).expandDims(1);
    const pooled = pooling === "mean" ? features.cumsum(1).div(rows) : features;
    return readout(chooseStates(name, pooled, call));
  });
  type State = { layers: Tree[]; sum?: Tensor; count?: Tensor };
  return Object.assign(model, {
    start: (batch: number): Tree => ({
      layers: layers.map((own) => own.start(batch)),
      ...(pooling === "mean"
        ? { sum: zeros([batch, modelDim], { dtype }), count: zeros([batch, 1], { dtype }) }
        : {}),
    }),
    step(row: Tensor, state: Tree): [Tensor, Tree] {
      const before = state as State;
      const states: Tree[] = [];
      let u = encoder(row);
      layers.forEach((own, i) => {
        const [output, next] = own.step(u, before.layers[i]);
        states.push(next);
        u = u.add(output);
      });
      const features = finish(u);
      if (pooling === "last") return [readout(features), { layers: states }];
      const [sum, count] = [before.sum!.add(features), before.count!.add(1)];
      return [readout(sum.div(count)), { layers: states, sum, count }];
    },
  });
}
