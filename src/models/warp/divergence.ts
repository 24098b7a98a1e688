import { isCapturing } from "../../device/capture.ts";
import type { TypedArray } from "../../device/dtype.ts";
import { makeContiguous } from "../../device/view.ts";
import { DivergenceError } from "../../solvers/divergence.ts";
import { checkValues } from "../../tensor/late_checks.ts";
import { withoutRecording } from "../../tensor/primitive.ts";
import { tidy } from "../../tensor/scope.ts";
import { Symbolic } from "../../tensor/symbolic.ts";
import type { Tensor } from "../../tensor/tensor.ts";

/** Default limit on the absolute value of a weight. Its square still fits in a float32 loss. */
const defaultLimit = 1e6;

const advice =
  "a spectral radius of A above one, or predictions that are fed back, let states grow with the length of " +
  "the series: a lower learning rate, clipped gradients, bounded predictions (bound) or clipWeights may help, or a larger " +
  "limit if such large weights are intended";

const adviceForNaN =
  "the cause may be a missing value (NaN) in the series: fill it, for example with forwardFill; otherwise " +
  advice;

/** A run of some steps whose last states are checked. */
interface WatchedRun {
  /** `(batch, D)`. */
  readonly final: Tensor;
  /** Steps after the first state. */
  readonly steps: number;
  /** Recomputes all states, `(batch, steps + 1, D)`. */
  readonly again: () => Tensor;
}

/**
 * Throws if a weight of the last states exceeds a limit. Only then all states are recomputed to find the
 * step. On a GPU, where a check would wait, states are only checked if a limit is given. The error is then
 * thrown by the next call that reads values, and it names the last step.
 *
 * @param limit The largest absolute value; `undefined` for the default.
 * @throws {DivergenceError} If a weight is larger, infinite or NaN.
 */
export function refuseDivergence({ final, steps, again }: WatchedRun, limit: number | undefined): void {
  if (final.storage instanceof Symbolic || limit === Infinity) return;
  const { memoryDevice: device } = final;
  const largest = (states: () => Tensor) =>
    makeContiguous(device, withoutRecording(() => tidy(() => largestWeights(states()))).view);
  if (isCapturing() && limit === undefined) return;
  if (!device.readSync) {
    if (limit === undefined) return;
    checkValues(device, largest(() => final), (values) => check(values, steps, steps, limit));
    return;
  }
  const most = limit ?? defaultLimit;
  const values = device.readSync(largest(() => final));
  if (values.every((value: number) => isWithin(value, most))) return;
  check(device.readSync(largest(() => again().transpose(0, 1))), 0, steps, most);
  check(values, steps, steps, most);
}

/**
 * The largest absolute value along the last axis, or -1 if an element is NaN. GPUs may not preserve NaN in a
 * maximum.
 */
function largestWeights(states: Tensor): Tensor {
  const isNaN = states.isNaN();
  return isNaN.cast("int32").max(-1).greater(0).where(-1, isNaN.where(0, states.abs()).max(-1));
}

/** Whether a result of {@linkcode largestWeights} is within a limit. */
function isWithin(value: number, limit: number): boolean {
  return value >= 0 && value <= limit;
}

/** @param values Largest weight of each sample, at positions from `from` on. */
function check(values: TypedArray, from: number, steps: number, limit: number): void {
  const at = values.findIndex((value: number) => !isWithin(value, limit));
  if (at < 0) return;
  const samples = values.length / (steps + 1 - from);
  const position = from + Math.floor(at / samples);
  // The initial state belongs to no step. Report it as step 0.
  const step = Math.max(0, position - 1);
  const [value, remedy] = values[at] < 0 ? [NaN, adviceForNaN] : [values[at], advice];
  throw new DivergenceError(step, position / steps, at % samples, [], value, steps, [], remedy);
}
