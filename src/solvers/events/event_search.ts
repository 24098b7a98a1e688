/**
 * Finds the steps of a solve with events, in one loop. Each turn tries one step. If a watched number crosses zero in it, the following
 * turns try shorter steps, until one ends at the crossing. The state is then restarted, and the solve goes on.
 */
import type { DType } from "../../device/dtype.ts";
import type { Closure } from "../../compile/loop/loop.ts";
import { type Reading, runWhile } from "../../compile/loop/while_loop.ts";
import { scalar, tensor } from "../../tensor/creation.ts";
import { concatenate, stopGradient } from "../../tensor/functions.ts";
import { derivativeOrder, withoutAnyRecording } from "../../tensor/primitive.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { treeLeaves, treeMap, withLeaves } from "../../tensor/tree.ts";
import { type Clock, clockOf, latest, neighbourOf, timePrecisionOf } from "../adaptive/clock.ts";
import {
  type AdaptiveMethod,
  embeddedStep,
  errorOrderOf,
  evaluationsOf,
  keyOf,
  stepError,
} from "../adaptive/embedded.ts";
import { type SearchStart, startOf } from "../adaptive/adaptive_search.ts";
import { precisionOf } from "../adaptive/step_control.ts";
import { decide, settingsOf } from "../control/next_step.ts";
import { toleranceFor } from "../control/tolerances.ts";
import { type AdaptiveOptions, columnShape, examplesOf, largestCount } from "../adaptive/steps.ts";
import { type EventSteps, landed, none, readerOf } from "./event_lists.ts";
import { checkIndependence } from "../implicit/implicit_step.ts";
import { stageTimes, type VectorField } from "../runge_kutta.ts";
import { textOf } from "../../device/scalar/structure_text.ts";
import { type Bracket, narrowed, placeIn, wholeBracket } from "../sign_change.ts";

/** The events of a solve, for packed states. */
export interface Events {
  /** The numbers that cross zero: `(n)`, or `(batch, n)` if each sample has its own steps. */
  readonly values: (t: Tensor, y: Tensor) => Tensor;
  /** The event of each number, from 0. */
  readonly owners: readonly number[];
  /** The watched direction of each number: 1 up, -1 down, 0 both. */
  readonly directions: readonly number[];
  /** The number of crossings of each event that ends the solve. */
  readonly terminal: readonly number[];
  /** The number of crossings of all events that ends the solve. */
  readonly maxEvents: number;
  /** The state after an event. `which` is an int32 scalar, or `(batch)`. */
  readonly restart?: (t: Tensor, y: Tensor, which: Tensor) => Tensor;
  /** The origin of vector field and functions; undefined if they cannot be traced. */
  readonly closure?: Closure;
}

type Attempt = {
  readonly time: Clock;
  /** Size of the next step; during a search, of the step that contains the event. */
  readonly size: Tensor;
  readonly y: Tensor;
  readonly slope: Tensor;
  readonly goes: Tensor;
  /** The errors of the last two accepted steps. */
  readonly errors: readonly [Tensor, Tensor];
  /** The numbers at the start of the step, and the signs that a crossing would change, 0 if it is not watched. */
  readonly values: Tensor;
  readonly signs: Tensor;
  /** The place of the event in the step. `high` is 0 if no event is searched. */
  readonly bracket: Bracket;
  /** Number of crossings of each event. */
  readonly counts: Tensor;
};

/** A number above the values of events. */
const farAway = 2 ** 120;
/** The part of a step after which the sign of a number shows where it goes from zero, and the shortest step after an event. */
const aheadPart = 2 ** -10;

/** Slope, step size and numbers at the first time. All but the slope are constants of every derivative. */
export interface EventStart extends SearchStart {
  readonly values: Tensor;
  /** As of an attempt. */
  readonly signs: Tensor;
}

