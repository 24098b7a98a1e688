/** Checks of the arguments of a solve with events. */
import { formatShape, ShapeError } from "../../device/shape.ts";
import { checkTensor } from "../../tensor/checks.ts";
import { peekBeneath } from "../../compile/loop/while_loop.ts";
import { stopGradient } from "../../tensor/functions.ts";
import { hostTimes } from "../../tensor/host.ts";
import { hasValues, isWatched } from "../../tensor/primitive.ts";
import { NoValuesError } from "../../tensor/symbolic.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { cannotRead } from "../adaptive/adaptive.ts";

/** Whether a number counts events. */
export const isCount = (n: number) => n === Infinity || Number.isInteger(n) && n >= 1;

/** An option for all event functions, or one for each. */
export function forEvery<T>(
  name: string,
  value: T | readonly T[],
  length: number,
  isValid: (one: T) => boolean,
  expected: string,
): readonly T[] {
  const list = Array.isArray(value) ? value as readonly T[] : Array<T>(length).fill(value as T);
  if (list.length !== length) {
    throw new RangeError(
      `odeintEvent: ${name} has ${list.length} members, expected one for each of ${length} event functions`,
    );
  }
  const wrong = list.find((one) => !isValid(one));
  if (wrong === undefined) return list;
  throw new RangeError(`odeintEvent: ${name} is ${JSON.stringify(wrong)}, expected ${expected}`);
}

/** A time on the host, and zero with its gradient, if one is being computed. */
export function oneTime(t: Tensor | number, name: string): { host: number; move?: Tensor } {
  if (t instanceof Tensor && !hasValues(t)) {
    throw new NoValuesError(
      `odeintEvent: ${name} has no values inside vmap and in the body of a compiled loop; pass one ${name} for all examples`,
    );
  }
  const isMoving = t instanceof Tensor && isWatched(t);
  const list = typeof t === "number"
    ? [t]
    : hostTimes(isMoving ? stopGradient(t) : t, `odeintEvent: ${name}`);
  if (list.length !== 1) {
    throw new ShapeError(`odeintEvent: ${name} has ${list.length} times, expected one time of all samples`);
  }
  if (!Number.isFinite(list[0])) {
    throw new RangeError(`odeintEvent: ${name} is ${list[0]}, expected a finite time`);
  }
  if (!isMoving) return { host: list[0] };
  const time = t.reshape([]);
  return { host: list[0], move: time.sub(stopGradient(time)) };
}

/** The numbers of an event function, `(n)` or `(batch, n)`. */
export function numbersOf(values: Tensor, y: Tensor, lead: readonly number[]): Tensor {
  checkTensor("odeintEvent: the result of the event function", values);
  if (values.dtype === "bool") {
    throw new TypeError(
      "odeintEvent: the event function returned bool, expected numbers that cross zero; return a difference, such as " +
        "y.sub(0.5), instead of a comparison, such as y.less(0.5)",
    );
  }
  const isFitting = lead.length === 0 || values.shape[0] === lead[0];
  if (values.size === 0 || !isFitting) {
    throw new ShapeError(
      `odeintEvent: the event function returned ${formatShape(values.shape)} for a state of ${
        formatShape(y.shape)
      }, ` +
        (isFitting
          ? "which is empty; expected at least one sample and one number"
          : "expected the samples as first axis"),
    );
  }
  return values.cast(y.dtype).reshape([...lead, -1]);
}

/** @throws {RangeError} If the numbers of events at the start do not say which crossing is the first. */
export function checkStart(first: Tensor, owners: readonly number[], directions: readonly string[]): void {
  const values = peekBeneath(first);
  if (!values) throw cannotRead(first);
  if (values.some(Number.isNaN)) {
    throw new RangeError(
      "odeintEvent: the event function is NaN at the start, expected nonzero numbers; check its result for t0 and y0",
    );
  }
  if (values.some((value, i) => value === 0 && directions[owners[i % owners.length]] === "both")) {
    throw new RangeError(
      'odeintEvent: the event function is zero at the start; choose the direction of its next crossing, "up" or "down"',
    );
  }
}
