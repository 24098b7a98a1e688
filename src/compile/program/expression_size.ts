/** Limits for the size of fused expressions: engines compile long functions slowly, and recurse into deep ones. */
import type { DType } from "../../device/dtype.ts";
import { lower as lowerMath } from "../../device/float32_math.ts";
import { instantiate, type ScalarFunction, topological } from "../../device/scalar.ts";

/** Maximum scalar operations of one expression. */
export const maxOperations = 1000;

const known = new WeakMap<ScalarFunction, Map<string, number>>();

/** Scalar operations of a function for operand types. Functions such as `exp` count as the arithmetic that computes them. */
export function operationsOf(fn: ScalarFunction, types: readonly DType[]): number {
  let own = known.get(fn);
  if (!own) known.set(fn, own = new Map());
  const key = types.join();
  let count = own.get(key);
  if (count === undefined) {
    const nodes = topological(lowerMath(instantiate(fn, types)));
    own.set(key, count = nodes.filter(({ args }) => args.length > 0).length);
  }
  return count;
}
