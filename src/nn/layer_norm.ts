import { checkTensor } from "../tensor/checks.ts";
import { checkOptions, namesOf } from "../device/options.ts";
import { ones, zeros } from "../tensor/creation.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { checkCount, checkFeatures, type Layer, layer, parameter } from "./layer.ts";
import { rmsNormOptionNames, type RMSNormOptions } from "./rms_norm.ts";

/** Options of {@linkcode LayerNorm}. */
export interface LayerNormOptions extends RMSNormOptions {
  /**
   * Added to the variance.
   *
   * @default {1e-5}
   */
  eps?: number;
  /**
   * Whether to apply a learned weight and bias.
   *
   * @default {true}
   */
  affine?: boolean;
}

const layerNormOptionNames = namesOf<LayerNormOptions>()(rmsNormOptionNames, "affine?");

/** A weight and a bias of shape (features), or neither. */
export type LayerNormParameters = { readonly weight?: Tensor; readonly bias?: Tensor };

/**
 * Normalizes the last axis to mean zero and variance one, then applies a weight and a bias for each feature
 * (Ba et al., 2016, eq. 4, with PyTorch's `eps` inside the root): maps (..., features) to the same shape.
 *
 * @example
 * ```ts
 * import { key, LayerNorm, normal } from "@weft/weft";
 *
 * const norm = LayerNorm({ features: 32 });
 * norm(normal(key(0), [16, 32])).shape; // (16, 32)
 * ```
 *
 * @throws {RangeError} If `features` is not a positive integer, or `eps` is negative.
 */
export function LayerNorm(options: LayerNormOptions): Layer<[x: Tensor], LayerNormParameters> {
  checkOptions("LayerNorm", options, layerNormOptionNames);
  const { features, eps, affine = true, dtype = "float32" } = options;
  checkCount("LayerNorm", "features", features);
  if (eps !== undefined && !(eps >= 0 && eps < Infinity)) {
    throw new RangeError(`LayerNorm: eps is ${eps}, expected a finite number of at least 0`);
  }
  const normalize = (x: Tensor) => {
    checkFeatures("LayerNorm", x, features);
    const centred = x.sub(x.mean(-1, { keepDims: true }));
    return centred.div(standardDeviationOf(centred, eps));
  };
  if (!affine) return layer({}, normalize);
  const weight = parameter(ones([features], { dtype }));
  const bias = parameter(zeros([features], { dtype }));
  return layer({ weight, bias }, (x: Tensor) => normalize(x).mul(weight).add(bias));
}

/**
 * The standard deviation over the last axis, kept as an axis of length one. The mean of `centred` over that
 * axis must be zero.
 */
export function standardDeviationOf(centred: Tensor, eps = 1e-5): Tensor {
  checkTensor("standardDeviationOf: centred", centred);
  return centred.square().mean(-1, { keepDims: true }).add(eps).sqrt();
}
