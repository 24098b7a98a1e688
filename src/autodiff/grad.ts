import { checkFunction, checkTensor } from "../tensor/checks.ts";
import { describe } from "../device/describe.ts";
import { checkOptions, namesOf } from "../device/options.ts";
import { isFloat } from "../device/dtype.ts";
import { bufferScope } from "../device/memory/buffer_scope.ts";
import { formatShape, sameShape, ShapeError } from "../device/shape.ts";
import { scalar } from "../tensor/creation.ts";
import { stopGradient } from "../tensor/functions.ts";
import { Symbolic } from "../tensor/symbolic.ts";
import { Tensor } from "../tensor/tensor.ts";
import {
  outliveScopes,
  record,
  type Recorder,
  recordWith,
  traceOf,
  withoutRecording,
} from "../tensor/primitive.ts";
import { buffersOf, tidy } from "../tensor/scope.ts";
import { type Tree, treeLeaves } from "../tensor/tree.ts";
import { differentiate, gradientsOf, recorded } from "./differentiate.ts";
import { passMemory } from "./pass_memory.ts";

/** Options of {@linkcode grad} and {@linkcode valueAndGrad}. */
export interface GradOptions {
  /** Whether `f` returns `[value, aux]`, where `aux` is any tree of results that are not differentiated. */
  hasAux?: boolean;
}

const gradOptionNames = namesOf<GradOptions>()("hasAux?");

/**
 * The gradient of a scalar function with respect to its first argument.
 *
 * @param f Returns a tensor of one element. The first argument is a tensor, or plain objects and arrays of tensors. If `f` closes
 * over tensors of the first argument, their gradients include the closed-over use.
 * @returns A function of the same arguments that returns gradients with the structure of the first argument; with `hasAux`,
 * `[gradients, aux]`.
 */
export function grad(f: () => Tensor): <P extends Tree>(parameters: P) => P;
/** For a function with arguments. */
export function grad<A extends Tree[]>(f: (...args: A) => Tensor): (...args: A) => A[0];
/** For a function without arguments that returns other results beside the value. */
export function grad<X>(
  f: () => readonly [Tensor, X],
  options: { hasAux: true },
): <P extends Tree>(parameters: P) => [gradient: P, aux: X];
/** For a function that returns other results beside the value. */
export function grad<A extends Tree[], X>(
  f: (...args: A) => readonly [Tensor, X],
  options: { hasAux: true },
): (...args: A) => [gradient: A[0], aux: X];
export function grad(
  f: (...args: Tree[]) => unknown,
  options: GradOptions = {},
): (...args: Tree[]) => unknown {
  const both = gradientFunction("grad", f, options);
  return (...args) =>
    tidy(() => {
      const { value, gradients } = both(args);
      return options.hasAux ? [gradients, (value as [Tensor, unknown])[1]] : gradients;
    });
}

/**
 * The value and the gradient of a scalar function, computed together.
 *
 * @example
 * ```ts
 * import { type Tensor, tensor, valueAndGrad } from "@weft/weft";
 *
 * const loss = (w: { a: Tensor; b: Tensor }) => w.a.mul(w.b).sum();
 * const [value, gradients] = valueAndGrad(loss)({ a: tensor([1, 2]), b: tensor([3, 4]) });
 * console.log(value, gradients.a); // 11, [3, 4]
 * ```
 *
 * @example Other results
 * ```ts
 * import { type Tensor, tensor, valueAndGrad } from "@weft/weft";
 *
 * const loss = (w: Tensor) => [w.square().sum(), { largest: w.max() }] as const;
 * const [[value, { largest }], gradient] = valueAndGrad(loss, { hasAux: true })(tensor([1, 2]));
 * console.log(value, largest, gradient); // 5, 2, [2, 4]
 * ```
 *
 * @param f As in {@linkcode grad}; `valueAndGrad(() => loss(model(x)))(model.parameters)` trains a model.
 * @returns A function of the same arguments that returns `[value, gradients]`, or `[[value, aux], gradients]` with `hasAux`. The
 * gradients have the structure of the first argument, with zeros for tensors that the value does not depend on. All other
 * tensors that `f` made are freed.
 * @throws {TypeError} If the first argument has no tensor, or a tensor that is not a float; or if `f` does not return
 * `[value, aux]` with `hasAux`.
 * @throws {ShapeError} If the value is not a tensor of one element.
 */
export function valueAndGrad(
  f: () => Tensor,
): <P extends Tree>(parameters: P) => [value: Tensor, gradient: P];
/** For a function with arguments. */
export function valueAndGrad<A extends Tree[]>(
  f: (...args: A) => Tensor,
): (...args: A) => [value: Tensor, gradient: A[0]];
/** For a function without arguments that returns other results beside the value. */
export function valueAndGrad<X>(
  f: () => readonly [Tensor, X],
  options: { hasAux: true },
): <P extends Tree>(parameters: P) => [result: [value: Tensor, aux: X], gradient: P];
/** For a function that returns other results beside the value. */
export function valueAndGrad<A extends Tree[], X>(
  f: (...args: A) => readonly [Tensor, X],
  options: { hasAux: true },
): (...args: A) => [result: [value: Tensor, aux: X], gradient: A[0]];
export function valueAndGrad(
  f: (...args: Tree[]) => unknown,
  options: GradOptions = {},
): (...args: Tree[]) => unknown {
  const both = gradientFunction("valueAndGrad", f, options);
  return (...args) => {
    const { value, gradients } = both(args);
    return [value, gradients];
  };
}

