/** The functions of a solve, traced once for all loops of the solve. */
import { type Closure, TracedFunction, Uncompilable } from "../compile/loop/loop.ts";
import { type TensorSpec, withCommonSubexpressions } from "../tensor/primitive.ts";
import { NoValuesError } from "../tensor/symbolic.ts";
import type { Tensor } from "../tensor/tensor.ts";
import type { ErrorNorm, ErrorScale } from "./adaptive/step_control.ts";
import { columnShape } from "./adaptive/steps.ts";
import type { VectorField } from "./runge_kutta.ts";

// deno-lint-ignore no-explicit-any
type TensorFunction = (...inputs: any[]) => Tensor;

/** A vector field and the user's norm, and their origin if they were traced. */
export interface ClosedField {
  readonly f: VectorField;
  readonly measure?: ErrorScale["measure"];
  readonly closure?: Closure;
}

/** Functions that were traced together. */
export interface TracedFunctions<F extends readonly TensorFunction[]> {
  /** All tensors that the functions close over. */
  readonly tensors: readonly Tensor[];
  /** The functions with other tensors in place of `tensors`, and their origin. */
  with(tensors: readonly Tensor[]): { readonly functions: F; readonly closure: Closure };
}

/**
 * Traces functions.
 *
 * @param specs The shapes and types of the arguments of each function.
 * @param isRequired Whether a function that cannot be traced is an error.
 * @returns Undefined if a function reads values, or uses tensors of the body of an outer loop.
 */
export function traceFunctions<F extends readonly TensorFunction[]>(
  functions: F,
  specs: readonly (readonly TensorSpec[])[],
  isRequired: boolean,
): TracedFunctions<F> | undefined {
  let traced: TracedFunction[];
  try {
    traced = withCommonSubexpressions(() => functions.map((f, i) => new TracedFunction(f, ...specs[i])));
  } catch (error) {
    if (isRequired || !(error instanceof NoValuesError || error instanceof Uncompilable)) throw error;
    return undefined;
  }
  const key = traced.map(({ text }) => text).join("\n\n");
  return {
    tensors: traced.flatMap(({ closedOver }) => closedOver),
    with(tensors) {
      const rest = [...tensors];
      const functions = traced.map((traced) => {
        const own = rest.splice(0, traced.closedOver.length);
        return (...inputs: Tensor[]) => traced.callWith(inputs, own);
      });
      return { functions: functions as unknown as F, closure: { key, tensors } };
    },
  };
}

/** A traced vector field, and the traced norm if the user gives a norm. */
export type TracedField = TracedFunctions<
  readonly [VectorField] | readonly [VectorField, measure: NonNullable<ErrorScale["measure"]>]
>;

/** Traces a vector field of packed states, as {@linkcode traceFunctions}. */
export function traceField(
  f: VectorField,
  y0: Tensor,
  { norm, measure }: { readonly norm: ErrorNorm; readonly measure?: ErrorScale["measure"] },
  isRequired = false,
): TracedField | undefined {
  const functions = measure ? [f, measure] as const : [f] as const;
  return traceFunctions<typeof functions>(functions, [[timeSpec(y0, norm), y0], [y0]], isRequired);
}

/** A traced vector field, with other tensors in place of those that it closes over. */
export function closedField(traced: TracedField, tensors = traced.tensors): ClosedField {
  const { functions: [f, measure], closure } = traced.with(tensors);
  return { f, measure, closure };
}

/** The time that a vector field of packed states receives: a scalar, or a column of one time for each sample. */
export function timeSpec(y0: Tensor, norm: ErrorNorm): TensorSpec {
  return { shape: norm === "sample" ? columnShape(y0) : [], dtype: y0.dtype };
}