/** The start of a search for steps with events. */
export function eventStartOf(
  tableau: AdaptiveMethod,
  f: VectorField,
  y0: Tensor,
  interval: readonly [number, number],
  options: AdaptiveOptions,
  events: Pick<Events, "values" | "directions">,
): EventStart {
  const jumps = jumpsOf(options);
  const withJumps = { ...options, jumps: jumps.length > 0 ? jumps : undefined };
  const { slope, size } = startOf(tableau, (t, [y]) => [f(t, y)], [y0], interval, withJumps);
  const column = options.norm === "sample" ? columnShape(y0) : [];
  return withoutAnyRecording(() => {
    const [y, slopeAtStart] = [y0, slope[0]].map(stopGradient);
    const values = stopGradient(events.values(scalar(interval[0], y0.dtype).broadcastTo(column), y));
    const { signsAt } = watchersOf(events, y0.dtype, interval);
    const time = scalar(Math.sign(interval[1] - interval[0]) * interval[0], y0.dtype).broadcastTo(column);
    return {
      slope,
      size,
      values,
      signs: stopGradient(signsAt(time, y, slopeAtStart, size, values, values.equal(0))),
    };
  });
}

/** Times at which the first slope is evaluated again. A stop counts as a jump. */
function jumpsOf({ jumps, stops }: AdaptiveOptions): number[] {
  return [jumps ?? [], stops ?? []].flatMap((times) => Array.from(times));
}

/** The signs of numbers whose crossings are watched, of times that run forwards. */
function watchersOf(
  { values: valuesOf, directions }: Pick<Events, "values" | "directions">,
  dtype: DType,
  [begin, finish]: readonly [number, number],
) {
  const wanted = tensor([...directions], { dtype });
  const tensors = [wanted.equal(0), wanted.neg()];
  const [isBoth, opposite] = tensors;
  const turned = (x: Tensor) => finish < begin ? x.neg() : x;
  const watched = (sign: Tensor) => isBoth.or(sign.equal(opposite)).where(sign, 0);
  return {
    tensors,
    watched,
    /** The sign of each number that is watched; of a number at zero, the sign that it gets next. */
    signsAt(time: Tensor, y: Tensor, slope: Tensor, size: Tensor, values: Tensor, isZero: Tensor): Tensor {
      const ahead = size.mul(aheadPart);
      const next = valuesOf(turned(time.add(ahead)), y.add(slope.mul(turned(ahead))));
      return watched(isZero.where(next, values).sign());
    },
  };
}

/**
 * Finds steps.
 *
 * @param f The vector field. With the norm `"sample"`, its time is a column `(batch, 1, ...)`.
 * @param interval The last time may be infinity.
 * @param from The result of {@linkcode eventStartOf}.
 */
