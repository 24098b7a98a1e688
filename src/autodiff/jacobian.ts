/** Jacobian matrices: a reverse or a forward pass, mapped over a basis. */
import { describe } from "../device/describe.ts";
import { checkOptions, namesOf } from "../device/options.ts";
import { checkFunction, checkTensor } from "../tensor/checks.ts";
import { eye, zeros } from "../tensor/creation.ts";
import { concatenate } from "../tensor/functions.ts";
import { tidy } from "../tensor/scope.ts";
import type { Tensor } from "../tensor/tensor.ts";
import type { Tree } from "../tensor/tree.ts";
import { vjp } from "./grad.ts";
import { jvp } from "./jvp.ts";
import { vmap } from "./vmap.ts";

/** Options of {@linkcode jacobian}. */
export interface JacobianOptions {
  /**
   * `"reverse"`: a reverse pass for each element of the result. `"forward"`: a forward pass for each element of the argument,
   * which stores no values of the function; `f` must not close over its argument. By default `"forward"` if the result has more
   * elements than the argument.
   */
  mode?: "forward" | "reverse";
}

const optionNames = namesOf<JacobianOptions>()("mode?");

/** Maximum number of passes that run at once. The values of a pass occupy memory for each of them. */
const maxPasses = 128;

/**
 * The Jacobian matrix of a function with respect to its first argument. The passes for all elements run at once, also through
 * loops and solvers. `jacobian(grad(f))` is the Hessian matrix of f.
 *
 * @example
 * ```ts
 * import { jacobian, tensor } from "@weft/weft";
 *
 * jacobian((x) => x.square())(tensor([1, 2])); // [[2, 0], [0, 4]]
 * ```
 *
 * @param f Takes a tensor, and any other arguments, and returns a tensor.
 * @returns A function of the same arguments that returns `(...value.shape, ...x.shape)`.
 * @throws {TypeError} If the first argument or the result is not a float tensor.
 * @throws {RangeError} If the mode is unknown.
 */
export function jacobian<A extends [x: Tensor, ...rest: Tree[]]>(
  f: (...args: A) => Tensor,
  options: JacobianOptions = {},
): (...args: A) => Tensor {
  checkFunction("jacobian", "f", f);
  checkOptions("jacobian", options, optionNames);
  const { mode } = options;
  if (mode !== undefined && mode !== "forward" && mode !== "reverse") {
    throw new RangeError(`jacobian: mode is ${describe(mode)}, expected "forward" or "reverse"`);
  }
  return (...[x, ...rest]) => {
    checkTensor("jacobian: the first argument", x);
    const valueOf = (x: Tensor) => {
      const value = f(...[x, ...rest] as A);
      checkTensor("jacobian: the result of f", value);
      return value;
    };
    return tidy(() => {
      if (mode === "forward") return forward(valueOf, x);
      const { value, pullback } = vjp<Tensor, Tensor>(() => valueOf(x), x);
      if (mode === undefined && value.size > x.size) return forward(valueOf, x);
      const rows = overBasis(value, vmap(pullback));
      return rows?.reshape([...value.shape, ...x.shape]) ??
        zeros([...value.shape, ...x.shape], { dtype: x.dtype });
    });
  };
}

function forward(f: (x: Tensor) => Tensor, x: Tensor): Tensor {
  const columns = overBasis(x, vmap((tangent: Tensor) => jvp(f)([x], [tangent])[1]));
  if (!columns) return zeros([...f(x).shape, ...x.shape], { dtype: x.dtype });
  const shape = columns.shape.slice(1);
  return columns.permute([...shape.map((_, axis) => axis + 1), 0]).reshape([...shape, ...x.shape]);
}

/** Applies a mapped linear function to the unit vectors of the space of a tensor. Returns `undefined` if the space is empty. */
function overBasis({ size, shape, dtype }: Tensor, f: (vectors: Tensor) => Tensor): Tensor | undefined {
  const basis = eye(size, { dtype }).reshape([size, ...shape]);
  const parts = Array.from(
    { length: Math.ceil(size / maxPasses) },
    (_, i) => f(basis.slice(0, i * maxPasses, Math.min(size, (i + 1) * maxPasses))),
  );
  return parts.length > 1 ? concatenate(parts) : parts[0];
}
