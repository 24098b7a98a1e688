import { checkOptions } from "../../device/options.ts";
import {
  DiscreteFastWeight,
  type DiscreteFastWeightOptions,
  discreteOptionNames,
  type SequenceModel,
} from "./discrete.ts";
import { deltaRule } from "./rules.ts";

/**
 * A DeltaNet (Schlag, Irie, Schmidhuber, "Linear Transformers Are Secretly Fast Weight Programmers", 2021;
 * Irie et al., 2022, equations 15 to 17). It computes k_t, v_t, beta_t and q_t from x_t, then
 *
 *     W_t = W_(t-1) + sigma(beta_t) (v_t - W_(t-1) softmax(k_t)) (x) softmax(k_t)
 *     y_t = W_t softmax(q_t)
 *
 * in Transformer layers with a feed-forward block. It is the discrete-time counterpart of
 * {@linkcode FastWeightODE} with the delta rule.
 *
 * Few long sequences are computed in chunks of time, see the option `mode`.
 *
 * The model takes sequences `(batch, length, inputChannels)`. It returns `(batch, outputChannels)`, or
 * `(batch, length, outputChannels)` for all states.
 *
 * @example
 * ```ts
 * import { DeltaNet, key, normal } from "@weft/weft";
 *
 * const model = DeltaNet({ inputChannels: 3, modelDim: 16, heads: 4, outputChannels: 2, layers: 2, key: key(1) });
 * model(normal(key(0), [8, 50, 3])).shape; // (8, 2)
 * ```
 *
 * @throws {RangeError} If a size is not a positive integer, or `modelDim` is not a multiple of `heads`.
 */
export function DeltaNet(options: DiscreteFastWeightOptions): SequenceModel {
  checkOptions("DeltaNet", options, discreteOptionNames);
  return DiscreteFastWeight(
    "DeltaNet",
    { rule: deltaRule({ boundValues: false }), rates: true, feedback: false },
    options,
  );
}
