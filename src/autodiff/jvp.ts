import { isFloat } from "../device/dtype.ts";
import { formatShape, sameShape, ShapeError } from "../device/shape.ts";
import { checkFunction } from "../tensor/checks.ts";
import { transforming } from "../tensor/primitive.ts";
import { tidy } from "../tensor/scope.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { type Tree, treeFlatten, treeMap } from "../tensor/tree.ts";
import { TangentTrace } from "./tangents.ts";

/**
 * The value of a function and its Jacobian-vector product, by forward-mode differentiation, as `jax.jvp`. Loops and solvers stay
 * compiled, and store no states for a reverse pass.
 *
 * `jvp` composes with `grad`, `vmap` and `jit`. `jvp(grad(f))` is the product of a Hessian with a vector.
 *
 * @example
 * ```ts
 * import { grad, jvp, type Tensor, tensor } from "@weft/weft";
 *
 * const f = (x: Tensor) => x.square().mul(x).sum();
 * const [x, v] = [tensor([1, 2]), tensor([1, 0])];
 * const [value, tangent] = jvp(f)([x], [v]);
 * console.log(value, tangent); // 9 and 3
 * const [gradient, product] = jvp(grad(f))([x], [v]);
 * console.log(gradient, product); // [3, 12] and [6, 0]
 * ```
 *
 * @param f Takes and returns tensors, or plain objects and arrays of them. Tensors that `f` closes over are constants. Inside
 * `f`, reading a tensor gives its value.
 * @returns A function of the arguments and their tangents, two arrays with an entry for each argument. A tangent has the
 * structure, shapes and types of its argument; tensors of whole numbers and booleans have no tangent. The function returns
 * `[value, tangent]`, two trees of the same structure.
 * @throws {ShapeError} If a tangent is missing, or differs from its argument in shape or type.
 */
export function jvp<A extends Tree[], T>(
  f: (...args: A) => T,
): (primals: readonly [...A], tangents: readonly [...A]) => [value: T, tangent: T] {
  checkFunction("jvp", "f", f);
  return (primals, tangents) =>
    tidy(() => {
      const trace = new TangentTrace();
      const tangentsByPath = new Map(treeFlatten(tangents));
      const args = treeMap(primals, (x: Tensor, path) =>
        isFloat(x.dtype) ? trace.symbol([x, checkedTangent(x, tangentsByPath.get(path), path)]) : x);
      const result = transforming(trace, () =>
        f(...args));
      return [
        treeMap(result, (x: Tensor) =>
          trace.allParts(x)[0]),
        treeMap(result, (x: Tensor) => trace.allParts(x)[1]),
      ];
    });
}

function checkedTangent({ shape, dtype }: Tensor, tangent: Tensor | undefined, path: string): Tensor {
  if (tangent && tangent.dtype === dtype && sameShape(tangent.shape, shape)) return tangent;
  const actual = tangent ? `${tangent.dtype} ${formatShape(tangent.shape)}` : "missing";
  throw new ShapeError(
    `jvp: the tangent of argument ${path} is ${actual}, expected ${dtype} ${
      formatShape(shape)
    }, as the argument`,
  );
}
