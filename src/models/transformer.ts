/** Time series Transformers: causal self-attention over the rows of a sequence. */
import { checkOptions, namesOf } from "../device/options.ts";
import type { DType } from "../device/dtype.ts";
import { type AttentionMemory, type AttentionParameters, CausalAttention } from "../nn/attention.ts";
import { Dropout } from "../nn/dropout.ts";
import { checkCount, type Layer, layer } from "../nn/layer.ts";
import { LayerNorm, type LayerNormParameters } from "../nn/layer_norm.ts";
import { Linear, type LinearParameters } from "../nn/linear.ts";
import { arange } from "../tensor/creation.ts";
import { stack } from "../tensor/functions.ts";
import { foldIn, type Key, splitKey } from "../tensor/random.ts";
import type { Tensor } from "../tensor/tensor.ts";
import {
  Forecaster,
  forecasterBaseOptionNames,
  type ForecasterBaseOptions,
  type ForecasterModel,
} from "./forecaster.ts";
import { checkReadout, chooseStates, type ReadoutOptions, sequenceCallNames } from "./readout_states.ts";
import { checkSequences, sequenceOptionNames, type SequenceOptions } from "./sequences.ts";

/** Sizes of a Transformer. */
export interface TransformerSizes {
  /** Features of a row inside the model. Must be even. */
  modelDim: number;
  /** Number of heads of each layer. `modelDim` must be a multiple of it. */
  heads: number;
  /**
   * Number of layers.
   *
   * @default {2}
   */
  layers?: number;
  /** Features inside the feed-forward blocks, `4 * modelDim` by default. */
  feedForward?: number;
  /**
   * The probability that dropout zeroes a feature in training.
   *
   * @default {0}
   */
  dropout?: number;
}

/** Options of {@linkcode Transformer}. */
export interface TransformerOptions extends TransformerSizes, SequenceOptions {}

const sizeNames = namesOf<Omit<TransformerSizes, "dropout">>()("modelDim heads layers? feedForward?");

const transformerOptionNames = namesOf<TransformerOptions>()(sequenceOptionNames, sizeNames, "dropout?");

/** Parameters of a layer, with the names of PyTorch's `TransformerEncoderLayer`. */
export type TransformerLayerParameters = {
  /** Self-attention. */
  readonly self_attn: AttentionParameters;
  /** Input layer of the feed-forward block: `modelDim` to `feedForward` features. */
  readonly linear1: LinearParameters;
  /** Output layer of the feed-forward block: `feedForward` to `modelDim` features. */
  readonly linear2: LinearParameters;
  /** The norm after the attention. */
  readonly norm1: LayerNormParameters;
  /** The norm after the feed-forward block. */
  readonly norm2: LayerNormParameters;
};

/** Parameters of the embedding and of the layers. */
export type EncoderParameters = {
  /** Maps the channels of a row to `modelDim` features. */
  readonly embedding: LinearParameters;
  /** The layers, in the order of computation. */
  readonly layers: readonly TransformerLayerParameters[];
};

/**
 * State of an encoder that reads row by row: the memory of each layer, and the number of rows read so far,
 * `(batch, 1)`.
 */
type EncoderState = { readonly memories: readonly AttentionMemory[]; readonly position: Tensor };

/** An encoder that reads whole sequences, or row by row. */
interface Encoder {
  readonly parameters: EncoderParameters;
  all(x: Tensor, key?: Key): Tensor;
  start(x: Tensor): EncoderState;
  step(row: Tensor, state: EncoderState): [EncoderState, Tensor];
}

function Encoder(
  name: string,
  options: TransformerSizes & { inputs: number; key: Key; dtype?: DType },
): Encoder {
  const { inputs, modelDim, heads, layers: count = 2, feedForward = 4 * modelDim, dropout = 0 } = options;
  const { key, dtype } = options;
  checkCount(name, "modelDim", modelDim);
  if (modelDim % 2 !== 0) throw new RangeError(`${name}: modelDim is ${modelDim}, expected an even number`);
  checkCount(name, "heads", heads);
  checkCount(name, "layers", count);
  checkCount(name, "feedForward", feedForward);
  const embedding = Linear({ inputs, outputs: modelDim, key: foldIn(key, 0), dtype });
  const drop = Dropout({ rate: dropout });
  const layers = Array.from({ length: count }, (_, l) => {
    const keys = splitKey(foldIn(key, l + 1), 3);
    return {
      attention: CausalAttention({ features: modelDim, heads, key: keys[0], dtype }),
      linear1: Linear({ inputs: modelDim, outputs: feedForward, key: keys[1], dtype }),
      linear2: Linear({ inputs: feedForward, outputs: modelDim, key: keys[2], dtype }),
      norm1: LayerNorm({ features: modelDim, dtype }),
      norm2: LayerNorm({ features: modelDim, dtype }),
    };
  });
  /** The part of a layer after the attention. */
  const finish = (l: number, x: Tensor, attended: Tensor, key?: Key) => {
    const { linear1, linear2, norm1, norm2 } = layers[l];
    const keys = key ? splitKey(key, 3) : [];
    const y = norm1(x.add(drop(attended, keys[0])));
    return norm2(y.add(drop(linear2(drop(linear1(y).relu(), keys[1])), keys[2])));
  };
  return {
    parameters: {
      embedding: embedding.parameters,
      layers: layers.map(({ attention, linear1, linear2, norm1, norm2 }) => ({
        self_attn: attention.parameters,
        linear1: linear1.parameters,
        linear2: linear2.parameters,
        norm1: norm1.parameters,
        norm2: norm2.parameters,
      })),
    },
    all(x, key) {
      const positions = arange(x.shape[1], { dtype: x.dtype }).expandDims(-1);
      const embedded = embedding(x).add(positionalEncoding(positions, modelDim));
      return layers.reduce(
        (y, { attention }, l) => finish(l, y, attention(y), key && foldIn(key, l)),
        drop(embedded, key && foldIn(key, count)),
      );
    },
    start(x) {
      const [batch, length] = x.shape;
      return {
        memories: layers.map(({ attention }) => attention.memory(batch, length)),
        position: x.select(1, 0).slice(-1, 0, 1).zerosLike(),
      };
    },
    step(row, { memories, position }) {
      let y = embedding(row).add(positionalEncoding(position, modelDim));
      const next = layers.map(({ attention }, l) => {
        const [memory, attended] = attention.step(y, memories[l], position);
        y = finish(l, y, attended);
        return memory;
      });
      return [{ memories: next, position: position.add(1) }, y];
    },
  };
}

