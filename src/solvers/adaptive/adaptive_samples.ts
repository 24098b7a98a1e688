/**
 * Finds steps for each sample, in a compiled loop that attempts one step of every sample at a time. Time, step size and the memory
 * of the controller are part of the state. The state of a sample does not change if its step is rejected, or if the sample is
 * done. Between runs of the loop the host checks whether all samples are done.
 */
import { Loop, type Step } from "../../compile/loop/loop.ts";
import { scalar, tensor } from "../../tensor/creation.ts";
import { tidyLater } from "../../tensor/scope.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import {
  type AdaptiveOptions,
  firstTime,
  jumpsAfter,
  largestCount,
  type Search,
  smallestTime,
  type Steps,
} from "./adaptive_search.ts";
import { checkProgress, follow, initialProgress, type Rows, tooManySteps } from "./adaptive_progress.ts";
import { type AdaptiveMethod, embeddedStep } from "./embedded.ts";
import { errorRatio, firstStep, precisionOf, stepFactor } from "./step_control.ts";
import { stageTimes, type VectorField, weigh } from "../runge_kutta.ts";

/**
 * Numbers of attempted steps between checks for progress. They increase, because each check takes time. On the CPU finished samples
 * take no steps, so long runs are free.
 */
const runs = { cpu: { first: 128, longest: 4096 }, webgpu: { first: 32, longest: 512 } };

/** Maximum number of values in an output of a run. */
const maxNumbers = 2 ** 22;

/**
 * The state of the search. `y` and `slope` have the shape of the state; the others are columns `(batch, 1, ...)`. Times run
 * forwards.
 */
type Samples = {
  readonly time: Tensor;
  /** Size of the next step. */
  readonly size: Tensor;
  readonly y: Tensor;
  readonly slope: Tensor;
  /** 1 if the first slope of the next step must be evaluated again, after a jump. */
  readonly restarted: Tensor;
  /** 1 if the sample has reached the end, or its step is too short to advance the time. */
  readonly settled: Tensor;
  /** Number of attempted steps. */
  readonly count: Tensor;
  readonly errors: readonly [Tensor, Tensor];
};

/** An attempted step, in columns. `taken` is 1 if its error was small enough. */
type Attempt = {
  readonly start: Tensor;
  readonly end: Tensor;
  readonly taken: Tensor;
  readonly restarted?: Tensor;
};

/** The shape of one number per sample, which broadcasts against states. */
export function columnShape({ shape: [batch, ...rest] }: Tensor): number[] {
  return [batch, ...rest.map(() => 1)];
}

/**
 * Finds the steps of each sample.
 *
 * @param f The vector field; its time is a column `(batch, 1, ...)`.
 * @param y0 `(batch, ...)`.
 * @returns The steps, and the states at the end.
 */
export function* findStepsOfSamples(
  tableau: AdaptiveMethod,
  f: VectorField,
  y0: Tensor,
  [begin, finish]: readonly [number, number],
  options: AdaptiveOptions,
  compile?: boolean,
): Search<{ steps: Steps; final: Tensor }> {
  const { dtype } = y0;
  const direction = Math.sign(finish - begin);
  const column = columnShape(y0);
  const fill = (value: number) => scalar(value, dtype).broadcastTo(column);
  const jumps = jumpsAfter(begin, direction, options);
  const attempt = makeAttempt(
    tableau,
    f,
    [direction * finish, jumps.map((jump) => direction * jump)],
    direction,
    options,
  );

  const first = tidyLater(() => {
    const slope = f(fill(firstTime(begin, direction, dtype, options.jumps !== undefined)), y0);
    const guess = () =>
      firstStep(
        (distance, [y]) => [f(distance.add(begin), y)],
        direction,
        [y0],
        [slope],
        tableau.order,
        options,
        "sample",
      );
    const size = options.stepSize === undefined ? guess() : fill(options.stepSize);
    return { slope, size };
  });
  let state: Samples = {
    time: fill(direction * begin),
    size: first.result.size,
    y: y0,
    slope: first.result.slope,
    restarted: fill(0),
    settled: fill(0),
    count: fill(0),
    errors: [fill(1), fill(1)],
  };
  let release = first.release;
  // Times are rounded to the type of the state.
  const round = dtype === "float32" ? Math.fround : (x: number) => x;
  const samples = Array.from({ length: y0.shape[0] }, () => initialProgress(begin));
  const attempts = new Loop(attempt, state, {}, {
    ending: ({ settled, count }: Samples) => [settled, count],
    compile,
  });
  const { first: firstRun, longest } = runs[y0.device.info.kind];
  const maxRunLength = Math.max(1, Math.min(longest, Math.floor(maxNumbers / samples.length)));
  let tried = 0;
  let isDone = false;
  for (let run = firstRun; !isDone; run *= 4) {
    run = Math.min(run, maxRunLength, options.maxSteps - tried);
    if (run === 0) throw tooManySteps(tableau.name, samples, [begin, finish], options);
    const from = state;
    const after = tidyLater(() => {
      const { carry: next, outputs: rows } = attempts.run(from, run);
      return { next, rows };
    });
    const { next, rows: { start, end, taken, restarted } } = after.result;
    const numbers = yield [start, end, taken, ...restarted ? [restarted] : []];
    follow(samples, numbers as unknown as Rows, direction, round(finish));
    checkProgress(samples, tableau.name, dtype, options.origin);
    release(next);
    [state, release] = [next, after.release];
    tried += run;
    isDone = samples.every(({ done }) => done);
  }
  const most = largestCount(samples.map(({ starts, rejected }) => starts.length + rejected));
  const perTry = tableau.a.length + (jumps.length > 0 ? 1 : 0);
  const evaluations = (options.stepSize === undefined ? 2 : 1) + most * perTry;
  release(state.y);
  return {
    steps: { norm: "sample", lists: samples, evaluations, jumping: options.jumps !== undefined },
    final: state.y,
  };
}

