/** Finds the steps that tolerances require. All samples share the steps, which equal those of torchdiffeq. */
import { isCapturing, JitError } from "../../device/capture.ts";
import type { Buffer } from "../../device/device.ts";
import { largest } from "../../device/min_max.ts";
import { bufferScope } from "../../device/buffer_scope.ts";
import { makeContiguous } from "../../device/view.ts";
import type { DType } from "../../device/dtype.ts";
import { scalar } from "../../tensor/creation.ts";
import { peekHostValues } from "../../tensor/host.ts";
import { NoProgressError } from "../divergence.ts";
import { withoutRecording } from "../../tensor/primitive.ts";
import { tidy, tidyLater } from "../../tensor/scope.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { type AdaptiveMethod, embeddedStep } from "./embedded.ts";
import { type Parts, type PartsField, type Step, weigh } from "../runge_kutta.ts";
import {
  type ErrorNorm,
  errorRatio,
  firstStep,
  precisionOf,
  type StepController,
  stepFactor,
  type Tolerances,
} from "./step_control.ts";

/** Options of the search for steps. */
export interface AdaptiveOptions extends Tolerances {
  /** Maximum number of attempted steps. */
  readonly maxSteps: number;
  /** Size of the first step. By default estimated from the vector field. */
  readonly stepSize?: number;
  /** Times at which the vector field may jump. A step ends at each of them, and the next step evaluates its first slope again. */
  readonly jumps?: ArrayLike<number>;
  /** The origin of all other times. Messages add it, so that they contain the user's times. */
  readonly origin: number;
  readonly controller: Required<StepController>;
  readonly norm: ErrorNorm;
}

/** Steps in order, from the first to the last output time. */
export interface StepList {
  readonly starts: number[];
  readonly ends: number[];
  /** Whether each step evaluates its first slope again. */
  readonly restarted: boolean[];
  /** Number of rejected steps. */
  rejected: number;
}

/** The steps of a solve. */
export interface Steps {
  readonly norm: ErrorNorm;
  /** The steps of each sample, or one list for all samples. */
  readonly lists: readonly StepList[];
  /** Number of evaluations of the vector field; the maximum over samples. */
  readonly evaluations: number;
  /** Whether the search knew times at which the vector field may jump. */
  readonly jumping: boolean;
}

/** The largest count, or 0 for an empty array. */
export function largestCount(counts: readonly number[]): number {
  return Math.max(0, largest(counts));
}

/** A computation that needs numbers. It yields tensors and receives their values. */
export type Search<T> = Generator<readonly Tensor[], T, readonly Float64Array[]>;

/**
 * Runs a search on a device whose values can be read synchronously.
 *
 * @throws {Error} On other devices.
 */
export function runSearch<T>(search: Search<T>): T {
  let turn = search.next();
  while (!turn.done) turn = search.next(turn.value.map(valuesNow));
  return turn.value;
}

function valuesNow(x: Tensor): Float64Array {
  const values = peekHostValues(x.flatten());
  if (values) return values;
  const reason = isCapturing()
    ? "jit traces the solve before the state has values"
    : `the state is on ${x.device.info.kind}, whose values must be awaited`;
  throw new (isCapturing() ? JitError : Error)(
    `an adaptive method, such as the default dopri5, computes its step sizes from values, but ${reason}: find the steps ` +
      "first, with const steps = await findOdeintSteps(f, y0, t, options) or findCdeintSteps, and solve with the option { steps }; or solve on the " +
      "CPU without jit, or use a fixed-step method, such as rk4, with a stepSize",
  );
}

/** Runs a search, awaiting values. Frees all tensors of the search, so its result must not hold tensors. */
export async function runSearchAsync<T>(search: Search<T>): Promise<T> {
  const made: Buffer[] = [];
  const go = (...values: [] | [readonly Float64Array[]]) =>
    bufferScope(() => withoutRecording(() => search.next(...values)), (_, buffers) => {
      for (const buffer of buffers) made.push(buffer);
      return buffers;
    });
  try {
    let turn = go();
    while (!turn.done) {
      const [{ memoryDevice: device }] = turn.value;
      const words = await device.read(turn.value.map((x) => makeContiguous(device, x.view)));
      turn = go(words.map((values) => Float64Array.from(values)));
    }
    return turn.value;
  } finally {
    for (const buffer of made) buffer.free();
  }
}

/** The time after another, one unit of precision of the state later. */
export function justAfter(t: number, direction: number, dtype: DType): number {
  return t + direction * precisionOf(dtype) * Math.max(Math.abs(t), smallestTime);
}

/** Minimum absolute value of a time for {@linkcode justAfter}: the precision at zero would be too fine. */
export const smallestTime = 2 ** -100;

/** The time of the first slope. It is after a jump at the start. */
export function firstTime(
  t: number,
  direction: number,
  dtype: DType,
  jumping: boolean,
): number {
  return jumping ? justAfter(t, direction, dtype) : t;
}

