import { Dropout } from "../../nn/dropout.ts";
import { type Layer, layer, type ParameterOptions } from "../../nn/layer.ts";
import { LayerNorm, type LayerNormParameters } from "../../nn/layer_norm.ts";
import { Linear, type LinearParameters } from "../../nn/linear.ts";
import { type Key, splitKey } from "../../tensor/random.ts";
import type { Tensor } from "../../tensor/tensor.ts";

/** Options of {@linkcode OutputBlock}. */
interface OutputBlockOptions extends ParameterOptions {
  modelDim: number;
  /** Features inside the feed-forward block. */
  feedForward: number;
  /**
   * Whether to project the concatenated outputs of the heads first.
   *
   * @default {true}
   */
  project?: boolean;
  /**
   * The dropout probability of a feature in training.
   *
   * @default {0}
   */
  dropout?: number;
}

/** Parameters of an {@linkcode OutputBlock}. */
type OutputBlockParameters = {
  readonly output?: LinearParameters;
  readonly feedForward: { readonly norm: LayerNormParameters; readonly layers: readonly LinearParameters[] };
};

/** Options of a call of an {@linkcode OutputBlock}. */
interface OutputBlockCall {
  /** Features added before the feed-forward block, `(..., modelDim)`. */
  residual?: Tensor;
  /** Random key of dropout. Giving a key turns dropout on. */
  key?: Key;
}

/**
 * The block after fast weights. It projects the concatenated outputs of the heads `(..., heads, values)`,
 * then applies a Transformer's feed-forward block, the FFN of equation 34 of Irie et al., 2022 (layer norm,
 * two linear maps with ReLU between them, residual). Returns `(..., modelDim)`.
 */
export function OutputBlock(
  { modelDim, feedForward, project = true, dropout = 0, key, dtype }: OutputBlockOptions,
): Layer<[outputs: Tensor, call?: OutputBlockCall], OutputBlockParameters> {
  const keys = splitKey(key, 3);
  const output = project ? Linear({ inputs: modelDim, outputs: modelDim, key: keys[0], dtype }) : undefined;
  const norm = LayerNorm({ features: modelDim, dtype });
  const layers = [
    Linear({ inputs: modelDim, outputs: feedForward, key: keys[1], dtype }),
    Linear({ inputs: feedForward, outputs: modelDim, key: keys[2], dtype }),
  ];
  const drop = Dropout({ rate: dropout });
  const parameters = {
    ...(output ? { output: output.parameters } : {}),
    feedForward: { norm: norm.parameters, layers: layers.map(({ parameters }) => parameters) },
  };
  return layer(parameters, (outputs: Tensor, { residual, key }: OutputBlockCall = {}) => {
    const dropKeys = key ? splitKey(key, 3) : [];
    const joined = outputs.flatten(-2);
    const projected = drop(output ? output(joined) : joined, dropKeys[0]);
    const x = residual ? projected.add(residual) : projected;
    const inner = drop(layers[0](norm(x)).relu(), dropKeys[1]);
    return drop(layers[1](inner), dropKeys[2]).add(x);
  });
}
