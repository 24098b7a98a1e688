import { describe } from "../device/describe.ts";
import { checkOptions, namesOf } from "../device/options.ts";
import { normalizeAxis } from "../device/shape.ts";
import { checkTensor } from "./checks.ts";
import { takeAlong } from "./methods/sorting.ts";
import type { Tensor } from "./tensor.ts";

/** Options of {@linkcode topK}. */
export interface TopKOptions {
  /**
   * The axis of the elements.
   *
   * @default {-1}
   */
  axis?: number;
}

const topKOptionNames = namesOf<TopKOptions>()("axis?");

/**
 * The largest elements along an axis, the largest first, and their positions, as PyTorch's `topk`. Of equal elements the first
 * ones are taken, and NaN counts as the largest. Gradients flow to the elements.
 *
 * @example
 * ```ts
 * import { tensor, topK } from "@weft/weft";
 *
 * const { values, indices } = topK(tensor([3, 1, 4, 1, 5]), 2); // [5, 4] at [4, 2]
 * ```
 *
 * @param k A whole number from 0 to the length of the axis.
 * @returns `values` of the type of `x`, and `indices`, int32: in the shape of `x` with `k` elements along the axis.
 * @throws {RangeError} If there are fewer than `k` elements.
 */
export function topK(
  x: Tensor,
  k: number,
  options: TopKOptions = {},
): { values: Tensor; indices: Tensor } {
  checkTensor("topK: x", x);
  checkOptions("topK", options, topKOptionNames);
  const axis = normalizeAxis(options.axis ?? -1, x.rank, "topK");
  if (!(Number.isInteger(k) && k >= 0 && k <= x.shape[axis])) {
    throw new RangeError(`topK: k is ${describe(k)}, expected a whole number from 0 to ${x.shape[axis]}`);
  }
  const indices = x.argsort(axis, { descending: true }).slice(axis, 0, k);
  return { values: takeAlong(x, indices, axis), indices };
}
