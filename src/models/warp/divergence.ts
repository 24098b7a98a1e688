import { isCapturing } from "../../device/capture.ts";
import type { TypedArray } from "../../device/dtype.ts";
import { makeContiguous } from "../../device/view.ts";
import { DivergenceError } from "../../solvers/divergence.ts";
import { checkValues } from "../../tensor/late_checks.ts";
import { withoutRecording } from "../../tensor/primitive.ts";
import { scope } from "../../tensor/scope.ts";
import { Symbolic } from "../../tensor/symbolic.ts";
import type { Tensor } from "../../tensor/tensor.ts";

/** The largest weight that a state may have unless another is given: its square still fits in a loss of float32. */
const usualLimit = 1e6;

const advice =
  "a spectral radius of A above one, or predictions that are fed back, let states grow with the length of " +
  "the series: a lower learning rate, clipped gradients, bounded predictions (bound) or clipWeights may help, or a larger " +
  "limit where such weights are meant";

const adviceForNaN = "a missing value (NaN) in the series does that: fill it, with forwardFill say; else " +
  advice;

/** A run of some steps whose last states are looked at. */
export interface WatchedRun {
  /** `(batch, D)`. */
  readonly final: Tensor;
  /** Steps after the first state. */
  readonly steps: number;
  /** Computes all states once more, `(batch, steps + 1, D)`. */
  readonly again: () => Tensor;
}

/**
 * Refuses last states with a weight beyond a limit. Only where one has diverged are all states computed, once more, to
 * find the step. On a GPU, which does not answer at once, nothing is looked at unless there is a limit; the error then
 * comes later, with the next call that reads values, and names the last step.
 *
 * @param limit The largest absolute value; `undefined` for the usual one.
 * @throws {DivergenceError} If a weight is larger, infinite or NaN.
 */
export function refuseDivergence({ final, steps, again }: WatchedRun, limit: number | undefined): void {
  if (final.storage instanceof Symbolic || limit === Infinity) return;
  const { device } = final;
  const largest = (states: () => Tensor) =>
    makeContiguous(device, withoutRecording(() => scope(() => largestWeights(states()))).view);
  if (isCapturing() && limit === undefined) return;
  if (!device.readSync) {
    if (limit === undefined) return;
    checkValues(device, largest(() => final), (values) => check(values, steps, steps, limit));
    return;
  }
  const most = limit ?? usualLimit;
  const values = device.readSync(largest(() => final));
  if (values.every((value: number) => isWithin(value, most))) return;
  check(device.readSync(largest(() => again().transpose(0, 1))), 0, steps, most);
  check(values, steps, steps, most);
}

/** The largest absolute value along the last axis; -1 where one of them is NaN, which GPUs need not keep. */
function largestWeights(states: Tensor): Tensor {
  const isNaN = states.isNaN();
  return isNaN.cast("int32").max(-1).greater(0).where(-1, isNaN.where(0, states.abs()).max(-1));
}

/** Whether a result of {@linkcode largestWeights} is up to a limit. */
function isWithin(value: number, limit: number): boolean {
  return value >= 0 && value <= limit;
}

/** @param values Of each sample, at position `from` and those after it. */
function check(values: TypedArray, from: number, steps: number, limit: number): void {
  const at = values.findIndex((value: number) => !isWithin(value, limit));
  if (at < 0) return;
  const samples = values.length / (steps + 1 - from);
  const position = from + Math.floor(at / samples);
  // The first state is no step's: it counts to the one that takes it up.
  const step = Math.max(0, position - 1);
  const [value, remedy] = values[at] < 0 ? [NaN, adviceForNaN] : [values[at], advice];
  throw new DivergenceError(step, position / steps, at % samples, [], value, steps, [], remedy);
}
