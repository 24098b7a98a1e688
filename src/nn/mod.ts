/**
 * Layers, their initialisation, and losses.
 *
 * @example
 * ```ts
 * import { Linear } from "@weft/weft/nn";
 * import { key, ones } from "@weft/weft";
 *
 * const layer = Linear({ inputs: 3, outputs: 2, key: key(0) });
 * console.log(layer(ones([1, 3])).shape);
 * ```
 *
 * @module
 */
export { type Layer, layer, loadParameters, parameter, type ParameterTree } from "./layer.ts";
export type { Initialization } from "./initialization.ts";
export { Linear, type LinearOptions, type LinearParameters } from "./linear.ts";
export { type Activation, MLP, type MLPOptions, type MLPParameters } from "./mlp.ts";
export { LayerNorm, type LayerNormOptions, type LayerNormParameters } from "./layer_norm.ts";
export { RMSNorm, type RMSNormOptions } from "./rms_norm.ts";
export { Dropout, type DropoutOptions } from "./dropout.ts";
export { Embedding, type EmbeddingOptions } from "./embedding.ts";
export {
  type AttentionMemory,
  type AttentionOptions,
  type AttentionParameters,
  CausalAttention,
  type CausalAttentionLayer,
} from "./attention.ts";
export type { GateParameters, RecurrentOptions } from "./recurrent.ts";
export { GRU, GRUCell } from "./gru.ts";
export { LSTM, LSTMCell, type LSTMCellLayer, type LSTMState } from "./lstm.ts";
export * from "./losses.ts";
export { areaUnderCurve, averagePrecision } from "./ranking.ts";
