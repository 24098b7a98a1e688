import { checkTensor } from "../tensor/checks.ts";
import { checkOptions, namesOf } from "../device/options.ts";
import { normal } from "../tensor/random.ts";
import type { Tensor } from "../tensor/tensor.ts";
import {
  checkCount,
  type Layer,
  layer,
  parameter,
  parameterOptionNames,
  type ParameterOptions,
} from "./layer.ts";

/** Options of {@linkcode Embedding}. */
export interface EmbeddingOptions extends ParameterOptions {
  /** The number of distinct indices. */
  count: number;
  /** Features of each embedding vector. */
  features: number;
}

const embeddingOptionNames = namesOf<EmbeddingOptions>()("count features", parameterOptionNames);

/**
 * A learned vector for each index: maps int32 (...) to (..., features). Initial values are standard normal,
 * as in PyTorch.
 *
 * @example
 * ```ts
 * import { Embedding, key, tensor } from "@weft/weft";
 *
 * const embedding = Embedding({ count: 10, features: 4, key: key(0) });
 * embedding(tensor([[1, 9, 0]], { dtype: "int32" })).shape; // (1, 3, 4)
 * ```
 *
 * @returns The layer; an index outside [0, count) gives NaN.
 */
export function Embedding(options: EmbeddingOptions): Layer<[indices: Tensor], { readonly weight: Tensor }> {
  checkOptions("Embedding", options, embeddingOptionNames);
  const { count, features, key, dtype = "float32" } = options;
  checkCount("Embedding", "count", count);
  checkCount("Embedding", "features", features);
  const weight = parameter(normal(key, [count, features], { dtype }));
  return layer({ weight }, (indices: Tensor) => {
    checkTensor("Embedding: indices", indices);
    if (indices.dtype !== "int32") {
      throw new TypeError(
        `Embedding: indices must be int32, got ${indices.dtype}; convert with .cast("int32")`,
      );
    }
    return weight.take(indices);
  });
}
