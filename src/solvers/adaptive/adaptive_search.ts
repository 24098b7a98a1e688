/** Finds the steps that tolerances ask for. Here those that all samples share; as torchdiffeq's, with the same steps. */
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
  growth,
  precisionOf,
  type StepController,
  type Tolerances,
} from "./step_control.ts";

/** Options of the search for steps. */
export interface AdaptiveOptions extends Tolerances {
  /** Largest number of steps that may be tried. */
  readonly maxSteps: number;
  /** The length of the first step; found from the vector field when left out. */
  readonly stepSize?: number;
  /** Times at which the vector field may jump: a step ends at each, and the next begins with a slope of its own. */
  readonly jumps?: ArrayLike<number>;
  /** The time that all others count from; messages name times as the user knows them. */
  readonly origin: number;
  readonly controller: Required<StepController>;
  readonly norm: ErrorNorm;
}

/** Steps from the first to the last of some times, in order. */
export interface StepList {
  readonly starts: number[];
  readonly ends: number[];
  /** Whether the slope is taken anew at the start of each. */
  readonly renewed: boolean[];
  /** Number of steps that were tried and not taken. */
  rejected: number;
}

/** The steps of a solve. */
export interface Steps {
  readonly norm: ErrorNorm;
  /** The steps of each sample, or one list for all. */
  readonly lists: readonly StepList[];
  /** Number of evaluations of the vector field; the largest of all samples. */
  readonly evaluations: number;
  /** Whether they were found with times at which the vector field may jump. */
  readonly jumping: boolean;
}

/** The largest of the numbers of steps of each sample, none of no samples. */
export function mostOf(counts: readonly number[]): number {
  return Math.max(0, largest(counts));
}

/** A computation that waits for numbers: it yields tensors, and is handed their values. */
export type Search<T> = Generator<readonly Tensor[], T, readonly Float64Array[]>;

/**
 * Goes through a search on a device that has its numbers at once.
 *
 * @throws {Error} Elsewhere.
 */
export function searchNow<T>(search: Search<T>): T {
  let turn = search.next();
  while (!turn.done) turn = search.next(turn.value.map(valuesNow));
  return turn.value;
}

function valuesNow(x: Tensor): Float64Array {
  const values = peekHostValues(x.flatten());
  if (values) return values;
  const reason = isCapturing()
    ? "jit traces it for states that are not known yet"
    : `the state is on ${x.device.info.kind}, where they must be waited for`;
  throw new (isCapturing() ? JitError : Error)(
    `an adaptive method, as dopri5, the default, decides from numbers how long its steps are, but ${reason}: find the steps ` +
      "first, const steps = await findOdeintSteps(f, y0, t, options) or findCdeintSteps, and solve with the option { steps }; or solve on the " +
      "CPU without jit, or use a method of fixed steps, rk4 say, with a stepSize",
  );
}

/** Goes through a search and waits where it must; tensors that it makes are freed, so that its result may hold none. */
export async function searchLater<T>(search: Search<T>): Promise<T> {
  const made: Buffer[] = [];
  const go = (...values: [] | [readonly Float64Array[]]) =>
    bufferScope(() => withoutRecording(() => search.next(...values)), (_, own) => {
      for (const buffer of own) made.push(buffer);
      return own;
    });
  try {
    let turn = go();
    while (!turn.done) {
      const [{ memoryDevice: device }] = turn.value;
      const words = await device.read(turn.value.map((x) => makeContiguous(device, x.view)));
      turn = go(words.map((own) => Float64Array.from(own)));
    }
    return turn.value;
  } finally {
    for (const buffer of made) buffer.free();
  }
}

/** A time just after another, in the precision of the state. */
export function justAfter(t: number, direction: number, dtype: DType): number {
  return t + direction * precisionOf(dtype) * Math.max(Math.abs(t), smallestTime);
}

/** Times nearer to zero count as this far away. */
export const smallestTime = 2 ** -100;

/** Time of the first slope: after a jump at the start. */
export function firstTime(
  t: number,
  direction: number,
  dtype: DType,
  jumping: boolean,
): number {
  return jumping ? justAfter(t, direction, dtype) : t;
}

/** The times between two others at which a step must end, in the order in which they come. */
export function jumpsAfter(start: number, direction: number, { jumps }: AdaptiveOptions): number[] {
  return [...new Set(Array.from(jumps ?? []))].filter((jump) => direction * (jump - start) > 0)
    .sort((a, b) => direction * (a - b));
}

/** An observer of the steps that are taken. */
export interface StepWatch<T> {
  /** Makes the record of a step. */
  readonly keep: (step: Step, y: Parts, dt: number) => T;
  /** Whether a step between two times is to be recorded. */
  readonly wants: (start: number, end: number) => boolean;
  /** Receives the record of a step; with `true` the search ends. */
  readonly take: (kept: T, start: number, end: number) => boolean | void;
}

/**
 * Finds steps with one length for all samples.
 *
 * @param goal What is wanted at the end, for messages.
 * @param controlled How many of the state's parts count in the error; the others are carried along.
 */
export function* findSteps<T>(
  tableau: AdaptiveMethod,
  f: PartsField,
  y0: Parts,
  [begin, finish]: readonly [number, number],
  options: AdaptiveOptions,
  watch?: StepWatch<T>,
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

  const list: StepList = { starts: [], ends: [], renewed: [], rejected: 0 };
  let evaluations = 1;
  let [t, y, renewed] = [begin, y0, true];
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
        `odeint: ${options.maxSteps} steps of ${tableau.name} led from t = ${origin + begin} to ${
          origin + t
        } only, ` +
          `${list.rejected} of them rejected; the next would be ${size} long, and ${goal} is wanted. ` +
          "Raise maxSteps, rtol or atol; very short steps are a sign of a stiff or diverging equation",
      );
    }
    const lands: boolean = jumps.length > 0 && direction * (jumps[0] - t) <= size;
    const end: number = lands ? jumps[0] : t + direction * size;
    const dt = end - t;
    if (dt === 0 || !Number.isFinite(dt)) {
      throw new NoProgressError(
        `odeint: ${tableau.name} cannot go on at t = ${
          origin + t
        }, where a step became ${size} long after ${steps} steps: ` +
          "the state is not finite there, or rtol and atol are below the precision of " + dtype,
      );
    }
    const [start, before, first] = [t, y, slope];
    const tried = tidyLater(() => {
      // At a jump the slopes on either side differ: each step asks on its own.
      const near = lands ? timeAt(justAfter(end, -direction, dtype)) : timeAt(end);
      const at = (c: number) => c === 1 ? near : timeAt(start + c * dt);
      const step = embeddedStep(tableau, f, at, dt, before, first);
      const error = weigh(tableau.error, step.stages.map(control), dt);
      const ratio = errorRatio(error, control(before), control(step.y), options, "batch");
      const memory = [timeAt(previous), timeAt(earlier)] as const;
      return { step, ratio, factor: growth(ratio, memory, order, options.controller) };
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
    list.renewed.push(renewed);
    if (kept && watch!.take(kept.of, start, end)) break;
    [t, y, slope, renewed] = [end, step.y, after, lands];
    [previous, earlier] = [ratio, previous];
    if (lands) {
      jumps.shift();
      evaluations++;
    }
  }
  return { norm: "batch", lists: [list], evaluations, jumping };
}
