/** Values computed from the expression of a scalar function, such as compiled kernels. */
import type { DType } from "../dtype.ts";
import { LruCache } from "../lru_cache.ts";
import { instantiate, type Scalar, type ScalarFunction } from "./scalar.ts";
import { textOf } from "./structure_text.ts";

/** Number of expressions whose values are cached, besides those of functions that are still referenced. */
const maxExpressions = 1024;
/** Largest number of inputs. The code of more types would exceed 2^53. */
export const maxInputs = 18;

const dtypeCodes: Record<DType, number> = { float32: 0, float64: 1, int32: 2, uint32: 3, bool: 4 };

/**
 * Caches a value for each function and the types of its operands. Functions with equal expressions share a value,
 * because callers may define the same function again at each call.
 */
export class ExpressionCache<V extends object | number> {
  /** First level: values by function, then by the code of the types. Avoids building the expression. */
  readonly #functions = new WeakMap<ScalarFunction, Map<number, V>>();
  /** Second level: values by the code of the types and the expression. */
  readonly #expressions = new LruCache<string, V>(maxExpressions);

  /**
   * Returns the value of a function.
   *
   * @param create Computes a missing value from the function's expression.
   * @throws {RangeError} If there are more than {@linkcode maxInputs} inputs.
   */
  get(
    fn: ScalarFunction,
    inputs: readonly { readonly dtype: DType }[],
    output: DType,
    create: (expression: Scalar) => V,
  ): V {
    let values = this.#functions.get(fn);
    if (!values) this.#functions.set(fn, values = new Map());
    // The loop runs for each kernel: a number is faster to make than a text.
    let code = dtypeCodes[output];
    for (let i = 0; i < inputs.length; i++) code = code * 5 + dtypeCodes[inputs[i].dtype];
    let value = values.get(code);
    if (value === undefined) {
      if (inputs.length > maxInputs) {
        throw new RangeError(
          `${fn.name}: ${inputs.length} inputs; an elementwise kernel has at most ${maxInputs}`,
        );
      }
      const expression = instantiate(fn, inputs.map(({ dtype }) => dtype));
      value = this.#expressions.getOrMake(`${code} ${textOf(expression)}`, () => create(expression));
      values.set(code, value);
    }
    return value;
  }
}
