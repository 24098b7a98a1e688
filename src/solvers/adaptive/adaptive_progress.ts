/** Progress of an adaptive search with separate steps for each sample. */
import type { DType } from "../../device/dtype.ts";
import { NoProgressError } from "../divergence.ts";
import type { AdaptiveOptions, StepList } from "./adaptive_search.ts";

/** The steps of a sample so far. */
interface Progress extends StepList {
  time: number;
  /** Size of the last attempted step, in units of time. */
  length: number;
  done: boolean;
  /** Whether the last step was too short to advance the time. */
  stuck: boolean;
}

/** A sample before its first step. */
export function initialProgress(time: number): Progress {
  return { starts: [], ends: [], restarted: [], rejected: 0, time, length: NaN, done: false, stuck: false };
}

/** The attempted steps of a run, `(steps, samples)` each. Times run forwards. */
export type Rows = readonly [
  starts: Float64Array,
  ends: Float64Array,
  taken: Float64Array,
  restarted?: Float64Array,
];

/** Adds the attempted steps of a run to the progress of each sample. */
export function follow(
  samples: readonly Progress[],
  [starts, ends, taken, restarted]: Rows,
  direction: number,
  finish: number,
): void {
  samples.forEach((sample, column) => {
    for (let i = column; i < starts.length && !sample.done && !sample.stuck; i += samples.length) {
      const [start, end] = [direction * starts[i], direction * ends[i]];
      sample.length = Math.abs(end - start);
      sample.stuck = !(sample.length > 0);
      sample.time = taken[i] ? end : start;
      if (taken[i]) {
        sample.restarted.push(sample.starts.length === 0 || restarted?.[i] === 1);
        sample.starts.push(start);
        sample.ends.push(end);
        sample.done = direction * (end - finish) >= 0;
      } else sample.rejected++;
    }
  });
}

/** @throws {NoProgressError} If a sample is stuck. */
export function checkProgress(
  samples: readonly Progress[],
  method: string,
  dtype: DType,
  origin: number,
): void {
  const stuck = samples.findIndex((sample) => sample.stuck);
  if (stuck < 0) return;
  throw new NoProgressError(
    `odeint: ${method} cannot continue sample ${stuck} at ${describe(samples[stuck], origin)}: ` +
      "the state is not finite there, or rtol and atol are below the precision of " + dtype,
  );
}

/** The error for samples that have not reached the end after `maxSteps` steps. It names the sample with the longest remaining time. */
export function tooManySteps(
  method: string,
  samples: readonly Progress[],
  [begin, finish]: readonly [number, number],
  { maxSteps, origin }: Pick<AdaptiveOptions, "maxSteps" | "origin">,
): NoProgressError {
  const left = samples.map(({ done }, i) => done ? -1 : i).filter((i) => i >= 0);
  const distance = (i: number) => Math.abs(finish - samples[i].time);
  const last = left.reduce((a, b) => distance(b) > distance(a) ? b : a);
  return new NoProgressError(
    `odeint: ${maxSteps} steps of ${method} from t = ${
      origin + begin
    } are not enough for ${left.length} of ${samples.length} samples to ` +
      `reach t = ${origin + finish}; the farthest from it, sample ${last}, is at ${
        describe(samples[last], origin)
      }. Raise maxSteps, rtol or atol; very short ` +
      "steps indicate a stiff or diverging equation",
  );
}

function describe({ time, length, starts, rejected }: Progress, origin: number): string {
  return `t = ${
    origin + time
  }, where it tried a step of ${length}, after ${starts.length} steps and ${rejected} rejected ones`;
}
