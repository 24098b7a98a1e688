/** Expressions of elementwise functions, and limits for their size: engines compile long functions slowly. */
import type { DType } from "../../device/dtype.ts";
import { lower as lowerMath } from "../../device/scalar/float32_math.ts";
import {
  constant,
  input,
  instantiate,
  rewrite,
  type Scalar,
  type ScalarFunction,
  topological,
} from "../../device/scalar/scalar.ts";

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

/** An operand of a function: a type, or a number of a type. */
interface Argument {
  readonly dtype: DType;
  readonly value?: number;
}

/** The expression of a function with some numbers as operands. The other operands are numbered from zero. */
export function expressionWith(fn: ScalarFunction, args: readonly Argument[]): Scalar {
  const expression = expressionOf(fn, args.map(({ dtype }) => dtype));
  if (args.every(({ value }) => value === undefined)) return expression;
  let count = 0;
  const replacements = args.map(({ dtype, value }) =>
    value === undefined ? input(count++, dtype) : constant(value, dtype)
  );
  const result = rewrite(expression, ({ op, value }) => op === "input" ? replacements[value!] : undefined);
  counts.set(result, operationsOf(expression));
  return result;
}
