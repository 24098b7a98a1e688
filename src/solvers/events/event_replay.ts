/**
 * Takes the steps of a solve with events once more, in a compiled loop with a gradient. Sizes of steps are constants. Times move with
 * the events, by the implicit function theorem.
 */
import {
  type Chunk,
  chunksOf,
  scanInChunks,
  type ScanOptions,
  scanOptionsOf,
} from "../../compile/loop/scan.ts";
import { scalar, tensor } from "../../tensor/creation.ts";
import { stopGradient } from "../../tensor/functions.ts";
import { derivativeOrder, isRecording } from "../../tensor/primitive.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { tableOf } from "../adaptive/step_table.ts";
import { type AdaptiveMethod, embeddedStep, keyOf } from "../adaptive/embedded.ts";
import { columnShape, firstTime, justAfter, largestCount } from "../adaptive/steps.ts";
import { textOf } from "../../device/scalar/structure_text.ts";
import { stageTimes, type VectorField } from "../runge_kutta.ts";
import { type FixedTimes, movesOf, moveToEvent } from "./event_moves.ts";
import { eventRows } from "./event_rows.ts";
import { type EventList, type EventSteps, landed } from "./event_lists.ts";
import type { Events } from "./event_search.ts";

/** Times, states and numbers of events. Times and `which` are scalars, or columns `(batch, 1, ...)`. */
export interface EventStates {
  readonly t: Tensor;
  readonly y: Tensor;
  /** Times and states of all events, along a new first axis; NaN after the last event. */
  readonly ts: Tensor;
  readonly ys: Tensor;
}

/** The number of steps whose rows are made at once, so that memory for them does not grow with the number of steps. */
const chunkSteps = 4096;

/**
 * The solution at the end and at the events of known steps. With `checkpoint`, and without a gradient, memory grows with the number of
 * steps by no more than the lists of steps, the events and a state for each chunk.
 *
 * @param slope The slope at the first time.
 */
export function replayEvents(
  tableau: AdaptiveMethod,
  f: VectorField,
  y0: Tensor,
  begin: number,
  direction: number,
  eventSteps: EventSteps,
  events: Events,
  fixed: FixedTimes,
  slope: Tensor,
  options: ScanOptions,
): EventStates {
  const { dtype } = y0;
  const { lists, norm, jumping } = eventSteps;
  const { restart, maxEvents, closure } = events;
  const column = norm === "sample" ? columnShape(y0) : [];
  const perExample = norm === "sample" ? y0.shape[0] : 1;
  const counts = lists.map(({ starts }) => starts.length);
  const steps = largestCount(counts);
  const orders = derivativeOrder();
  const isDifferentiated = orders > 0;
  const moves = isDifferentiated ? fixed.moves : undefined;
  const isRagged = counts.some((count) => count < steps);
  const isJump = ({ crossed }: EventList, i: number) => jumping && crossed[i] === landed;
  const goesOn = (list: EventList, i: number) => i + 1 < list.crossed.length;
  const rowsOf = (chunk: Chunk) => {
    const { start, count } = chunk;
    // A sample that is done takes its first step again, which has finite gradients, and drops the result.
    const rows = (of: (list: EventList, step: number) => number | boolean) =>
      tableOf(
        eventSteps,
        count,
        column,
        (list, row) => of(list, start + row < list.starts.length ? start + row : 0),
        dtype,
      );
    return {
      t: rows(({ starts }, i) => starts[i]),
      dt: rows(({ starts, ends }, i) => ends[i] - starts[i]),
      end: rows(({ ends }, i) => ends[i]),
      ...(isDifferentiated || restart ? { kind: rows(({ crossed }, i) => crossed[i]) } : {}),
      ...(restart ? { which: rows(({ crossed }, i) => events.owners[crossed[i]] ?? 0) } : {}),
      // Stages at a jump use the side on which the step lies.
      ...(jumping
        ? {
          near: rows((list, i) =>
            isJump(list, i) ? justAfter(list.ends[i], -direction, dtype) : list.ends[i]
          ),
          after: rows((list, i) =>
            isJump(list, i) ? justAfter(list.ends[i], direction, dtype) : list.ends[i]
          ),
        }
        : {}),
      ...(jumping || restart
        ? {
          isNew: rows((list, i) =>
            goesOn(list, i) && (isJump(list, i) || restart !== undefined && list.crossed[i] >= 0)
          ),
        }
        : {}),
      ...(moves ? { move: movesOf(eventSteps, chunk, column, { ...fixed, moves }, dtype) } : {}),
      ...(isRagged
        ? {
          active: tableOf(eventSteps, count, column, (list, row) => start + row < list.starts.length, dtype),
        }
        : {}),
    };
  };
  const still = fixed.start?.cast(dtype) ?? scalar(0, dtype);
  const shift = still.broadcastTo(column);
  const first = scalar(firstTime(begin, direction, dtype, jumping), dtype).broadcastTo(column).add(shift);
  const initial = [y0, fixed.start ? f(first, y0) : slope, shift];
  const safe = initial.map(stopGradient);
  const index = tensor(events.owners.map((_, i) => i), { dtype });
  const body = (
    carried: Tensor[],
    { t, dt, end, kind, which, near, after, isNew, move, active }: ReturnType<typeof rowsOf>,
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
    return [next, maxEvents > 1 ? [moved.y, end.add(moved.shift)] : []] as [Tensor[], Tensor[]];
  };
  // With checkpoints, the gradient of a long solve takes the steps of a chunk again. It flows to known tensors alone, and functions that
  // cannot be traced may read others.
  const isAgain = options.checkpoint === true && closure !== undefined && steps > chunkSteps;
  const length = !isRecording() ? chunkSteps : isAgain ? 2 * Math.ceil(Math.sqrt(steps)) : Math.max(1, steps);
  const chunks = chunksOf(steps, length);
  const rows = eventRows(eventSteps, chunks, perExample);
  const [finals, outputs] = scanInChunks(
    body,
    initial,
    {
      chunks,
      rowsOf,
      keptOf: rows.inChunk,
      again: isAgain ? [...closure.tensors, ...moves ? [moves] : []] : undefined,
    },
    { ...scanOptionsOf(options), checkpoint: options.checkpoint && !isAgain },
    closure && {
      key: textOf([
        "events replay",
        keyOf(tableau),
        [jumping, moves !== undefined, isRagged],
        norm,
        orders,
        restart !== undefined,
        maxEvents > 1,
        closure.key,
      ]),
      tensors: [index, ...safe, ...closure.tensors],
    },
  );
  const [y, , shiftAtEnd] = finals;
  const last = tableOf(eventSteps, 1, column, ({ ends }) => ends.at(-1)!, dtype).squeeze(0);
  const t = last.add(shiftAtEnd);
  if (maxEvents === 1) {
    const isEvent = tableOf(eventSteps, 1, column, ({ crossed }) => crossed.at(-1)! >= 0, dtype);
    const or = (x: Tensor) => isEvent.greater(0).where(x.expandDims(0), NaN);
    return { t, y, ts: or(t), ys: or(y) };
  }
  const shape = norm === "sample" ? column : y0.shape.map(() => 1);
  const isThere = rows.areThere(maxEvents, dtype);
  const [ys, ts] = rows.ofEvents(outputs, maxEvents);
  const or = (x: Tensor, shape: readonly number[]) => isThere.reshape([maxEvents, ...shape]).where(x, NaN);
  return { t, y, ts: or(ts, column), ys: or(ys, shape) };
}
