/**
 * Takes the steps of a solve with events once more, in a compiled loop with a gradient. Sizes of steps are constants. Times move with
 * the events, by the implicit function theorem.
 */
import { vjp } from "../../autodiff/grad.ts";
import { scanOf, type ScanOptions, scanOptionsOf } from "../../compile/loop/scan.ts";
import { scalar, tensor, zeros } from "../../tensor/creation.ts";
import { concatenate, stopGradient } from "../../tensor/functions.ts";
import { derivativeOrder, withoutRecording } from "../../tensor/primitive.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { tableOf } from "../adaptive/step_table.ts";
import { type AdaptiveMethod, embeddedStep } from "../adaptive/embedded.ts";
import { columnShape, firstTime, justAfter, largestCount } from "../adaptive/steps.ts";
import { rk4 } from "../methods/rk4.ts";
import { rungeKuttaStep, stageTimes, type VectorField } from "../runge_kutta.ts";
import { type EventList, type Events, type EventSteps, landed } from "./event_search.ts";

/** Times that do not move with events, as zeros whose gradient flows to them, and their values. */
export interface FixedTimes {
  readonly values: readonly number[];
  /** `(length)`; undefined if no gradient with respect to them is being computed. */
  readonly moves?: Tensor;
  /** The move of the start, a scalar. */
  readonly start?: Tensor;
}

/** Times, states and numbers of events. Times and `which` are scalars, or columns `(batch, 1, ...)`. */
export interface EventStates {
  readonly t: Tensor;
  readonly y: Tensor;
  /** Times and states of all events, along a new first axis; NaN after the last event. */
  readonly ts: Tensor;
  readonly ys: Tensor;
}

