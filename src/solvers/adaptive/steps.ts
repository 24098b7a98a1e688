/** The steps of an adaptive solve, and the options of the search for them. */
import { Transformation } from "../../autodiff/transformation.ts";
import { beneathAll } from "../../compile/loop/while_loop.ts";
import { largest } from "../../device/min_max.ts";
import type { DType } from "../../device/dtype.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { smallestTime } from "./clock.ts";
import type { ErrorController } from "../control/controller.ts";
import type { Tolerances } from "../control/tolerances.ts";
import type { FailureReason } from "../divergence.ts";
import { type ErrorNorm, type ErrorScale, precisionOf } from "./step_control.ts";

/** Options of the search for steps. */
export interface AdaptiveOptions extends Tolerances {
  /** Maximum number of attempted steps. */
  readonly maxSteps: number;
  /** Size of the first step. By default estimated from the vector field. */
  readonly stepSize?: number;
  /** Times at which the vector field may jump. A step ends at each of them, and the next step evaluates its first slope again. */
  readonly jumps?: ArrayLike<number>;
  /** Times at which a step ends, without a jump. */
  readonly stops?: ArrayLike<number>;
  /** The first of the jumps as a tensor, if a gradient with respect to them is being computed. */
  readonly watchedJumps?: Tensor;
  /** The origin of all other times. Messages add it, so that they contain the user's times. */
  readonly origin: number;
  readonly controller: ErrorController;
  readonly norm: ErrorNorm;
  /** The user's norm, of a packed state. */
  readonly measure?: ErrorScale["measure"];
  /** Whether a sample that does not reach the end is an error. Default: true. */
  readonly throws?: boolean;
}

/** Steps in order, from the first to the last output time. */
export interface StepList {
  readonly starts: Float64Array;
  readonly ends: Float64Array;
  /** 1 for each step that evaluates its first slope again, else 0. */
  readonly restarted: Uint8Array;
  /** Number of rejected steps. */
  rejected: number;
  /** Why the last step does not reach the end. */
  readonly failure?: FailureReason;
}

/** The steps of a solve. */
export interface Steps {
  readonly norm: ErrorNorm;
  /** The steps of each sample, or one list for all samples; for each example of `vmap`. */
  readonly lists: readonly StepList[];
  /** The transformations whose examples have their own steps, outermost first, with the numbers of examples. */
  readonly examples: readonly (readonly [trace: Transformation, size: number])[];
  /** Number of evaluations of the vector field; the maximum over samples. */
  readonly evaluations: number;
  /** Whether the search knew times at which the vector field may jump. */
  readonly jumping: boolean;
}

/** The largest count, or 0 for an empty array. */
export function largestCount(counts: readonly number[]): number {
  return Math.max(0, largest(counts));
}

/** The time after another, one unit of precision of the state later. */
export function justAfter(t: number, direction: number, dtype: DType): number {
  return t + direction * precisionOf(dtype) * Math.max(Math.abs(t), smallestTime);
}

/** The time of the first slope. It is after a jump at the start. */
export function firstTime(t: number, direction: number, dtype: DType, jumping: boolean): number {
  return jumping ? justAfter(t, direction, dtype) : t;
}

/** The shape of one number per sample, which broadcasts against states. */
export function columnShape({ shape: [batch, ...rest] }: Tensor): number[] {
  return [batch, ...rest.map(() => 1)];
}

/** The examples of `vmap` that have separate steps, from the outputs of a search; none without outputs. */
export function examplesOf(outputs: Tensor | undefined): Steps["examples"] {
  if (!outputs) return [];
  const { traces, values } = beneathAll(outputs);
  return traces.filter((trace) => trace instanceof Transformation)
    .filter(({ isBatch }) => isBatch)
    .map((trace, i) => [trace, values.shape[i]] as const);
}
