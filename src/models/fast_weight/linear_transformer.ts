import { checkOptions } from "../../device/options.ts";
import {
  DiscreteFastWeight,
  type DiscreteFastWeightOptions,
  discreteOptionNames,
  type SequenceModel,
} from "./discrete.ts";
import { additiveRule } from "./rules.ts";

/**
 * A linear Transformer (Katharopoulos et al., "Transformers are RNNs", 2020) as a fast weight programmer
 * (Schlag, Irie, Schmidhuber, "Linear Transformers Are Secretly Fast Weight Programmers", 2021). It computes
 * k_t, v_t and q_t from x_t, then
 *
 *     W_t = W_(t-1) + v_t (x) softmax(k_t)
 *     y_t = W_t softmax(q_t)
 *
 * Softmax is the feature map of keys and queries. Its values sum to one, so the output needs no other
 * normalization. It is the discrete-time counterpart of {@linkcode FastWeightODE} with Hebb's rule.
 *
 * Few long sequences are computed in chunks of time, see the option `mode`.
 *
 * The model takes sequences `(batch, length, inputChannels)`. It returns `(batch, outputChannels)`, or
 * `(batch, length, outputChannels)` for all states.
 *
 * @example
 * ```ts
 * import { key, LinearTransformer, normal } from "@weft/weft";
 *
 * const model = LinearTransformer({ inputChannels: 3, modelDim: 16, heads: 4, outputChannels: 2, key: key(1) });
 * model(normal(key(0), [8, 50, 3]), { states: "all" }).shape; // (8, 50, 2)
 * ```
 *
 * @throws {RangeError} If a size is not a positive integer, or `modelDim` is not a multiple of `heads`.
 */
export function LinearTransformer(options: DiscreteFastWeightOptions): SequenceModel {
  checkOptions("LinearTransformer", options, discreteOptionNames);
  return DiscreteFastWeight(
    "LinearTransformer",
    { rule: additiveRule(), rates: false, feedback: false },
    options,
  );
}
