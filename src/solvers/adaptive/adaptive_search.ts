/**
 * Finds the steps that tolerances require, in a loop that attempts one step at a time. Its state has time, step size and the memory
 * of the controller: once for all samples, or for each sample. A rejected step, and a sample that is done, change nothing. The
 * steps are constants of every derivative, and inside `vmap` each example has separate steps.
 */
import { peekOutsideLoops, type Reading, runWhile } from "../../compile/loop/while_loop.ts";
import { scalar } from "../../tensor/creation.ts";
import { concatenate, stopGradient } from "../../tensor/functions.ts";
import { derivativeOrder, withoutAnyRecording } from "../../tensor/primitive.ts";
import { tidyLater } from "../../tensor/scope.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { treeMap } from "../../tensor/tree.ts";
import type { Closure } from "../../compile/loop/loop.ts";
import { type Parts, type PartsField, stageTimes } from "../runge_kutta.ts";
import { textOf } from "../../device/scalar/structure_text.ts";
import { checkProgress, endingOf, follow } from "./adaptive_progress.ts";
import {
  type AdaptiveOptions,
  columnShape,
  examplesOf,
  firstTime,
  largestCount,
  type StepList,
  type Steps,
} from "./steps.ts";
import { type Clock, clockOf, latest, neighbourOf } from "./clock.ts";
import {
  type AdaptiveMethod,
  embeddedStep,
  errorOrderOf,
  evaluationsOf,
  keyOf,
  stepError,
  withConstants,
} from "./embedded.ts";
import { checkIndependence } from "../implicit/implicit_step.ts";
import { interpolateAt, supportOf } from "./interpolation.ts";
import { decide, type ErrorMemory, largestError, limitSize, settingsOf } from "../control/next_step.ts";
import { toleranceFor } from "../control/tolerances.ts";
import { firstStep } from "./step_control.ts";

/** Optional results and end of a search. */
interface SearchGoal {
  /** Number of parts of the state, from the first, whose error is controlled. Default: all. */
  readonly controlled?: number;
  /** Whether the state at the last time is needed. */
  readonly wantsFinal?: boolean;
  /** The origin of the vector field; undefined if it was not traced. */
  readonly closure?: Closure;
  /** By default evaluated here. */
  readonly start?: SearchStart;
}

/** Slope and step size at the first time. */
export interface SearchStart {
  readonly slope: Parts;
  /** The size of the first step, a constant of every derivative. */
  readonly size: Tensor;
}

/** The state of the search. All members but states and slopes are scalars, or columns `(batch, 1, ...)`. Times run forwards. */
type Attempt = {
  readonly time: Clock;
  /** Size of the next step. */
  readonly size: Tensor;
  readonly y: Parts;
  readonly slope: Parts;
  /** 1 if the first slope of the next step must be evaluated again, after a jump. */
  readonly restarted: Tensor;
  /** 1 if the end is not reached, and the last step advanced the time. */
  readonly goes: Tensor;
  readonly errors: ErrorMemory;
  /** The state at the last time. */
  readonly kept: Parts;
};

/** The result of a search. */
export interface Found {
  readonly steps: Steps;
  /** The state at the end of the last step. */
  readonly y: Parts;
  readonly kept: Parts;
}

/**
 * The start of a search.
 *
 * @param controlled As of a search.
 */
export function startOf(
  tableau: AdaptiveMethod,
  f: PartsField,
  y0: Parts,
  [begin, finish]: readonly [number, number],
  { rtol, atol, norm, measure, controller, stepSize, jumps }: AdaptiveOptions,
  controlled = y0.length,
): SearchStart {
  const { dtype } = y0[0];
  const direction = Math.sign(finish - begin);
  const fill = (value: number) =>
    scalar(value, dtype).broadcastTo(norm === "sample" ? columnShape(y0[0]) : []);
  const slope = f(fill(firstTime(begin, direction, dtype, jumps !== undefined)), y0);
  const size = withoutAnyRecording(() => {
    if (stepSize !== undefined) return fill(stepSize);
    const [y, firstSlope] = [y0, slope].map((parts) => parts.map(stopGradient));
    const control = (parts: Parts) => parts.slice(0, controlled);
    const later = (distance: Tensor, z: Parts) =>
      control(f(distance.add(begin), [...z, ...y.slice(controlled)]));
    const scale = { rtol: toleranceFor(rtol, y[0]), atol: toleranceFor(atol, y[0]), measure };
    return firstStep(later, direction, control(y), control(firstSlope), errorOrderOf(tableau), scale, norm);
  });
  return { slope, size: limitSize(controller, size) };
}