/** The body of the loop: one attempted step of every sample. */
function makeAttempt(
  tableau: AdaptiveMethod,
  f: VectorField,
  [finish, jumps]: readonly [finish: number, jumps: readonly number[]],
  direction: number,
  options: AdaptiveOptions,
): (samples: Samples) => Step<Samples, Attempt, undefined> {
  const turned = (time: Tensor) => direction < 0 ? time.neg() : time;
  const field = (time: Tensor, y: Tensor) => f(turned(time), y);
  return (samples) => {
    const { time, size, y, errors: [previous, earlier] } = samples;
    const { dtype } = y;
    const column = columnShape(y);
    const neighbour = (at: Tensor, side: number) =>
      at.add(at.abs().maximum(smallestTime).mul(side * precisionOf(dtype)));
    const isActive = time.less(finish);

    const last = scalar(finish, dtype).broadcastTo(column);
    const ahead = jumps.length > 0
      ? nextOf(tensor(jumps, { dtype }), time.reshape([-1, 1]), finish).reshape(column)
      : last;
    const left = ahead.sub(time);
    const lands = size.greaterEqual(left);
    const end = lands.where(ahead, time.add(size));
    const length = end.sub(time);
    const jumping = jumps.length > 0 ? lands.and(ahead.less(finish)) : undefined;

    const slope = jumping
      ? samples.restarted.greater(0).where(field(neighbour(time, 1), y), samples.slope)
      : samples.slope;
    const near = jumping ? jumping.where(neighbour(end, -1), end) : end;
    const dt = turned(length);
    const step = embeddedStep(
      tableau,
      (t, [z]) => [field(t, z)],
      stageTimes(time, length, near),
      dt,
      [y],
      [slope],
    );
    const error = weigh(tableau.error, step.stages, dt);
    const ratio = errorRatio(error, [y], step.y, options, "sample");
    const taken = isActive.and(ratio.lessEqual(1));
    const factor = stepFactor(ratio, [previous, earlier], tableau.order, options.controller);
    const next = (after: Tensor, before: Tensor) => taken.where(after, before);
    return {
      carry: {
        time: next(end, time),
        size: isActive.where(length.mul(factor), size),
        y: next(step.y[0], y),
        slope: next(step.stages.at(-1)![0], slope),
        restarted: jumping ? next(jumping.cast(dtype), samples.restarted) : samples.restarted,
        settled: next(end, time).less(finish).and(length.greater(0)).not().cast(dtype),
        count: samples.count.add(samples.settled.equal(0).cast(dtype)),
        errors: [next(ratio, previous), next(previous, earlier)],
      },
      outputs: {
        start: time,
        end,
        taken: taken.cast(dtype),
        restarted: jumping ? samples.restarted : undefined,
      },
    };
  };
}

/** The first of the times after each time of a column, or `last` after all times. */
function nextOf(times: Tensor, column: Tensor, last: number): Tensor {
  return times.greater(column).where(times, last).min(-1);
}
