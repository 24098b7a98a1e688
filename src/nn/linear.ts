import { checkOptions, namesOf } from "../device/options.ts";
import { splitKey } from "../tensor/random.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { initialBias, type Initialization, initialWeight } from "./initialization.ts";
import {
  checkCount,
  checkFeatures,
  type Layer,
  layer,
  parameterOf,
  parameterOptionNames,
  type ParameterOptions,
} from "./layer.ts";

/** Options of {@linkcode Linear}. */
export interface LinearOptions extends ParameterOptions {
  /** Length of the input's last axis. */
  inputs: number;
  /** Length of the output's last axis. */
  outputs: number;
  /**
   * Whether to add a bias.
   *
   * @default {true}
   */
  bias?: boolean;
  /**
   * Initial distribution of the weight and the bias.
   *
   * @default {"torch"}
   */
  initialization?: Initialization;
}

export const linearOptionNames = namesOf<LinearOptions>()(
  "inputs outputs bias? initialization?",
  parameterOptionNames,
);

/** A weight of shape (outputs, inputs), and a bias of shape (outputs) unless `bias` is false. */
export type LinearParameters = { readonly weight: Tensor; readonly bias?: Tensor };

/**
 * x W^T + b on the last axis: maps (..., inputs) to (..., outputs). The weight has PyTorch's layout.
 *
 * @example
 * ```ts
 * import { key, Linear, ones } from "@weft/weft";
 *
 * const linear = Linear({ inputs: 3, outputs: 2, key: key(0) });
 * linear(ones([5, 3])).shape; // (5, 2)
 * ```
 *
 * @throws {RangeError} If `inputs` or `outputs` is not a positive integer. The layer itself throws a
 * {@linkcode ShapeError} if the last axis of its input does not have length `inputs`.
 */
export function Linear(options: LinearOptions): Layer<[x: Tensor], LinearParameters> {
  checkOptions("Linear", options, linearOptionNames);
  const { inputs, outputs, key, bias: hasBias = true, initialization = "torch", dtype = "float32" } = options;
  checkCount("Linear", "inputs", inputs);
  checkCount("Linear", "outputs", outputs);
  const [weightKey, biasKey] = splitKey(key);
  const shape = [outputs, inputs] as const;
  const weight = parameterOf(() => initialWeight(initialization, weightKey, shape, dtype));
  const bias = hasBias ? parameterOf(() => initialBias(initialization, biasKey, shape, dtype)) : undefined;
  return layer(bias ? { weight, bias } : { weight }, (x: Tensor) => {
    checkFeatures("Linear", x, inputs);
    const product = x.matmul(weight.mT);
    return bias ? product.add(bias) : product;
  });
}
