/**
 * Splitting features into heads, and operations on the fast weight matrices of heads. Shared by all models.
 */
import { namesOf } from "../../device/options.ts";
import { checkCounts } from "../../nn/layer.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import type { TransformerSizes } from "../transformer.ts";

/** The features of a model, and the number of heads. */
export type HeadSizes = Pick<FastWeightLayerSizes, "modelDim" | "heads">;

/** Sizes of layers of fast weights. */
export interface FastWeightLayerSizes extends Pick<TransformerSizes, "feedForward"> {
  /** Features of the model over all heads: a multiple of `heads`. */
  modelDim: number;
  /**
   * The number of fast weight matrices. Each has `modelDim / heads` rows (values) and as many columns (keys).
   */
  heads: number;
  /**
   * The number of layers, 1 by default. Each layer reads the output of the layer below.
   *
   * @default {1}
   */
  layers?: number;
}

export const layerSizeNames = namesOf<FastWeightLayerSizes>()("modelDim heads layers? feedForward?");

/** `(..., features)` to `(..., heads, features / heads)`. */
export function inHeads(x: Tensor, heads: number): Tensor {
  return x.reshape([...x.shape.slice(0, -1), heads, x.shape.at(-1)! / heads]);
}

/** v (x) k: `(..., heads, values)` and `(..., heads, keys)` to `(..., heads, values, keys)`. */
export function outer(values: Tensor, keys: Tensor): Tensor {
  return values.expandDims(-1).mul(keys.expandDims(-2));
}

/**
 * W k (Irie et al., 2022, equations 11 and 20): `(..., heads, values, keys)` and `(..., heads, keys)` to
 * `(..., heads, values)`.
 */
export function product(w: Tensor, keys: Tensor): Tensor {
  return w.matmul(keys.expandDims(-1)).squeeze(-1);
}

/** Throws unless sizes are positive integers and `modelDim` is a multiple of `heads`. */
export function checkSizes(
  model: string,
  sizes: Readonly<Record<string, number>> & { modelDim: number; heads: number },
): void {
  checkCounts(model, sizes);
  const { modelDim, heads } = sizes;
  if (modelDim % heads !== 0) {
    throw new RangeError(`${model}: modelDim ${modelDim} is not a multiple of heads ${heads}`);
  }
}