/**
 * The sinusoidal encoding of positions `(..., 1)` as `(..., features)`: alternating sin(t w_i) and cos(t
 * w_i), with rates w_i from 1 to 1 / 10,000 (Vaswani et al., 2017, section 3.5).
 */
function positionalEncoding(positions: Tensor, features: number): Tensor {
  const rates = arange(features / 2, { dtype: positions.dtype }).mul(-2 * Math.log(10_000) / features).exp();
  const angles = positions.mul(rates);
  return stack([angles.sin(), angles.cos()], -1).flatten(-2);
}

/**
 * A time series Transformer (Vaswani et al., "Attention Is All You Need", 2017). Rows of a sequence `(batch,
 * length, inputChannels)` are mapped to features, and the encoding of their positions is added. Layers of
 * causal self-attention and feed-forward blocks with ReLU follow, each block with a residual connection and a
 * layer norm after it, as in PyTorch's `TransformerEncoder`. The output is linear in the features of the last
 * row, `(batch, outputChannels)`, or in those of all rows, `(batch, length, outputChannels)`; each row only
 * depends on rows up to itself. The `key` of a call turns dropout on.
 *
 * @example
 * ```ts
 * import { key, normal, Transformer } from "@weft/weft";
 *
 * const sizes = { inputChannels: 3, modelDim: 16, heads: 4, outputChannels: 10 };
 * const model = Transformer({ ...sizes, key: key(0) });
 * model(normal(key(1), [32, 100, 3])).shape; // (32, 10)
 * ```
 *
 * @throws {RangeError} If a size is not a positive integer, `modelDim` is odd, or `modelDim` is not a
 * multiple of `heads`.
 */
export function Transformer(
  options: TransformerOptions,
): Layer<
  [x: Tensor, options?: ReadoutOptions & { key?: Key }],
  EncoderParameters & { readonly readout: LinearParameters }
> {
  checkOptions("Transformer", options, transformerOptionNames);
  const { inputChannels, outputChannels, key, ...sizes } = options;
  const [encoderKey, readoutKey] = splitKey(key);
  checkCount("Transformer", "inputChannels", inputChannels);
  const encoder = Encoder("Transformer", { ...sizes, inputs: inputChannels, key: encoderKey });
  const { modelDim, dtype } = sizes;
  const readout = Linear({ inputs: modelDim, outputs: outputChannels, key: readoutKey, dtype });
  const parameters = { ...encoder.parameters, readout: readout.parameters };
  return layer(parameters, (x: Tensor, callOptions: ReadoutOptions & { key?: Key } = {}) => {
    checkOptions("Transformer", callOptions, sequenceCallNames);
    const { key, ...call } = callOptions;
    checkReadout("Transformer", call);
    checkSequences("Transformer", x, inputChannels);
    return readout(chooseStates("Transformer", encoder.all(x, key), call));
  });
}

/** Options of {@linkcode TransformerForecaster}. */
export interface TransformerForecasterOptions
  extends ForecasterBaseOptions, Omit<TransformerSizes, "dropout"> {}

const transformerForecasterOptionNames = namesOf<TransformerForecasterOptions>()(
  forecasterBaseOptionNames,
  sizeNames,
);

/**
 * A {@linkcode Transformer} that forecasts a sequence value by value, like a {@linkcode RecurrentForecaster}.
 * It is a baseline of WARP (Nzoyem et al., 2025, appendix B.4; the baseline there, from the Transformers
 * library, also has a decoder and predicts Student's t distributions). If all values are given (`forcing: 1`,
 * or a context of the full length), they are read at once, as in training. Otherwise rows are read one after
 * another, with cached keys and values.
 *
 * @example
 * ```ts
 * import { key, normal, TransformerForecaster } from "@weft/weft";
 *
 * const model = TransformerForecaster({ channels: 2, modelDim: 16, heads: 4, key: key(0) });
 * const x = normal(key(1), [32, 50, 2]);
 * model(x, { context: 10 }).shape; // (32, 50, 2)
 * ```
 *
 * @throws {RangeError} As {@linkcode Transformer}, or if `context` is out of range.
 */
export function TransformerForecaster(
  forecasterOptions: TransformerForecasterOptions,
): ForecasterModel<EncoderParameters> {
  checkOptions("TransformerForecaster", forecasterOptions, transformerForecasterOptionNames);
  const { modelDim, heads, layers, feedForward, ...options } = forecasterOptions;
  const { dtype } = options;
  return Forecaster<EncoderState, EncoderParameters>("TransformerForecaster", (inputs, key) => ({
    ...Encoder("TransformerForecaster", { inputs, modelDim, heads, layers, feedForward, key, dtype }),
    features: modelDim,
  }), options);
}
