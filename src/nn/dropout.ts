import { describe } from "../device/describe.ts";
import { checkTensor } from "../tensor/checks.ts";
import { checkOptions, namesOf } from "../device/options.ts";
import { bernoulli, type Key } from "../tensor/random.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { type Layer, layer } from "./layer.ts";

/** Options of {@linkcode Dropout}. */
export interface DropoutOptions {
  /** The probability of setting an element to zero, in [0, 1). */
  rate: number;
}

const dropoutOptionNames = namesOf<DropoutOptions>()("rate");

/**
 * With a key, sets each element to zero with probability `rate` and divides the others by `1 - rate`
 * (Srivastava et al., 2014). Without a key, as in evaluation, it returns its input unchanged.
 *
 * @example
 * ```ts
 * import { Dropout, key, ones } from "@weft/weft";
 *
 * const dropout = Dropout({ rate: 0.1 });
 * dropout(ones([4]), key(0)); // in training, with a different key for every step
 * dropout(ones([4])); // in evaluation
 * ```
 *
 * @throws {RangeError} If the rate is outside [0, 1).
 */
export function Dropout(options: DropoutOptions): Layer<[x: Tensor, key?: Key], Record<string, never>> {
  checkOptions("Dropout", options, dropoutOptionNames);
  const { rate } = options;
  if (!(typeof rate === "number" && rate >= 0 && rate < 1)) {
    throw new RangeError(`Dropout: rate ${describe(rate)} is not in [0, 1)`);
  }
  return layer(
    {},
    (x: Tensor, key?: Key) => {
      checkTensor("Dropout: x", x);
      return key && rate > 0 ? bernoulli(key, 1 - rate, x.shape).where(x.div(1 - rate), 0) : x;
    },
  );
}
