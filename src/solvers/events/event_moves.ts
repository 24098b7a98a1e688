/** Moves of the ends of steps: with an event, by the implicit function theorem, or with a fixed time. */
import { vjp } from "../../autodiff/grad.ts";
import type { Chunk } from "../../compile/loop/scan.ts";
import { zeros } from "../../tensor/creation.ts";
import { concatenate, stopGradient } from "../../tensor/functions.ts";
import { withoutRecording } from "../../tensor/primitive.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { tableOf } from "../adaptive/step_table.ts";
import { rk4 } from "../methods/rk4.ts";
import { rungeKuttaStep, type VectorField } from "../runge_kutta.ts";
import { type EventSteps, landed } from "./event_lists.ts";

/** Times that do not move with events, as zeros whose gradient flows to them, and their values. */
export interface FixedTimes {
  readonly values: readonly number[];
  /** `(length)`; undefined if no gradient with respect to them is being computed. */
  readonly moves?: Tensor;
  /** The move of the start, a scalar. */
  readonly start?: Tensor;
}

/** The moves of the fixed times at the ends of the steps of a chunk. */
export function movesOf(
  eventSteps: EventSteps,
  { start, count }: Chunk,
  column: readonly number[],
  { values, moves }: FixedTimes,
  dtype: Tensor["dtype"],
): Tensor {
  const all = concatenate([moves!.cast(dtype), zeros([1], { dtype })]);
  const nearest = (t: number) =>
    [...values.keys()].reduce((a, b) => Math.abs(values[b] - t) < Math.abs(values[a] - t) ? b : a);
  const at = tableOf(eventSteps, count, column, ({ crossed, ends }, row) => {
    const step = start + row;
    return crossed[step] === landed ? nearest(ends[step]) : values.length;
  }, "int32");
  return all.take(at.flatten()).reshape([count, ...column]);
}

/** The end of a step: its time is the sum of `t` and `shift`, through which gradients flow. */
interface StepEnd {
  readonly t: Tensor;
  readonly shift: Tensor;
  readonly y: Tensor;
  readonly slope: Tensor;
}

/** The highest order of gradients of events: the order of the method of the move along the solution. */
const highestOrder = rk4.order;

/**
 * Moves the end of a step with its event, or to its fixed time. By the implicit function theorem the time changes by
 * -dg / (dg/dt + dg/dy f), and the state moves along the solution. A Newton iteration does not change the values, but gradients flow
 * through it: the first iteration gives first-order gradients, and each further iteration one more order.
 *
 * @param index The positions of the numbers, from 0.
 * @param kind The number that crosses zero, {@linkcode landed} or `none`.
 * @throws {Error} If the requested order of gradients is above {@linkcode highestOrder}.
 */
export function moveToEvent(
  f: VectorField,
  values: VectorField,
  index: Tensor,
  { t, shift, y, slope }: StepEnd,
  kind: Tensor,
  orders: number,
  move?: Tensor,
): StepEnd {
  if (orders > highestOrder) {
    throw new Error(
      `odeintEvent: gradients of order ${orders} are requested, an event has gradients up to order ${highestOrder}; ` +
        "nest fewer gradients",
    );
  }
  const isEvent = kind.greaterEqual(0);
  const lead = kind.shape.slice(0, 1);
  const isOne = kind.reshape([...lead, 1]).equal(index);
  const pick = (x: Tensor) => isOne.where(x, 0).sum(-1).reshape(kind.shape);
  // Samples without an event have no gradient through the event function.
  const [safeY, safeT] = [isEvent.where(y, stopGradient(y)), t.add(shift)];
  const along = withoutRecording(() => {
    const { pullback } = vjp(() => values(safeT, safeY), { t: safeT, y: safeY });
    const { t: ofTime, y: ofState } = pullback(isOne.cast(y.dtype));
    const axes = y.shape.map((_, axis) => axis).slice(lead.length);
    return ofTime.add(ofState.mul(slope).sum(axes).reshape(kind.shape));
  });
  const speed = stopGradient(isEvent.where(along, 1));
  let change = kind.equal(landed).where(move ? move.sub(shift) : shift.neg(), 0);
  let moved = y;
  for (let order = 0; order < orders; order++) {
    const value = order === 0 ? values(safeT, safeY) : values(safeT.add(change), moved);
    const error = pick(value.sub(stopGradient(value)));
    change = isEvent.where(change.sub(error.div(speed)), change);
    moved = orders === 1 ? y.add(slope.mul(change)) : rungeKuttaStep(rk4, f, safeT, change, y);
  }
  return { t, shift: shift.add(change), y: moved, slope };
}
