/** The functions of a solve with events, traced once for all loops of the solve. */
import { isCapturing } from "../../device/capture.ts";
import { type Closure, TracedFunction, Uncompilable } from "../../compile/loop/loop.ts";
import { NoValuesError } from "../../tensor/symbolic.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { checkField } from "../check_arguments.ts";
import type { VectorField } from "../runge_kutta.ts";
import type { Events } from "./event_search.ts";

/** The functions of a solve, of packed states. */
export interface Functions {
  readonly f: VectorField;
  readonly values: VectorField;
  readonly restart?: Events["restart"];
  readonly closure?: Closure;
}

/** Functions that are traced once. Undefined if they read values. */
export function tracedOf({ f, values, restart }: Functions, y0: Tensor, column: readonly number[]) {
  const time = { shape: column, dtype: y0.dtype };
  const like = [time, y0, { shape: column.slice(0, 1), dtype: "int32" as const }];
  const functions = [checkField(f), values, ...restart ? [restart] : []] as ((...x: Tensor[]) => Tensor)[];
  let traced: TracedFunction[];
  try {
    traced = functions.map((f, i) => new TracedFunction(f, ...like.slice(0, 2 + Math.max(0, i - 1))));
  } catch (error) {
    if (isCapturing() || !(error instanceof NoValuesError || error instanceof Uncompilable)) throw error;
    return undefined;
  }
  return {
    tensors: traced.flatMap(({ closedOver }) => closedOver),
    /** The functions, with other tensors in place of `tensors`. */
    with(tensors: readonly Tensor[]): Functions {
      const rest = [...tensors];
      const [f, values, restart] = traced.map((traced) => {
        const own = rest.splice(0, traced.closedOver.length);
        return (...inputs: Tensor[]) => traced.callWith(inputs, own);
      });
      return { f, values, restart, closure: { key: traced.map(({ text }) => text).join("\n\n"), tensors } };
    },
  };
}