/** The times after the start at which a step must end, in the order of the steps. */
export function jumpsAfter(start: number, direction: number, { jumps }: AdaptiveOptions): number[] {
  return [...new Set(Array.from(jumps ?? []))].filter((jump) => direction * (jump - start) > 0)
    .sort((a, b) => direction * (a - b));
}

/** An observer of accepted steps. */
export interface StepObserver<T> {
  /** Records a step. */
  readonly keep: (step: Step, y: Parts, dt: number) => T;
  /** Whether a step between two times must be recorded. */
  readonly wants: (start: number, end: number) => boolean;
  /** Receives a record. Returning `true` ends the search. */
  readonly take: (kept: T, start: number, end: number) => boolean | void;
}

/**
 * Finds steps that all samples share.
 *
 * @param goal The end of the search, for messages.
 * @param controlled Number of parts of the state, from the first, whose error is controlled.
 */
export function* findSteps<T>(
  tableau: AdaptiveMethod,
  f: PartsField,
  y0: Parts,
  [begin, finish]: readonly [number, number],
  options: AdaptiveOptions,
  watch?: StepObserver<T>,
  goal = `t = ${options.origin + finish}`,
  controlled = y0.length,
): Search<Steps> {
  const { dtype } = y0[0];
  const { order } = tableau;
  const { origin } = options;
  const direction = Math.sign(finish - begin);
  const timeAt = (t: number) => scalar(t, dtype);
  const jumps = jumpsAfter(begin, direction, options);
  const jumping = options.jumps !== undefined;
  const control = (parts: Parts) => parts.slice(0, controlled);

  const list: StepList = { starts: [], ends: [], restarted: [], rejected: 0 };
  let evaluations = 1;
  let [t, y, restarted] = [begin, y0, true];
  let slope = tidy(() => f(timeAt(firstTime(t, direction, dtype, jumping)), y));
  let size = options.stepSize;
  if (size === undefined) {
    const later = (distance: Tensor, z: Parts) =>
      control(f(distance.add(begin), [...z, ...y.slice(controlled)]));
    const guess = tidyLater(() =>
      firstStep(later, direction, control(y), control(slope), order, options, "batch")
    );
    [[size]] = yield [guess.result];
    guess.release([]);
    evaluations++;
  }

  let [previous, earlier] = [1, 1];
  while (direction * (finish - t) > 0) {
    const steps = list.starts.length;
    if (steps + list.rejected === options.maxSteps) {
      throw new NoProgressError(
        `odeint: ${options.maxSteps} steps of ${tableau.name} from t = ${origin + begin} reached t = ${
          origin + t
        }, expected ${goal}; ${list.rejected} steps were rejected, and the next step size is ${size}. ` +
          "Raise maxSteps, rtol or atol; very short steps indicate a stiff or diverging equation",
      );
    }
    const lands: boolean = jumps.length > 0 && direction * (jumps[0] - t) <= size;
    const end: number = lands ? jumps[0] : t + direction * size;
    const dt = end - t;
    if (dt === 0 || !Number.isFinite(dt)) {
      throw new NoProgressError(
        `odeint: ${tableau.name} cannot continue at t = ${
          origin + t
        }, where the step size became ${size} after ${steps} steps: ` +
          "the state is not finite there, or rtol and atol are below the precision of " + dtype,
      );
    }
    const [start, before, first] = [t, y, slope];
    const tried = tidyLater(() => {
      // The slopes on the two sides of a jump differ, so each step evaluates its own side.
      const near = lands ? timeAt(justAfter(end, -direction, dtype)) : timeAt(end);
      const at = (c: number) => c === 1 ? near : timeAt(start + c * dt);
      const step = embeddedStep(tableau, f, at, dt, before, first);
      const error = weigh(tableau.error, step.stages.map(control), dt);
      const ratio = errorRatio(error, control(before), control(step.y), options, "batch");
      const memory = [timeAt(previous), timeAt(earlier)] as const;
      return { step, ratio, factor: stepFactor(ratio, memory, order, options.controller) };
    });
    const { step, ...numbers } = tried.result;
    const [[ratio], [factor]] = yield [numbers.ratio, numbers.factor];
    evaluations += step.evaluations ?? tableau.a.length;
    size = Math.abs(dt) * factor;
    if (!(ratio <= 1)) {
      tried.release([]);
      list.rejected++;
      continue;
    }
    const { after, kept } = tidy(() => ({
      after: lands ? f(timeAt(justAfter(end, direction, dtype)), step.y) : step.stages.at(-1)!,
      kept: watch?.wants(start, end) ? { of: watch.keep(step, before, dt) } : undefined,
    }));
    tried.release([step.y, after, kept]);
    list.starts.push(start);
    list.ends.push(end);
    list.restarted.push(restarted);
    if (kept && watch!.take(kept.of, start, end)) break;
    [t, y, slope, restarted] = [end, step.y, after, lands];
    [previous, earlier] = [ratio, previous];
    if (lands) {
      jumps.shift();
      evaluations++;
    }
  }
  return { norm: "batch", lists: [list], evaluations, jumping };
}
