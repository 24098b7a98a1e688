/** The functions of a solve with events. */
import { isCapturing } from "../../device/capture.ts";
import type { Closure } from "../../compile/loop/loop.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import type { ErrorNorm, ErrorScale } from "../adaptive/step_control.ts";
import { checkField } from "../check_arguments.ts";
import type { VectorField } from "../runge_kutta.ts";
import { timeSpec, traceFunctions } from "../traced_functions.ts";
import type { Events } from "./event_search.ts";

/** The functions of a solve, of packed states. */
export interface Functions {
  readonly f: VectorField;
  readonly values: VectorField;
  readonly restart?: Events["restart"];
  readonly measure?: ErrorScale["measure"];
  readonly closure?: Closure;
}

/** Functions that are traced once. Undefined if they read values. */
export function tracedOf({ f, values, restart, measure }: Functions, y0: Tensor, norm: ErrorNorm) {
  const time = timeSpec(y0, norm);
  const which = { shape: time.shape.slice(0, 1), dtype: "int32" as const };
  const traced = traceFunctions(
    [checkField(f), values, ...measure ? [measure] : [], ...restart ? [restart] : []],
    [[time, y0], [time, y0], ...measure ? [[y0]] : [], [time, y0, which]],
    isCapturing(),
  );
  return traced && {
    tensors: traced.tensors,
    /** The functions, with other tensors in place of `tensors`. */
    with(tensors: readonly Tensor[]): Functions {
      const { functions: [f, values, ...rest], closure } = traced.with(tensors);
      const [size, next] = measure ? rest : [undefined, ...rest];
      return {
        f: f as VectorField,
        values: values as VectorField,
        measure: size as Functions["measure"],
        restart: next as Functions["restart"],
        closure,
      };
    },
  };
}
