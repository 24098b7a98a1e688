import { describe } from "../device/describe.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { type Layer, layer, type ParameterTree } from "./layer.ts";

/**
 * Applies layers one after another, as PyTorch's `nn.Sequential`. Functions without parameters, such as activations, count as
 * layers.
 *
 * @example
 * ```ts
 * import { key, Linear, normal, Sequential, splitKey, type Tensor } from "@weft/weft";
 *
 * const [first, second] = splitKey(key(0));
 * const model = Sequential(
 *   Linear({ inputs: 3, outputs: 16, key: first }),
 *   (x: Tensor) => x.relu(),
 *   Linear({ inputs: 16, outputs: 2, key: second }),
 * );
 * model(normal(key(1), [8, 3])).shape; // (8, 2)
 * ```
 *
 * @returns A layer with the parameters of each layer in order: `0.weight`, `0.bias`, `2.weight`, `2.bias`.
 * @throws {TypeError} If a layer is not a function.
 */
export function Sequential(
  ...layers: readonly (((x: Tensor) => Tensor) & { readonly parameters?: ParameterTree })[]
): Layer<[x: Tensor], readonly ParameterTree[]> {
  layers.forEach((part, i) => {
    if (typeof part === "function") return;
    throw new TypeError(`Sequential: layer ${i} is ${describe(part)}, expected a function of a tensor`);
  });
  const parameters = layers.map(({ parameters = {} }) => parameters);
  return layer(parameters, (x: Tensor) => layers.reduce((value, part) => part(value), x));
}