/** The solution at the end and at the events of known steps. */
export function replayEvents(
  tableau: AdaptiveMethod,
  f: VectorField,
  y0: Tensor,
  begin: number,
  direction: number,
  found: EventSteps,
  events: Events,
  fixed: FixedTimes,
  options: ScanOptions,
): EventStates {
  const { dtype } = y0;
  const { lists, norm, jumping } = found;
  const { restart, maxEvents } = events;
  const column = norm === "sample" ? columnShape(y0) : [];
  const perExample = norm === "sample" ? y0.shape[0] : 1;
  const counts = lists.map(({ starts }) => starts.length);
  const steps = largestCount(counts);
  const orders = derivativeOrder();
  const isDifferentiated = orders > 0;
  // A sample that is done takes its first step again, which has finite gradients, and drops the result.
  const rows = (of: (list: EventList, step: number) => number | boolean, type = dtype) =>
    tableOf(
      found,
      steps,
      column,
      (_, step, i) => of(lists[i], step < counts[i] ? step : 0),
      type,
    );
  const isJump = ({ crossed }: EventList, i: number) => jumping && crossed[i] === landed;
  const goesOn = (list: EventList, i: number) => i + 1 < list.crossed.length;
  const row = {
    t: rows(({ starts }, i) => starts[i]),
    dt: rows(({ starts, ends }, i) => ends[i] - starts[i]),
    end: rows(({ ends }, i) => ends[i]),
    ...(isDifferentiated || restart ? { kind: rows(({ crossed }, i) => crossed[i]) } : {}),
    ...(restart ? { which: rows(({ crossed }, i) => events.owners[crossed[i]] ?? 0) } : {}),
    // Stages at a jump use the side on which the step lies.
    ...(jumping
      ? {
        near: rows((list, i) => isJump(list, i) ? justAfter(list.ends[i], -direction, dtype) : list.ends[i]),
        after: rows((list, i) => isJump(list, i) ? justAfter(list.ends[i], direction, dtype) : list.ends[i]),
      }
      : {}),
    ...(jumping || restart
      ? {
        isNew: rows((list, i) =>
          goesOn(list, i) && (isJump(list, i) || restart !== undefined && list.crossed[i] >= 0)
        ),
      }
      : {}),
    ...(fixed.moves && isDifferentiated ? { move: movesOf(found, steps, column, fixed, dtype) } : {}),
    ...(counts.some((count) => count < steps)
      ? { active: tableOf(found, steps, column, (_, step, i) => step < counts[i], dtype) }
      : {}),
  };
  const still = fixed.start?.cast(dtype) ?? scalar(0, dtype);
  const shift = still.broadcastTo(column);
  const first = scalar(firstTime(begin, direction, dtype, jumping), dtype).broadcastTo(column).add(shift);
  const initial = [y0, f(first, y0), shift];
  const safe = initial.map(stopGradient);
  const index = tensor(events.owners.map((_, i) => i), { dtype });
  const body = (
    carried: Tensor[],
    { t, dt, end, kind, which, near, after, isNew, move, active }: typeof row,
  ) => {
    const isActive = active?.greater(0);
    const keep = (after: Tensor, before: Tensor) => isActive ? isActive.where(after, before) : after;
    const [y, slope, shift] = carried.map((x, i) => keep(x, safe[i]));
    const timeAt = stageTimes(t.add(shift), dt, (near ?? end).add(shift));
    const step = embeddedStep(tableau, (t, [y]) => [f(t, y)], timeAt, dt, [y], [slope]);
    const atEnd = { t: end, shift, y: step.y[0], slope: step.stages.at(-1)![0] };
    const moved = isDifferentiated ? moveToEvent(f, events.values, index, atEnd, kind!, orders, move) : atEnd;
    let [nextY, nextSlope] = [moved.y, atEnd.slope];
    if (isNew) {
      const isFresh = isNew.greater(0);
      if (restart) {
        const isEvent = isFresh.and(kind!.greaterEqual(0));
        const from = isEvent.where(moved.y, safe[0]);
        const state = restart(end.add(moved.shift), from, which!.reshape(column.slice(0, 1)).cast("int32"));
        nextY = isEvent.where(state, moved.y);
      }
      const fresh = isFresh.where(nextY, safe[0]);
      nextSlope = isFresh.where(f((after ?? end).add(moved.shift), fresh), atEnd.slope);
    }
    const next = [nextY, nextSlope, moved.shift].map((x, i) => keep(x, carried[i]));
    return [next, maxEvents > 1 ? [moved.y, moved.shift] : []] as [Tensor[], Tensor[]];
  };
  const { closure } = events;
  const [[y, , shiftAtEnd], outputs] = scanOf(
    body,
    initial,
    row,
    scanOptionsOf(options),
    closure && {
      key: JSON.stringify([
        "replay",
        tableau,
        Object.keys(row),
        norm,
        orders,
        restart !== undefined,
        maxEvents > 1,
        closure.key,
      ]),
      tensors: [index, ...safe, ...closure.tensors],
    },
  );
  const last = tableOf(found, 1, column, ({ ends }) => ends.at(-1)!, dtype).squeeze(0);
  const t = last.add(shiftAtEnd);
  if (maxEvents === 1) {
    const isEvent = tableOf(found, 1, column, (_, __, i) => lists[i].crossed.at(-1)! >= 0, dtype);
    const or = (x: Tensor) => isEvent.greater(0).where(x.expandDims(0), NaN);
    return { t, y, ts: or(t), ys: or(y) };
  }
  const places = lists.map(({ crossed }) => [...crossed.keys()].filter((i) => crossed[i] >= 0));
  const at = tableOf(
    found,
    maxEvents,
    norm === "sample" ? [perExample] : [],
    (_, k, i) => (places[i][k] ?? 0) * perExample + i % perExample,
    "int32",
  );
  const take = (x: Tensor, { shape }: Tensor) => {
    const sample = norm === "sample" ? shape.slice(1) : shape;
    return x.reshape([steps * perExample, ...sample]).take(at.flatten()).reshape([maxEvents, ...shape]);
  };
  const isThere = (shape: readonly number[]) =>
    tableOf(found, maxEvents, shape, (_, k, i) => k < places[i].length, dtype).greater(0);
  const shape = norm === "sample" ? column : y0.shape.map(() => 1);
  const [ys, shifts] = outputs.map((x, i) => take(x, initial[2 * i]));
  const ends = tableOf(found, maxEvents, column, ({ ends }, k, i) => ends[places[i][k] ?? 0], dtype);
  return {
    t,
    y,
    ts: isThere(column).where(ends.add(shifts), NaN),
    ys: isThere(shape).where(ys, NaN),
  };
}

/** The moves of the fixed times at the ends of steps. */
function movesOf(
  found: EventSteps,
  steps: number,
  column: readonly number[],
  { values, moves }: FixedTimes,
  dtype: Tensor["dtype"],
): Tensor {
  const all = concatenate([moves!.cast(dtype), zeros([1], { dtype })]);
  const nearest = (t: number) =>
    [...values.keys()].reduce((a, b) => Math.abs(values[b] - t) < Math.abs(values[a] - t) ? b : a);
  const at = tableOf(found, steps, column, (_, step, i) => {
    const { crossed, ends } = found.lists[i];
    return crossed[step] === landed ? nearest(ends[step]) : values.length;
  }, "int32");
  return all.take(at.flatten()).reshape([steps, ...column]);
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