export function* searchEvents(
  tableau: AdaptiveMethod,
  f: VectorField,
  y0: Tensor,
  interval: readonly [number, number],
  options: AdaptiveOptions & { readonly compile?: boolean },
  events: Events,
  from: EventStart,
): Reading<EventSteps> {
  const { values: valuesOf, owners, terminal, maxEvents, restart, closure } = events;
  const [begin, finish] = interval;
  const { dtype } = y0;
  const { norm, maxSteps, compile, controller, measure } = options;
  const [rtol, atol] = [options.rtol, options.atol].map((tolerance) => toleranceFor(tolerance, y0));
  const direction = Math.sign(finish - begin);
  const column = norm === "sample" ? columnShape(y0) : [];
  const lead = column.slice(0, 1);
  const fill = (value: number) => scalar(value, dtype).broadcastTo(column);
  const turned = (x: Tensor) => direction < 0 ? x.neg() : x;
  const asColumn = (x: Tensor) => x.reshape(column);
  const asNumbers = (x: Tensor) => x.reshape([...lead, 1]);
  const isDifferentiated = withoutAnyRecording(derivativeOrder) > 0;
  const stopped = <T>(tree: T): T => isDifferentiated ? treeMap(tree, stopGradient) : tree;
  const constant = (list: readonly number[]) => tensor([...list], { dtype });
  const [owner, ends] = [owners, terminal].map(constant);
  const index = constant(owners.map((_, i) => i));
  const kinds = constant(terminal.map((_, i) => i));
  const { watched, signsAt, tensors: ofWatchers } = watchersOf(events, dtype, interval);
  const order = errorOrderOf(tableau);
  const field = (time: Tensor, y: Tensor) => f(turned(time), y);
  const clock = clockOf(dtype, fill);
  const jumpTimes = jumpsOf(options);
  const jumps = [...new Set(jumpTimes.map((jump) => direction * jump))]
    .filter((jump) => jump > direction * begin);
  const targets = Number.isFinite(finish) ? [...jumps, direction * finish] : jumps;
  const last = clock.constant(Math.min(direction * finish, latest));
  const targetList = jumps.length > 0 ? clock.list(targets) : undefined;
  const continues = maxEvents > 1;
  const nearest = (values: Tensor, signs: Tensor) =>
    asColumn(signs.equal(0).where(farAway, values.mul(signs)).min(-1));

  const start = (): Attempt => {
    const { slope: [slope], size, values, signs } = from;
    const zero = fill(0);
    return stopped<Attempt>({
      time: clock.at(direction * begin),
      size,
      y: y0,
      slope,
      goes: fill(1),
      errors: [fill(1), fill(1)],
      values,
      signs,
      bracket: { low: zero, high: zero, atLow: zero, atHigh: zero, reach: zero },
      counts: asNumbers(fill(0)).broadcastTo([...lead, terminal.length]),
    });
  };

  const attempt = (from: Attempt) => {
    const { time, size, y, slope, errors: [previous, earlier], bracket, signs } = from;
    const goes = from.goes.greater(0);
    const isSearching = bracket.high.greater(0);
    // Leave four bits for rounding errors of the time and of the numbers.
    const tolerance = time[0].abs().div(size).mul(16 * timePrecisionOf(dtype))
      .maximum(16 * precisionOf(dtype)).minimum(0.5);
    const isLast = bracket.high.sub(bracket.low).lessEqual(tolerance);
    const place = isLast.where(bracket.high, placeIn(bracket, tolerance));
    const ahead = targetList ? clock.next(time, targetList) : targets.length === 1 ? last : undefined;
    const left = ahead && clock.between(time, ahead);
    const lands = left && size.greaterEqual(left).and(isSearching.not());
    const asked = isSearching.where(size.mul(place), size);
    const stepped = clock.add(time, asked);
    const end = lands ? clock.where(lands, ahead!, stepped) : stepped;
    const free = clock.lengthOf(time, asked, end);
    const length = lands ? lands.where(left!, free) : free;
    const isOver = clock.between(end, last).lessEqual(Number.isFinite(finish) ? 0 : -Infinity);
    const jumping = jumps.length > 0 ? lands!.and(isOver.not()) : undefined;
    const near = jumping ? jumping.where(neighbourOf(end[0], -1), end[0]) : end[0];
    const dt = turned(length);
    const ofParts = (t: Tensor, [y]: readonly Tensor[]) => [field(t, y)];
    const step = embeddedStep(tableau, ofParts, stageTimes(time[0], length, near), dt, [y], [slope]);
    const stepEnd = step.y[0];
    const ratio = stepError(tableau, step, [y], dt, { rtol, atol, measure }, norm);
    const decision = decide(controller, order, ratio, from.errors, size, length);
    const fails = decision.fails?.and(isSearching.not());
    const after = valuesOf(turned(end[0]), stepEnd);
    const crosses = signs.equal(0).not().and(after.mul(signs).lessEqual(0));
    const isCrossed = asColumn(crosses.any(-1));
    const isAccepted = goes.and(isSearching.not()).and(decision.accepted);
    const enters = isAccepted.and(isCrossed);
    const value = nearest(after, signs);
    const narrow = narrowed(bracket, place, value);
    const isEvent = goes.and(isSearching).and(
      isLast.or(value.greater(0).not().and(narrow.high.sub(narrow.low).lessEqual(tolerance))),
    );
    const isTaken = isAccepted.and(isCrossed.not()).or(isEvent);
    const isFired = crosses.and(asNumbers(isEvent));
    const counts = from.counts.add(
      asNumbers(isEvent).and(isFired.where(owner, owners.length).min(-1, { keepDims: true }).equal(kinds))
        .cast(dtype),
    );
    const isDone = isEvent.and(
      asColumn(counts.greaterEqual(ends).any(-1).or(counts.sum(-1).greaterEqual(maxEvents))),
    ).or(isTaken.and(isOver));

    let [nextY, nextSlope, nextValues] = [stepEnd, step.stages.at(-1)![0], after];
    const restarts = isEvent.and(isDone.not());
    if (restart && continues) {
      const which = isFired.where(owner, owners.length - 1).min(-1).cast("int32");
      nextY = restarts.where(restart(turned(end[0]), stepEnd, which), stepEnd);
      nextValues = asNumbers(restarts).where(valuesOf(turned(end[0]), nextY), after);
    }
    if (jumping || restart && continues) {
      const isNew = jumping ? jumping.or(restarts) : restarts;
      const at = jumping ? jumping.where(neighbourOf(end[0], 1), end[0]) : end[0];
      nextSlope = isNew.where(field(at, nextY), nextSlope);
    }
    const whole = isEvent.where(
      length.maximum(size.mul(aheadPart)),
      decision.next,
    );
    const nextSize = enters.where(length, isSearching.and(isEvent.not()).where(size, whole));
    const nextSigns = continues
      ? signsAt(end[0], nextY, nextSlope, nextSize, nextValues, nextValues.equal(0).or(isFired))
      : watched(nextValues.sign());
    const moves = isSearching.or(clock.between(time, end).greater(0));
    const advances = fails ? moves.and(fails.not()) : moves;
    const crossed = crosses.where(signs, 0);
    const entered = wholeBracket(nearest(from.values, crossed), nearest(after, crossed));
    const closed = treeMap(bracket, (x) => x.zerosLike());
    const searched = choose(isSearching.and(isEvent.not()), narrow, closed);
    const kind = isEvent.where(
      asColumn(isFired.where(index, owners.length - 1).min(-1)),
      lands ? lands.where(fill(landed), none) : fill(none),
    );
    const takes = asNumbers(isTaken);
    const rows = [...time, ...end, isTaken, isDone, kind, advances, ratio.isFinite(), value];
    return stopped({
      carry: {
        time: clock.where(isTaken, end, time),
        size: nextSize,
        y: isTaken.where(nextY, y),
        slope: isTaken.where(nextSlope, slope),
        goes: goes.and(advances).and(isDone.not()).cast(dtype),
        errors: [
          isEvent.where(1, isTaken.where(ratio, previous)),
          isEvent.where(1, isTaken.where(previous, earlier)),
        ] as const,
        values: takes.where(nextValues, from.values),
        signs: takes.where(nextSigns, asNumbers(enters).where(crossed, signs)),
        bracket: choose(enters, entered, searched),
        counts,
      },
      outputs: concatenate(rows.map((x) => x.cast(dtype).reshape([-1, 1])), 1),
    });
  };

  const parts = (t: Tensor, [y]: readonly Tensor[]) => [f(t, y)];
  yield* checkIndependence(tableau, parts, fill(begin), [y0], norm === "sample");
  const first = start();
  const perTry = evaluationsOf(tableau) + (jumps.length > 0 || restart && continues ? 1 : 0);
  const reader = readerOf(direction, begin);
  // Without samples there are no steps.
  let table: Tensor | undefined;
  yield* runWhile(({ goes }: Attempt) => goes.greater(0), attempt, first, {
    maxSteps,
    compile,
    read: (outputs, values) => {
      table = outputs;
      reader.read(values, outputs.shape);
    },
    closure: closure && {
      key: textOf([
        "events",
        keyOf(tableau),
        direction,
        norm,
        [rtol, atol].map((x) => x instanceof Tensor ? "each" : x),
        settingsOf(controller),
        Number.isFinite(finish),
        maxEvents,
        terminal.length,
        [jumps.length, targets.length].map((count) => Math.min(count, 1)),
        restart !== undefined,
        isDifferentiated,
        closure.key,
      ]),
      tensors: [
        ...[rtol, atol].filter((x) => x instanceof Tensor),
        owner,
        ends,
        index,
        kinds,
        ...ofWatchers,
        ...last,
        ...targetList ?? [],
        ...closure.tensors,
      ],
    },
  });
  const lists = reader.lists();
  const tried = lists.map(({ starts, rejected }) => (starts.length + rejected) * perTry);
  return {
    norm,
    lists,
    examples: examplesOf(table),
    evaluations: (options.stepSize === undefined ? 2 : 1) + largestCount(tried),
    jumping: jumpTimes.length > 0,
  };
}

function choose(isFirst: Tensor, a: Bracket, b: Bracket): Bracket {
  const others = treeLeaves(b);
  return withLeaves(b, treeLeaves(a).map((x, i) => isFirst.where(x, others[i])));
}
