import { concatenate } from "../tensor/functions.ts";
import { tidy } from "../tensor/scope.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { type Tree, treeLeaves, treeMap } from "../tensor/tree.ts";
import { checkNonNegative } from "./optimizer.ts";

/**
 * Scales gradients so that their global Euclidean norm is at most `maxNorm` (Pascanu et al., 2013, algorithm
 * 1), as PyTorch's `clip_grad_norm_`. It does not wait for the device.
 *
 * If `maxNorm` is far below every norm, all clipped gradients have the same norm. Then use an optimizer whose
 * step does not depend on the scale of the gradient: {@linkcode AdaBelief} with an `eps` far below the
 * squares of the clipped elements, such as 1e-30. The default of 1e-16 adds up to 1e-13 in its moving
 * average, which dominates the squares of elements of 1e-9. Steps would then be a few thousandths of the
 * learning rate.
 *
 * @param gradients Tensors of one type, in nested plain objects and arrays.
 * @returns The scaled gradients, and the norm before scaling, a scalar tensor. If one gradient is not finite,
 * no scaled gradient is finite either: check the norm.
 * @throws {RangeError} If `maxNorm` is negative or not finite.
 * @throws {Error} If there are no gradients.
 */
export function clipByGlobalNorm<T extends Tree>(
  gradients: T,
  maxNorm: number,
): { gradients: T; norm: Tensor } {
  checkNonNegative("maxNorm", maxNorm, "clipByGlobalNorm");
  return tidy(() => {
    const all = treeLeaves(gradients);
    if (all.length === 0) throw new Error("clipByGlobalNorm: there are no gradients");
    const norm = concatenate(all.map((x) => x.reshape([-1]))).square().sum().sqrt();
    const factor = norm.zerosLike().add(maxNorm).div(norm.add(1e-6)).minimum(1);
    return { gradients: treeMap(gradients, (x) => x.mul(factor)), norm };
  });
}

/**
 * Clips each element of the gradients to [`-limit`, `limit`], as PyTorch's `clip_grad_value_` and optax's
 * `clip`.
 *
 * WARP's recipe (Nzoyem et al., 2025, appendix A.3) is a limit of 1e-7 with {@linkcode AdaBelief}. The paper
 * says that it clips norms; the authors' code clips elements. With this limit nearly every element is
 * clipped, so steps follow the signs of the gradients.
 *
 * @param gradients Tensors of one type, in nested plain objects and arrays.
 * @throws {RangeError} If `limit` is negative or not finite.
 */
export function clipByValue<T extends Tree>(gradients: T, limit: number): T {
  checkNonNegative("limit", limit, "clipByValue");
  return tidy(() => treeMap(gradients, (x) => x.clip(-limit, limit)));
}
