/** Expressions of elementwise functions, and limits for their size: engines compile long functions slowly. */
import type { DType } from "../../device/dtype.ts";
import { lower as lowerMath } from "../../device/float32_math.ts";
import { instantiate, type Scalar, type ScalarFunction, topological } from "../../device/scalar.ts";

/** Maximum scalar operations of one expression. */
export const maxOperations = 1000;

const expressions = new WeakMap<ScalarFunction, Map<string, Scalar>>();

/** The expression of a function for operand types, created once. */
export function expressionOf(fn: ScalarFunction, types: readonly DType[]): Scalar {
  let ofTypes = expressions.get(fn);
  if (!ofTypes) expressions.set(fn, ofTypes = new Map());
  const key = types.join();
  let expression = ofTypes.get(key);
  if (!expression) ofTypes.set(key, expression = instantiate(fn, types));
  return expression;
}

const counts = new WeakMap<Scalar, number>();

/** Scalar operations of an expression. Functions such as `exp` count as the arithmetic that computes them. */
export function operationsOf(expression: Scalar): number {
  let count = counts.get(expression);
  if (count === undefined) {
    const nodes = topological(lowerMath(expression));
    counts.set(expression, count = nodes.filter(({ args }) => args.length > 0).length);
  }
  return count;
}
