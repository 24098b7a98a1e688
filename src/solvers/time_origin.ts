/**
 * Times that float32 does not hold. A solve whose times lie far from zero counts them from the first, in float64 on the host, so
 * that the device is given small numbers; what a vector field sees as t is rounded.
 */
import type { DType } from "../device/dtype.ts";
import { lostByRounding } from "../paths/times.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { TracedFunction, Uncompilable } from "../compile/loop/loop.ts";
import { NoValuesError } from "../tensor/symbolic.ts";
import { checkField } from "./check_arguments.ts";
import type { ErrorNorm } from "./adaptive/step_control.ts";
import type { VectorField } from "./runge_kutta.ts";

/** Times this many durations away from zero leave float32 17 bits for what happens between them. */
const farDurations = 128;

/** The time that a solve between the first and the last of some times counts from: the first where they are far from zero. */
export function originOf(times: Float64Array, dtype: DType): number {
  const [begin, end] = [times[0], times[times.length - 1]];
  const largest = Math.max(Math.abs(begin), Math.abs(end));
  return dtype === "float32" && largest > farDurations * Math.abs(end - begin) ? begin : 0;
}

/**
 * Whether a vector field looks at its time. One that reads values cannot be traced, and may do so.
 *
 * @param norm Decides the shape of the times that the field is given: no axes, or a time for each sample.
 * @throws What the vector field throws; {@linkcode checkField}'s errors.
 */
export function usesTime(f: VectorField, y0: Tensor, norm: ErrorNorm): boolean {
  const shape = norm === "sample" ? y0.shape.map((length, axis) => axis === 0 ? length : 1) : [];
  try {
    return new TracedFunction(checkField(f), { shape, dtype: y0.dtype }, y0).uses(0);
  } catch (error) {
    if (error instanceof NoValuesError || error instanceof Uncompilable) return true;
    throw error;
  }
}

/**
 * Checks that a vector field that looks at its time sees that it passes.
 *
 * @param times At which steps begin and end, or states are wanted.
 * @throws {RangeError} If neighbours are the same number, or as good as, in the state's type.
 */
export function checkTimesSeen(times: Float64Array, dtype: DType, usesTime: () => boolean): void {
  if (lostByRounding(times, dtype) < 0.5 || !usesTime()) return;
  throw new RangeError(
    `odeint: the vector field looks at t, but ${dtype} cannot tell the times from ${times[0]} to ${
      times[times.length - 1]
    } apart: subtract the first from all of them (and add it inside the field, to what is small), or use float64`,
  );
}
