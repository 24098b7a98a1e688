import { type Layer, layer, type ParameterOptions } from "../../nn/layer.ts";
import type { MLPParameters } from "../../nn/mlp.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { type StaticFeaturesOptions, StaticNetwork } from "../static_features.ts";
import { type HeadSizes, inHeads } from "./heads.ts";
import { hebbRule } from "./rules.ts";

/**
 * The initial fast weights from static features (Irie et al., 2022, section 4, sepsis). A network with one
 * hidden layer computes a key, a value and a rate for each head, and W(t0) = sigma(beta) tanh(v) (x)
 * softmax(k), as in the authors' code. Maps `(batch, channels)` to `(batch, heads, values, keys)`.
 */
export function StaticWeights(
  model: string,
  options: StaticFeaturesOptions,
  { modelDim, heads, key, dtype }: HeadSizes & ParameterOptions,
): Layer<[features: Tensor], MLPParameters> {
  const headDim = modelDim / heads;
  const network = StaticNetwork(model, options, { outputs: heads * (2 * headDim + 1), key, dtype });
  const rule = hebbRule();
  return layer(network.parameters, (features: Tensor) => {
    const emitted = inHeads(network(features), heads);
    return rule({
      keys: emitted.slice(-1, 0, headDim),
      values: emitted.slice(-1, headDim, 2 * headDim),
      rate: emitted.slice(-1, 2 * headDim),
    });
  });
}
