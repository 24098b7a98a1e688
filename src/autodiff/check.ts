import { describe } from "../device/describe.ts";
import { checkFunction } from "../tensor/checks.ts";
import { checkOptions, namesOf } from "../device/options.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { tensor } from "../tensor/creation.ts";
import { tidy } from "../tensor/scope.ts";
import { type Tree, treeFlatten, treeLeaves, treeMap } from "../tensor/tree.ts";
import { key, normal } from "../tensor/random.ts";
import { vjp } from "./grad.ts";

/** Options of {@linkcode checkGradients}. */
export interface GradientCheckOptions {
  /**
   * The step of the central differences.
   *
   * @default {1e-5}
   */
  step?: number;
  /**
   * Maximum difference, relative to max(1, |gradient|).
   *
   * @default {1e-6}
   */
  tolerance?: number;
  /**
   * Maximum number of elements of each argument that are checked, equally spaced.
   *
   * @default {32}
   */
  elements?: number;
}

const optionNames = namesOf<GradientCheckOptions>()("step? tolerance? elements?");

/**
 * Compares the gradients of a function with central differences in float64, for a sum of the outputs with random weights.
 *
 * @example
 * ```ts
 * import { checkGradients, tensor } from "@weft/weft";
 *
 * await checkGradients((x) => x.tanh(), [tensor([0.5, -1], { dtype: "float64" })]);
 * ```
 *
 * @param f A function of the arguments that returns a tensor, or plain objects and arrays of them. It may close over the
 * arguments: `checkGradients((x, _) => layer(x), [x, layer.parameters])`.
 * @param args Tensors, or plain objects and arrays of them, all float64 and on the CPU. The values are changed and restored.
 * @returns The largest relative difference.
 * @throws {Error} If a difference is larger than the tolerance, with the argument and the element.
 * @throws {TypeError} If an argument is not float64, or there is no tensor to compare.
 */
export async function checkGradients<A extends Tree[]>(
  f: (...args: A) => Tree,
  args: [...A],
  options: GradientCheckOptions = {},
): Promise<number> {
  checkFunction("checkGradients", "f", f);
  if (!Array.isArray(args)) {
    throw new TypeError(`checkGradients: args is ${describe(args)}, expected an array of the arguments of f`);
  }
  checkOptions("checkGradients", options, optionNames);
  const { step = 1e-5, tolerance = 1e-6, elements = 32 } = options;
  const inputs = treeFlatten(args);
  const wrong = inputs.find(([, x]) => x.dtype !== "float64");
  if (wrong) {
    throw new TypeError(`checkGradients: argument ${wrong[0]} is ${wrong[1].dtype}, expected float64`);
  }

  const { value, pullback } = vjp(() => f(...args), args);
  if (inputs.length === 0 || treeLeaves(value).length === 0) {
    throw new TypeError(
      "checkGradients: expected tensors in the arguments and in the result of f",
    );
  }
  const weights = treeMap(value, (x: Tensor) => normal(key(x.size), x.shape, { dtype: "float64" }));
  const gradients: Tensor[] = treeLeaves(pullback(weights));
  const weighted = () => tidy(() => weightedSum(f(...args), weights));

  let worst = 0;
  for (const [position, [path, x]] of inputs.entries()) {
    const values = Float64Array.from(await x.data());
    const gradient = await gradients[position].data();
    // Assigned in place, so that functions that close over their parameters, as layers do, read the new values.
    const assign = (changed: Float64Array) =>
      tidy(() => x.assign(tensor(changed, { shape: x.shape, dtype: "float64" })));
    const at = async (element: number, shift: number) => {
      assign(values.with(element, values[element] + shift));
      try {
        return await weighted().item();
      } finally {
        assign(values);
      }
    };
    const stride = Math.max(1, Math.ceil(x.size / elements));
    for (let element = 0; element < x.size; element += stride) {
      const numeric = (await at(element, step) - await at(element, -step)) / (2 * step);
      const difference = Math.abs(numeric - gradient[element]) / Math.max(1, Math.abs(numeric));
      if (!(difference <= tolerance)) {
        throw new Error(
          `checkGradients: argument ${path}, element ${element}: gradient ${gradient[element]}, ` +
            `central difference ${numeric} (relative difference ${
              difference.toExponential(2)
            } > ${tolerance})`,
        );
      }
      worst = Math.max(worst, difference);
    }
  }
  return worst;
}

function weightedSum(value: Tree, weights: Tree): Tensor {
  const parts = treeLeaves(weights);
  return treeLeaves(value).map((x, i) => x.mul(parts[i]).sum()).reduce((total, part) => total.add(part));
}
