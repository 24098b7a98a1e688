import { checkOptions } from "../../device/options.ts";
import {
  DiscreteFastWeight,
  type DiscreteFastWeightOptions,
  discreteOptionNames,
  type SequenceModel,
} from "./discrete.ts";
import { deltaRule } from "./rules.ts";

/**
 * A recurrent fast weight programmer (Irie, Schlag, Csordás, Schmidhuber, "Going Beyond Linear Transformers
 * with Recurrent Fast Weight Programmers", 2021: the recurrent delta network). It is a {@linkcode DeltaNet}
 * whose k_t, v_t, beta_t and q_t are linear in the features of x_t and in tanh(y_(t-1)), where y_(t-1) is the
 * previous output.
 *
 * The model takes sequences `(batch, length, inputChannels)`. It returns `(batch, outputChannels)`, or
 * `(batch, length, outputChannels)` for all states.
 *
 * @example
 * ```ts
 * import { key, normal, RecurrentFWP } from "@weft/weft";
 *
 * const model = RecurrentFWP({ inputChannels: 3, modelDim: 16, heads: 4, outputChannels: 2, key: key(1) });
 * model(normal(key(0), [8, 50, 3])).shape; // (8, 2)
 * ```
 *
 * @throws {RangeError} If a size is not a positive integer, or `modelDim` is not a multiple of `heads`.
 */
export function RecurrentFWP(options: DiscreteFastWeightOptions): SequenceModel {
  checkOptions("RecurrentFWP", options, discreteOptionNames);
  return DiscreteFastWeight(
    "RecurrentFWP",
    { rule: deltaRule({ boundValues: false }), rates: true, feedback: true },
    options,
  );
}
