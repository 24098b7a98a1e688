/**
 * The norm of errors, and the first step size as in torchdiffeq. (Hairer, Norsett, Wanner, "Solving Ordinary Differential
 * Equations I", section II.4.)
 */
import { isCapturing, JitError } from "../../device/capture.ts";
import type { DType } from "../../device/dtype.ts";
import { peekHostValues } from "../../tensor/host.ts";
import type { Tensor, TensorLike } from "../../tensor/tensor.ts";
import type { Parts } from "../runge_kutta.ts";

/** Tolerances of the error of a step that broadcast against the state: `atol + rtol |y|`. */
export interface ErrorScale {
  readonly rtol: TensorLike;
  readonly atol: TensorLike;
  /** The norm of a part in units of its tolerances, instead of the root mean square. */
  readonly measure?: (error: Tensor) => Tensor;
}

/**
 * The elements of the root mean square of an error. `"batch"`: all elements, so that all samples take the same steps. `"sample"`:
 * the elements of each sample, so that each sample takes its own steps.
 */
export type ErrorNorm = "batch" | "sample";

/**
 * A norm of the error of a step: a function of the error in units of the tolerances, which has the structure and shapes of the
 * state. Returns a scalar tensor. A step with a norm above 1 is repeated with a smaller size.
 */
// deno-lint-ignore no-explicit-any
export type ErrorNormFunction = (error: any) => Tensor;

/**
 * The norm of each part relative to a scale: `measure`, or the root mean square, which is 0 for empty parts. The maximum over
 * parts is returned: as a scalar, or as `(batch, 1, ...)` with the norm `"sample"`.
 */
function normOf(parts: Parts, scales: Parts, norm: ErrorNorm, measure: ErrorScale["measure"]): Tensor {
  return parts.map((part, i) => {
    if (measure) return measure(part.div(scales[i]));
    const axes = part.shape.map((_, axis) => axis).slice(norm === "sample" ? 1 : 0);
    const squares = part.div(scales[i]).square();
    const keep = { keepDims: norm === "sample" };
    return (part.size === 0 ? squares.sum(axes, keep) : squares.mean(axes, keep)).sqrt();
  }).reduce((largest, part) => largest.maximum(part));
}

/** Relative distance between adjacent numbers of a type. */
export function precisionOf(dtype: DType): number {
  return dtype === "float32" ? 2 ** -23 : 2 ** -52;
}

/**
 * The value of a tensor with one element.
 *
 * @throws {Error} On a device whose values must be awaited.
 */
export function readNumber(x: Tensor): number {
  const values = peekHostValues(x);
  if (values) return values[0];
  throw new (isCapturing() ? JitError : Error)(
    "implicit_adams reads values while it runs, but the state is on " +
      `${x.device.info.kind}, whose values must be awaited, or inside jit, where the state has no values yet: solve on the ` +
      'CPU, await init({ device: "cpu" }), without jit, or ' +
      "use an explicit fixed-step method, such as rk4, with a stepSize",
  );
}

/** The error of a step in units of the tolerance. A step is accepted up to 1. NaN if a state is not finite. */
export function errorRatio(
  error: Parts,
  before: Parts,
  after: Parts,
  { rtol, atol, measure }: ErrorScale,
  norm: ErrorNorm,
): Tensor {
  const scales = before.map((y, i) => y.abs().maximum(after[i].abs()).mul(rtol).add(atol));
  return normOf(error, scales, norm, measure);
}

/**
 * Estimates the first step size from the norms of the state, its slope and the change of the slope. It evaluates the vector field
 * once.
 *
 * @param later Returns the slope at another state, at a distance in time from the start.
 */
export function firstStep(
  later: (distance: Tensor, y: Parts) => Parts,
  direction: number,
  y: Parts,
  slope: Parts,
  order: number,
  { rtol, atol, measure }: ErrorScale,
  norm: ErrorNorm,
): Tensor {
  const scales = y.map((part) => part.abs().mul(rtol).add(atol));
  const [size, speed] = [y, slope].map((parts) => normOf(parts, scales, norm, measure));
  const isSmall = size.less(1e-5).or(speed.less(1e-5));
  const trial = isSmall.where(1e-6, size.div(isSmall.where(1, speed)).mul(0.01));
  const distance = trial.mul(direction);
  const moved = y.map((part, i) => part.add(slope[i].mul(distance)));
  const difference = later(distance, moved).map((part, i) => part.sub(slope[i]));
  const change = normOf(difference, scales, norm, measure).div(trial);
  const fastest = speed.maximum(change);
  const isStill = fastest.lessEqual(1e-15);
  const guess = isStill.where(
    trial.mul(1e-3).maximum(1e-6),
    isStill.where(1, fastest).pow(-1).mul(0.01).pow(1 / order),
  );
  return trial.mul(100).minimum(guess);
}
