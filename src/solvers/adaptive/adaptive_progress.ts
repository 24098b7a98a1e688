/** The progress of the samples of an adaptive solve, each in steps of its own. */
import type { DType } from "../../device/dtype.ts";
import { NoProgressError } from "../divergence.ts";
import type { AdaptiveOptions, StepList } from "./adaptive_search.ts";

/** The steps of a sample so far. */
interface Progress extends StepList {
  time: number;
  /** Length of the last step that was tried, in units of time. */
  length: number;
  done: boolean;
  /** Whether time stands still. */
  stuck: boolean;
}

/** A sample that has taken no step. */
export function startAt(time: number): Progress {
  return { starts: [], ends: [], renewed: [], rejected: 0, time, length: NaN, done: false, stuck: false };
}

/** The rows of a run, `(steps, samples)` each; times run forwards. */
export type Rows = readonly [
  starts: Float64Array,
  ends: Float64Array,
  taken: Float64Array,
  renewed?: Float64Array,
];

/** Takes up the steps that were tried in a run. */
export function follow(
  samples: readonly Progress[],
  [starts, ends, taken, renewed]: Rows,
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
        sample.renewed.push(sample.starts.length === 0 || renewed?.[i] === 1);
        sample.starts.push(start);
        sample.ends.push(end);
        sample.done = direction * (end - finish) >= 0;
      } else sample.rejected++;
    }
  });
}

/** @throws {NoProgressError} If a sample cannot go on. */
export function checkProgress(
  samples: readonly Progress[],
  method: string,
  dtype: DType,
  origin: number,
): void {
  const stuck = samples.findIndex((sample) => sample.stuck);
  if (stuck < 0) return;
  throw new NoProgressError(
    `odeint: ${method} cannot go on with sample ${stuck} at ${describe(samples[stuck], origin)}: ` +
      "the state is not finite there, or rtol and atol are below the precision of " + dtype,
  );
}

/** The error where samples have not arrived after so many steps; it names the one with the longest way to go. */
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
    } did not lead ${left.length} of ${samples.length} samples to ` +
      `t = ${origin + finish}; the last one, sample ${last}, is at ${
        describe(samples[last], origin)
      }. Raise maxSteps, rtol or atol; very short ` +
      "steps are a sign of a stiff or diverging equation",
  );
}

function describe({ time, length, starts, rejected }: Progress, origin: number): string {
  return `t = ${
    origin + time
  }, where it tried a step of ${length}, after ${starts.length} steps and ${rejected} rejected ones`;
}
