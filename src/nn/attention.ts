import { checkOptions, namesOf } from "../device/options.ts";
import { refuseShape } from "../device/shape.ts";
import { arange, zeros } from "../tensor/creation.ts";
import { splitKey } from "../tensor/random.ts";
import { tidy } from "../tensor/scope.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { initialWeight } from "./initialization.ts";
import {
  checkCount,
  checkFeatures,
  type Layer,
  layer,
  parameterOf,
  parameterOptionNames,
  type ParameterOptions,
} from "./layer.ts";
import { Linear, type LinearParameters } from "./linear.ts";

/** Options of {@linkcode CausalAttention}. */
export interface AttentionOptions extends ParameterOptions {
  /** Features of a row. */
  features: number;
  /** The number of heads. `features` must be a multiple of it. */
  heads: number;
}

const attentionOptionNames = namesOf<AttentionOptions>()("features heads", parameterOptionNames);

/**
 * Weights of the queries, keys and values (stacked along the first axis) and of the output. The names are
 * PyTorch's.
 */
export type AttentionParameters = {
  /** Shape (3 * features, features). */
  readonly in_proj_weight: Tensor;
  /** Shape (3 * features). */
  readonly in_proj_bias: Tensor;
  /** Maps the concatenated outputs of the heads to `features`. */
  readonly out_proj: LinearParameters;
};

/**
 * Keys and values of the rows read so far, each `(batch, heads, length, features / heads)`. Rows not yet read
 * are zero.
 */
export type AttentionMemory = { readonly keys: Tensor; readonly values: Tensor };

/** Self-attention where each row attends to itself and to earlier rows. */
export type CausalAttentionLayer = Layer<[x: Tensor], AttentionParameters> & {
  /** An empty memory, for sequences of at most `length` rows. */
  memory(batch: number, length: number): AttentionMemory;
  /**
   * Reads one row `(batch, features)` at index `position` `(batch, 1)`. Returns the updated memory and the
   * output `(batch, features)`.
   */
  step(x: Tensor, memory: AttentionMemory, position: Tensor): [AttentionMemory, Tensor];
};

/** Added to the scores of masked rows, so that their attention weight is zero. */
const unseen = -1e9;

/**
 * Causal multi-head self-attention (Vaswani et al., "Attention Is All You Need", 2017, section 3.2): maps
 * `(batch, length, features)` to the same shape. In each head of d features:
 *
 *     y_t = W_o sum_(s <= t) softmax_s(q_t k_s / sqrt(d)) v_s + b_o
 *
 * The result equals PyTorch's `MultiheadAttention` with `batch_first` and a causal mask. `step` gives the
 * same output row by row, from the keys and values of earlier rows.
 *
 * @example
 * ```ts
 * import { CausalAttention, key, normal } from "@weft/weft";
 *
 * const attention = CausalAttention({ features: 32, heads: 4, key: key(0) });
 * attention(normal(key(1), [16, 20, 32])).shape; // (16, 20, 32)
 * ```
 *
 * @throws {RangeError} If a size is not a positive integer, or `features` is not a multiple of `heads`.
 */
export function CausalAttention(options: AttentionOptions): CausalAttentionLayer {
  checkOptions("CausalAttention", options, attentionOptionNames);
  const { features, heads, key, dtype } = options;
  checkCount("CausalAttention", "features", features);
  checkCount("CausalAttention", "heads", heads);
  if (features % heads !== 0) {
    throw new RangeError(`CausalAttention: ${heads} heads do not divide ${features} features`);
  }
  const size = features / heads;
  const keys = splitKey(key);
  const type = dtype ?? "float32";
  const in_proj_weight = parameterOf(() =>
    initialWeight("glorotUniform", keys[0], [3 * features, features], type)
  );
  const in_proj_bias = parameterOf(() => zeros([3 * features], { dtype }));
  const output = Linear({ inputs: features, outputs: features, key: keys[1], dtype });
  tidy(() => output.parameters.bias!.assign(output.parameters.bias!.zerosLike()));

  /** Queries, keys and values of rows `(..., features)`, each `(..., heads, size)`. */
  const project = (x: Tensor) => {
    checkFeatures("CausalAttention", x, features);
    const all = x.matmul(in_proj_weight.mT).add(in_proj_bias);
    return [0, 1, 2].map((part) =>
      all.slice(-1, part * features, (part + 1) * features).reshape([...x.shape.slice(0, -1), heads, size])
    );
  };
  const scale = 1 / Math.sqrt(size);

  const attention = layer({ in_proj_weight, in_proj_bias, out_proj: output.parameters }, (x: Tensor) => {
    if (x.rank !== 3) {
      refuseShape("CausalAttention: x", x.shape, `(batch, length, ${features})`);
    }
    const [query, key, value] = project(x).map((part) => part.transpose(1, 2));
    const rows = arange(x.shape[1], { dtype: "int32" });
    const sees = rows.expandDims(1).greaterEqual(rows);
    const shares = sees.where(query.mul(scale).matmul(key.mT), unseen).softmax();
    return output(shares.matmul(value).transpose(1, 2).flatten(-2));
  });
  return Object.assign(attention, {
    memory(batch: number, length: number): AttentionMemory {
      const make = () => zeros([batch, heads, length, size], { dtype });
      return { keys: make(), values: make() };
    },
    step(x: Tensor, memory: AttentionMemory, position: Tensor): [AttentionMemory, Tensor] {
      const [query, key, value] = project(x); // (batch, heads, size)
      const rows = arange(memory.keys.shape[2], { dtype: x.dtype }); // (length)
      const here = rows.equal(position).expandDims(1).expandDims(-1); // (batch, 1, length, 1)
      const keys = here.where(key.expandDims(-2), memory.keys);
      const values = here.where(value.expandDims(-2), memory.values);
      const scores = keys.matmul(query.mul(scale).expandDims(-1)).squeeze(-1); // (batch, heads, length)
      const shares = rows.lessEqual(position).expandDims(1).where(scores, unseen).softmax();
      const read = values.mT.matmul(shares.expandDims(-1)).squeeze(-1);
      return [{ keys, values }, output(read.flatten(-2))];
    },
  });
}
