/**
 * Finds steps of its own for each sample, in a compiled loop that tries one step of every sample at a time: time, step length
 * and the controller's memory are part of the state, and where a step is not good enough, or a sample is done, the state stays.
 * The host looks between runs of the loop whether all samples are done.
 */
import { Loop, type Step } from "../../compile/loop/loop.ts";
import { scalar, tensor } from "../../tensor/creation.ts";
import { tidyLater } from "../../tensor/scope.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import {
  type AdaptiveOptions,
  firstTime,
  jumpsAfter,
  mostOf,
  type Search,
  smallestTime,
  type Steps,
} from "./adaptive_search.ts";
import { checkProgress, follow, type Rows, startAt, tooManySteps } from "./adaptive_progress.ts";
import { type AdaptiveMethod, embeddedStep } from "./embedded.ts";
import { errorRatio, firstStep, growth, precisionOf } from "./step_control.ts";
import { stageTimes, type VectorField, weigh } from "../runge_kutta.ts";

/**
 * Steps that are tried before the host looks; more and more later, since each look takes time. On the CPU samples that are done
 * take none, so that many at once cost nothing.
 */
const runs = { cpu: { first: 128, longest: 4096 }, webgpu: { first: 32, longest: 512 } };

/** Largest number of values in a row of a run's record. */
const maxNumbers = 2 ** 22;

/**
 * The state of the search of each sample: `y` and `slope` in the state's shape, all others columns `(batch, 1, ...)`. Times run
 * forwards.
 */
type Samples = {
  readonly time: Tensor;
  /** The length of the next step. */
  readonly size: Tensor;
  readonly y: Tensor;
  readonly slope: Tensor;
  /** 1 where the slope is taken anew, behind a jump. */
  readonly renewed: Tensor;
  /** 1 where the end is reached, or time stands still. */
  readonly settled: Tensor;
  readonly errors: readonly [Tensor, Tensor];
};

/** A step that was tried, in columns; `taken` is 1 where it was good enough. */
type Attempt = {
  readonly start: Tensor;
  readonly end: Tensor;
  readonly taken: Tensor;
  readonly renewed?: Tensor;
};

/** The shape of a number for each sample, which broadcasts against the states. */
export function columnShape({ shape: [batch, ...rest] }: Tensor): number[] {
  return [batch, ...rest.map(() => 1)];
}

/**
 * Finds the steps of each sample.
 *
 * @param f The vector field; its time is a column `(batch, 1, ...)`.
 * @param y0 `(batch, ...)`.
 * @returns Also the states at the end.
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
  const attempt = attemptOf(
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
    renewed: fill(0),
    settled: fill(0),
    errors: [fill(1), fill(1)],
  };
  let release = first.release;
  // Times end where their type says.
  const round = dtype === "float32" ? Math.fround : (x: number) => x;
  const samples = Array.from({ length: y0.shape[0] }, () => startAt(begin));
  const attempts = new Loop(attempt, state, {}, { settled: ({ settled }: Samples) => settled, compile });
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
    const { next, rows: { start, end, taken, renewed } } = after.result;
    const numbers = yield [start, end, taken, ...renewed ? [renewed] : []];
    follow(samples, numbers as unknown as Rows, direction, round(finish));
    checkProgress(samples, tableau.name, dtype, options.origin);
    release(next);
    [state, release] = [next, after.release];
    tried += run;
    isDone = samples.every(({ done }) => done);
  }
  const most = mostOf(samples.map(({ starts, rejected }) => starts.length + rejected));
  const perTry = tableau.a.length + (jumps.length > 0 ? 1 : 0);
  const evaluations = (options.stepSize === undefined ? 2 : 1) + most * perTry;
  release(state.y);
  return {
    steps: { norm: "sample", lists: samples, evaluations, jumping: options.jumps !== undefined },
    final: state.y,
  };
}

/** One step of every sample. */
function attemptOf(
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
      ? samples.renewed.greater(0).where(field(neighbour(time, 1), y), samples.slope)
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
    const factor = growth(ratio, [previous, earlier], tableau.order, options.controller);
    const next = (after: Tensor, before: Tensor) => taken.where(after, before);
    return {
      carry: {
        time: next(end, time),
        size: isActive.where(length.mul(factor), size),
        y: next(step.y[0], y),
        slope: next(step.stages.at(-1)![0], slope),
        renewed: jumping ? next(jumping.cast(dtype), samples.renewed) : samples.renewed,
        settled: next(end, time).less(finish).and(length.greater(0)).not().cast(dtype),
        errors: [next(ratio, previous), next(previous, earlier)],
      },
      outputs: {
        start: time,
        end,
        taken: taken.cast(dtype),
        renewed: jumping ? samples.renewed : undefined,
      },
    };
  };
}

/** The first of some times after each of a column of others, or a last one. */
function nextOf(times: Tensor, column: Tensor, last: number): Tensor {
  return times.greater(column).where(times, last).min(-1);
}
