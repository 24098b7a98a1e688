/**
 * Layers, their initialization, and losses.
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
export { type ModelSummary, summary } from "./summary.ts";
export {
  type Layer,
  layer,
  loadParameters,
  parameter,
  parameterCount,
  type ParameterOptions,
  type ParameterTree,
  toDevice,
} from "./layer.ts";
export type { Initialization } from "./initialization.ts";
export { Linear, type LinearOptions, type LinearParameters } from "./linear.ts";
export { type Activation, type HiddenLayers, MLP, type MLPOptions, type MLPParameters } from "./mlp.ts";
export { LayerNorm, type LayerNormOptions, type LayerNormParameters } from "./layer_norm.ts";
export { RMSNorm, type RMSNormOptions } from "./rms_norm.ts";
export * from "./dropout.ts";
export { Sequential } from "./sequential.ts";
export * from "./embedding.ts";
export * from "./attention.ts";
export type { GateParameters, RecurrentOptions } from "./recurrent.ts";
export * from "./gru.ts";
export * from "./lstm.ts";
export * from "./losses.ts";
export * from "./ranking.ts";
