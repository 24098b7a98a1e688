import { checkOptions, namesOf } from "../device/options.ts";
import { ones } from "../tensor/creation.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { checkCount, checkFeatures, type Layer, layer, parameter, type ParameterOptions } from "./layer.ts";

/** Options of {@linkcode RMSNorm}. */
export interface RMSNormOptions extends Pick<ParameterOptions, "dtype"> {
  /** Length of the last axis. */
  features: number;
  /**
   * Added to the mean square.
   *
   * @default {1e-5}
   */
  eps?: number;
}

export const rmsNormOptionNames = namesOf<RMSNormOptions>()("features eps? dtype?");

/**
 * Divides by the root mean square over the last axis, then applies a weight for each feature (Zhang and
 * Sennrich, 2019, eq. 4): maps (..., features) to the same shape.
 *
 * @example
 * ```ts
 * import { key, normal, RMSNorm } from "@weft/weft";
 *
 * const norm = RMSNorm({ features: 32 });
 * norm(normal(key(0), [16, 32])).shape; // (16, 32)
 * ```
 *
 * @throws {RangeError} If `features` is not a positive integer, or `eps` is negative.
 */
export function RMSNorm(options: RMSNormOptions): Layer<[x: Tensor], { readonly weight: Tensor }> {
  checkOptions("RMSNorm", options, rmsNormOptionNames);
  const { features, eps = 1e-5, dtype = "float32" } = options;
  checkCount("RMSNorm", "features", features);
  if (!(eps >= 0 && eps < Infinity)) {
    throw new RangeError(`RMSNorm: eps is ${eps}, expected a finite number of at least 0`);
  }
  const weight = parameter(ones([features], { dtype }));
  return layer({ weight }, (x: Tensor) => {
    checkFeatures("RMSNorm", x, features);
    return x.div(x.square().mean(-1, { keepDims: true }).add(eps).sqrt()).mul(weight);
  });
}