/**
 * Finds steps.
 *
 * @param f The vector field. With the norm `"sample"`, its time is a column `(batch, 1, ...)`.
 */
export function* searchSteps(
  tableau: AdaptiveMethod,
  f: PartsField,
  y0: Parts,
  interval: readonly [number, number],
  options: AdaptiveOptions & { readonly compile?: boolean },
  goal: SearchGoal = {},
): Reading<Found> {
  const [begin, finish] = interval;
  const { dtype } = y0[0];
  const { method, tensors } = withConstants(tableau, y0[0], options.norm);
  const { norm, maxSteps, compile, controller, measure } = options;
  const [rtol, atol] = [options.rtol, options.atol].map((tolerance) => toleranceFor(tolerance, y0[0]));
  const { controlled = y0.length, wantsFinal = false, closure } = goal;
  const direction = Math.sign(finish - begin);
  const order = errorOrderOf(tableau);
  const column = norm === "sample" ? columnShape(y0[0]) : [];
  const fill = (value: number) => scalar(value, dtype).broadcastTo(column);
  const turned = (x: Tensor) => direction < 0 ? x.neg() : x;
  // Inside jvp, steps have no tangents.
  const isDifferentiated = withoutAnyRecording(derivativeOrder) > 0;
  const stopped = <T>(tree: T): T => isDifferentiated ? treeMap(tree, stopGradient) : tree;
  const field: PartsField = (time, y) => f(turned(time), y);
  const inside = (times: ArrayLike<number> = []) =>
    [...new Set(Array.from(times, (time) => direction * time))]
      .filter((time) => time > direction * begin && !(norm === "sample" && time >= direction * finish));
  const [jumps, stops] = [inside(options.jumps), inside(options.stops)];
  const clock = clockOf(dtype, fill);
  const last = clock.constant(Math.min(direction * finish, latest));
  const [jumpList, stopList] = [jumps, stops].map((times) =>
    times.length > 0 ? clock.list(times) : undefined
  );

  const start = (): Attempt => {
    const { slope, size } = goal.start ?? startOf(tableau, f, y0, interval, options, controlled);
    return stopped<Attempt>({
      time: clock.at(direction * begin),
      size,
      y: y0,
      slope,
      restarted: fill(0),
      goes: fill(1),
      errors: [fill(1), fill(1)],
      kept: wantsFinal ? y0 : [],
    });
  };

  const attempt = (from: Attempt) => {
    const { time, size, y, errors: [previous, earlier] } = from;
    const [jump, stop] = [jumpList, stopList].map((times) => times && clock.next(time, times));
    const ahead = jump && stop ? clock.earlier(jump, stop) : jump ?? stop;
    const target = norm === "sample" ? ahead ? clock.earlier(ahead, last) : last : ahead;
    const left = target && clock.between(time, target);
    const lands = left && size.greaterEqual(left);
    const stepped = clock.add(time, size);
    const end = lands ? clock.where(lands, target!, stepped) : stepped;
    const length = lands
      ? lands.where(left!, clock.lengthOf(time, size, end))
      : clock.lengthOf(time, size, end);
    const jumping = jump && lands!.and(clock.between(end, jump).equal(0));

    const restarts = jumping && peekOutsideLoops(from.restarted)?.every((flag) => flag === 0) !== true;
    const again = restarts ? field(neighbourOf(time[0], 1), y) : from.slope;
    const slope = restarts ? choose(from.restarted.greater(0), again, from.slope) : from.slope;
    const near = jumping ? jumping.where(neighbourOf(end[0], -1), end[0]) : end[0];
    const dt = turned(length);
    const step = embeddedStep(
      method,
      (t, z) => field(t, z),
      stageTimes(time[0], length, near),
      dt,
      y,
      slope,
    );
    const ratio = stepError(tableau, step, y, dt, { rtol, atol, measure }, norm, controlled);
    const goes = from.goes.greater(0);
    const { accepted, next, fails } = decide(controller, order, ratio, from.errors, size, length);
    const taken = goes.and(accepted);
    const advances = clock.between(time, end).greater(0);
    const reaches = clock.between(end, last).greater(0).not();
    const isOver = taken.and(reaches);
    let kept: Parts = [];
    if (wantsFinal) {
      const fraction = clock.between(time, last).div(length);
      kept = choose(
        isOver,
        supportOf(tableau, step, y, dt).map((x) => interpolateAt(x, fraction)),
        from.kept,
      );
    }
    const flags = { isOver, fails, isInfinite: ratio.less(largestError).not() };
    const rows = [...time, ...end, taken.cast(dtype), from.restarted, endingOf(flags, dtype)];
    return stopped({
      carry: {
        time: clock.where(taken, end, time),
        size: goes.where(next, size),
        y: choose(taken, step.y, y),
        slope: choose(taken, step.stages.at(-1)!, restarts ? from.slope : slope),
        restarted: jumping ? taken.where(jumping.cast(dtype), from.restarted) : from.restarted,
        goes: (fails ? goes.and(fails.not()) : goes).and(advances).and(isOver.not()).cast(dtype),
        errors: [taken.where(ratio, previous), taken.where(previous, earlier)] as const,
        kept,
      },
      outputs: concatenate(rows.map((x) => x.reshape([-1, 1])), 1),
    });
  };

  yield* checkIndependence(tableau, f, fill(begin), y0, norm === "sample");
  const { result: first, release } = tidyLater(() => withoutAnyRecording(start));
  const perTry = evaluationsOf(tableau) + (jumps.length > 0 && norm === "sample" ? 1 : 0);
  const search = runWhile(({ goes }: Attempt) => goes.greater(0), attempt, first, {
    maxSteps,
    keepsEnded: true,
    compile,
    closure: closure && {
      key: textOf([
        "search",
        keyOf(tableau),
        direction,
        norm,
        [rtol, atol].map((x) => x instanceof Tensor ? "each" : x),
        settingsOf(controller),
        [jumpList, stopList].map((times) => times !== undefined),
        wantsFinal,
        isDifferentiated,
        closure.key,
      ]),
      tensors: [
        ...[rtol, atol].filter((x) => x instanceof Tensor),
        ...last,
        ...jumpList ?? [],
        ...stopList ?? [],
        ...tensors,
        ...closure.tensors,
      ],
    },
  });
  const { carry, outputs } = yield* unseen(search);
  release([carry]);
  // Without samples there are no steps.
  const values = outputs && (yield outputs);
  const samples = follow(values ?? [], outputs?.shape ?? [0, 0, 0], direction, begin);
  if (options.throws !== false) checkProgress(samples, tableau.name, [begin, finish], options, dtype);
  const lists: StepList[] = samples.map(({ done, failure = done ? undefined : "maxSteps", ...list }) => ({
    ...list,
    failure,
  }));
  const tried = lists.map(({ starts, rejected, restarted }) =>
    (starts.length + rejected) * perTry +
    (norm === "batch" ? restarted.filter((is, i) => is && i > 0).length : 0)
  );
  return {
    y: carry.y,
    kept: carry.kept,
    steps: {
      norm,
      lists,
      examples: examplesOf(outputs),
      evaluations: (options.stepSize === undefined ? 2 : 1) + largestCount(tried),
      jumping: options.jumps !== undefined,
    },
  };
}

/** Runs each part of a computation without recorders. */
function* unseen<T>(reading: Reading<T>): Reading<T> {
  let turn = withoutAnyRecording(() => reading.next());
  while (!turn.done) {
    const values = yield turn.value;
    turn = withoutAnyRecording(() => reading.next(values));
  }
  return turn.value;
}

function choose(isFirst: Tensor, a: Parts, b: Parts): Parts {
  return a.map((x, i) => isFirst.where(x, b[i]));
}
