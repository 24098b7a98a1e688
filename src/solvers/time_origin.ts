/**
 * Times beyond the precision of float32. If the times of a solve are far from zero, the solver counts them from the first time, in
 * float64 on the host. The device then receives small numbers. A vector field receives rounded times.
 */
import type { DType } from "../device/dtype.ts";
import { lostByRounding } from "../paths/times.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { TracedFunction, Uncompilable } from "../compile/loop/loop.ts";
import { NoValuesError } from "../tensor/symbolic.ts";
import { checkField } from "./check_arguments.ts";
import type { ErrorNorm } from "./adaptive/step_control.ts";
import type { VectorField } from "./runge_kutta.ts";

/** Largest distance of times from zero, in durations of the solve. It leaves 17 bits of float32 for times within the solve. */
const maxRelativeOffset = 128;

/** The origin of the times of a solve: the first time if the times are far from zero, otherwise 0. */
export function originOf(times: Float64Array, dtype: DType): number {
  const [begin, end] = [times[0], times[times.length - 1]];
  const largest = Math.max(Math.abs(begin), Math.abs(end));
  return dtype === "float32" && largest > maxRelativeOffset * Math.abs(end - begin) ? begin : 0;
}

/**
 * Whether a vector field uses its time. A field that reads values cannot be traced, so it may use the time.
 *
 * @param norm Decides the shape of the times that the field receives: a scalar, or one time per sample.
 * @throws The errors of the vector field and of {@linkcode checkField}.
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
 * Checks that times remain distinct for a vector field that uses its time.
 *
 * @param times Ends of steps, or output times.
 * @throws {RangeError} If the type of the state rounds adjacent times to nearly the same number.
 */
export function checkTimeResolution(times: Float64Array, dtype: DType, usesTime: () => boolean): void {
  if (lostByRounding(times, dtype) < 0.5 || !usesTime()) return;
  throw new RangeError(
    `odeint: the vector field uses t, but ${dtype} cannot distinguish the times from ${times[0]} to ${
      times[times.length - 1]
    }: subtract the first time from all times, or use float64`,
  );
}
