/** The steps that an adaptive search has attempted, and its failures. */
import type { DType } from "../../device/dtype.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { type FailureReason, failureReasons, NoProgressError } from "../divergence.ts";
import type { AdaptiveOptions, StepList } from "./steps.ts";

/** The steps of a sample. */
interface Progress extends StepList {
  time: number;
  /** Size of the last attempted step, in units of time. */
  length: number;
  done: boolean;
  /** Why the sample cannot continue. */
  failure?: FailureReason;
}

/** Bits of the column that states how an attempt ends. */
const [over, failed, infinite] = [1, 2, 4];

/** The bits of an attempt, for {@linkcode follow}: the end is reached, the controller fails, the error is not finite. */
export function endingOf(
  { isOver, fails, isInfinite }: {
    readonly isOver: Tensor;
    readonly fails?: Tensor;
    readonly isInfinite: Tensor;
  },
  dtype: DType,
): Tensor {
  const ending = isOver.cast(dtype).add(isInfinite.cast(dtype).mul(infinite));
  return fails ? ending.add(fails.cast(dtype).mul(failed)) : ending;
}

/**
 * Reads the attempts of a search.
 *
 * @param rows `(examples, steps, samples, columns)`. The columns are start, end, in float32 two each, the flags accepted and
 * restarted, and the result of {@linkcode endingOf}.
 * @param shape The shape of an example's rows.
 */
export function follow(
  rows: ArrayLike<number>,
  [steps, samples, columns]: readonly number[],
  direction: number,
  begin: number,
): Progress[] {
  const parts = (columns - 3) / 2;
  const perExample = steps * samples * columns;
  const count = perExample === 0 ? samples : rows.length / (steps * columns);
  const [starts, ends] = [new Float64Array(count * steps), new Float64Array(count * steps)];
  const restarts = new Uint8Array(count * steps);
  return Array.from({ length: count }, (_, list) => {
    const progress: Omit<Progress, "starts" | "ends" | "restarted"> = {
      ...{ rejected: 0, time: begin, length: NaN, done: false },
    };
    const own = list * steps;
    let next = own;
    let wasInfinite = false;
    const first = Math.floor(list / samples) * perExample + list % samples * columns;
    for (let step = 0; step < steps && !progress.done && !progress.failure; step++) {
      const at = first + step * samples * columns;
      const start = direction * (rows[at] + (parts === 2 ? rows[at + 1] : 0));
      const end = direction * (rows[at + parts] + (parts === 2 ? rows[at + parts + 1] : 0));
      const flags = at + 2 * parts;
      const [taken, restarted, ending] = [rows[flags] !== 0, rows[flags + 1] !== 0, rows[flags + 2]];
      progress.length = Math.abs(end - start);
      const isStuck = !(progress.length > 0);
      // The times of a stuck attempt may all be before the place where the error is infinite.
      const isInfinite: boolean = (ending & infinite) !== 0 || isStuck && wasInfinite;
      wasInfinite = isInfinite;
      if (isStuck || ending & failed) {
        progress.failure = isInfinite ? "notFinite" : isStuck ? "precision" : "dtMin";
      }
      progress.time = taken ? end : start;
      if (taken) {
        // All attempts before the first step were rejected.
        restarts[next] = Number(step === progress.rejected || restarted);
        starts[next] = start;
        ends[next++] = end;
        progress.done = (ending & over) !== 0;
      } else progress.rejected++;
    }
    return {
      ...progress,
      starts: starts.subarray(own, next),
      ends: ends.subarray(own, next),
      restarted: restarts.subarray(own, next),
    };
  });
}

/** @throws {NoProgressError} If a sample has not reached the end. */
export function checkProgress(...args: Parameters<typeof failureOf>): void {
  const failure = failureOf(...args);
  if (failure) throw new NoProgressError(failure.message, failure.reason);
}

/** Why the samples have not reached the end. */
function failureOf(
  samples: readonly Progress[],
  method: string,
  [begin, finish]: readonly [number, number],
  { maxSteps, origin, controller }: Pick<AdaptiveOptions, "maxSteps" | "origin" | "controller">,
  dtype: DType,
): { reason: FailureReason; message: string } | undefined {
  const stuck = samples.findIndex((sample) => sample.failure);
  const isLone = samples.length === 1;
  if (stuck >= 0) {
    const reason = samples[stuck].failure!;
    const place = `${isLone ? "" : `sample ${stuck} `}at ${describe(samples[stuck], origin)}`;
    const advice: Partial<Record<FailureReason, string>> = {
      dtMin: `, ${controller.dtMin}; choose a smaller dtMin, larger tolerances, or forceDtMin`,
      precision: `; the state diverges, or rtol and atol are below the precision of ${dtype}`,
    };
    return {
      reason,
      message: `odeint: ${method} cannot continue ${place}: ${failureReasons[reason]}${advice[reason] ?? ""}`,
    };
  }
  const left = samples.flatMap(({ done }, i) => done ? [] : [i]);
  if (left.length === 0) return undefined;
  const distance = (i: number) => Math.abs(finish - samples[i].time);
  const last = left.reduce((a, b) => distance(b) > distance(a) ? b : a);
  const { time, length, rejected } = samples[last];
  const steps = `odeint: ${maxSteps} steps of ${method} from t = ${origin + begin}`;
  const message = isLone
    ? `${steps} reached t = ${origin + time}, expected t = ${
      origin + finish
    }; ${rejected} steps were rejected, and the last step size was ${length}. `
    : `${steps} are not enough for ${left.length} of ${samples.length} samples to reach t = ${
      origin + finish
    }; the farthest from it, sample ` +
      `${last}, is at ${describe(samples[last], origin)}. `;
  const advice = "Raise maxSteps, rtol or atol; very short steps indicate a stiff or diverging equation";
  return { reason: "maxSteps", message: message + advice };
}

function describe({ time, length, starts, rejected }: Progress, origin: number): string {
  return `t = ${
    origin + time
  }, where it tried a step of ${length}, after ${starts.length} steps and ${rejected} rejected ones`;
}