/** The function that computes the result of `f`, with other results if it has them, and its gradient. */
function gradientFunction(
  operation: string,
  f: (...args: Tree[]) => unknown,
  options: GradOptions,
): (args: Tree[]) => { value: unknown; gradients: Tree } {
  checkFunction(operation, "f", f);
  checkOptions(operation, options, gradOptionNames);
  const { hasAux = false } = options;
  return (args) => {
    if (treeLeaves(args[0]).length === 0) {
      throw new TypeError(
        "grad: the first argument contains no tensor; convert numbers to tensors, as tensor(2)",
      );
    }
    return differentiate(() => f(...args), args[0], (result) => {
      if (hasAux && !(Array.isArray(result) && result.length === 2)) {
        throw new TypeError(
          `grad: with hasAux, the function must return [value, aux], got ${describe(result)}`,
        );
      }
      const value = hasAux ? (result as unknown[])[0] : result;
      if (!(value instanceof Tensor) || value.size !== 1) {
        const actual = value instanceof Tensor ? `shape ${formatShape(value.shape)}` : typeof value;
        throw new ShapeError(
          `grad: the function must return a tensor of one element, got ${actual}; use .sum() or .mean()`,
        );
      }
      return [scalar(1, value.dtype).broadcastTo(value.shape)];
    });
  };
}

/**
 * The value and the vector-Jacobian product of a function.
 *
 * @param f A function without arguments, which closes over tensors.
 * @param wrt The tensors to differentiate with respect to: one, or plain objects and arrays of them.
 * @returns `value` and `pullback`. `pullback` takes a cotangent with the structure, shapes and types of the value, and returns
 * gradients with the structure of `wrt`.
 * @throws {ShapeError} By `pullback`, if the cotangent differs from the value in structure, shapes or types.
 */
export function vjp<T extends Tree, W extends Tree>(
  f: () => T,
  wrt: W,
): { value: T; pullback: (cotangent: T) => W } {
  checkFunction("vjp", "f", f);
  const { tape, value } = recorded(f, wrt);
  const outputs = treeLeaves(value);
  const pullback = (cotangent: T) => {
    const cotangents = treeLeaves(cotangent);
    const isLike = (x: Tensor, i: number) =>
      cotangents[i]?.dtype === x.dtype && sameShape(cotangents[i].shape, x.shape);
    if (cotangents.length !== outputs.length || !outputs.every(isLike)) {
      const [actual, expected] = [cotangents, outputs].map((list) =>
        list.map(({ dtype, shape }) => `${dtype} ${formatShape(shape)}`).join(", ")
      );
      throw new ShapeError(`vjp: the cotangent is ${actual}, expected ${expected}, as the value`);
    }
    // The caller may call `pullback` again, so it must not free the values of f.
    return bufferScope(
      (owned) => gradientsOf(tape, wrt, outputs, cotangents, outliveScopes() ? undefined : passMemory(owned)),
      (gradients, owned) => outliveScopes() ? owned : buffersOf(gradients),
    );
  };
  return { value, pullback };
}

/**
 * Computes `f` now and again during the reverse pass, instead of storing its intermediate values: less memory for more time. In the
 * body of a compiled loop, and in `jvp` and `vmap`, `remat` just calls `f`.
 *
 * @param f A function of tensors. Gradients also flow to the tensors that it closes over.
 * @param args Arguments of `f`.
 */
export function remat<A extends Tensor[]>(f: (...args: A) => Tensor, ...args: A): Tensor {
  checkFunction("remat", "f", f);
  args.forEach((x, i) => checkTensor(`remat: argument ${i} of f`, x));
  // In a trace, `remat` just calls f: the trace differentiates the operations of f.
  if (traceOf(args)) return f(...args);
  const closure = new Closure();
  const output = withoutRecording(() =>
    tidy(() => {
      const result = recordWith(closure, () => f(...args));
      checkTensor("remat: the result of f", result);
      if (result.storage instanceof Symbolic) return undefined;
      // f may return a tensor from outside that no operation has read.
      closure.read(result);
      return stopGradient(result);
    })
  );
  // The result is a symbol, because f closes over symbols.
  if (!output) return f(...args);
  const inputs = [...new Set([...args, ...closure.outside])].filter((x) => isFloat(x.dtype));
  record(inputs, [output], ([cotangent], wanted) => {
    const { gradients } = differentiate(
      () => f(...args),
      inputs.filter((_, i) => wanted[i]),
      () => [cotangent],
    );
    const remaining = [...gradients];
    return wanted.map((isWanted) => isWanted ? remaining.shift() : undefined);
  });
  return output;
}

/** Finds the tensors that a function closes over. */
class Closure implements Recorder {
  readonly outside = new Set<Tensor>();
  readonly #computed = new Set<Tensor>();

  watches(): boolean {
    return false;
  }

  reads(): boolean {
    return false;
  }

  record(inputs: readonly Tensor[], outputs: readonly Tensor[]): void {
    inputs.forEach((input) => this.read(input));
    for (const output of outputs) this.#computed.add(output);
  }

  /** Adds a tensor that the function reads or returns. */
  read(x: Tensor): void {
    if (!this.#computed.has(x)) this.outside.add(x);
  }
}
