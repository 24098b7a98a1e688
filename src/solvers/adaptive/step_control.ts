/**
 * Step sizes: the norm of errors, the first step size as in torchdiffeq, and the next step size. (Hairer, Norsett, Wanner, "Solving
 * Ordinary Differential Equations I", section II.4.)
 */
import { checkOptions, type OptionNames } from "../../device/options.ts";
import { isCapturing, JitError } from "../../device/capture.ts";
import type { DType } from "../../device/dtype.ts";
import { peekHostValues } from "../../tensor/host.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import type { Parts } from "../runge_kutta.ts";

/** Tolerances of the error of a step: `atol + rtol |y|` in the root mean square over all elements. */
export interface Tolerances {
  readonly rtol: number;
  readonly atol: number;
}

/**
 * The elements of the root mean square of an error. `"batch"`: all elements, so that all samples take the same steps. `"sample"`:
 * the elements of each sample, so that each sample takes its own steps.
 */
export type ErrorNorm = "batch" | "sample";

/**
 * A PID controller of step sizes. The step size is multiplied by
 * `safety * r0^(-(p + i + d) / k) * r1^((p + 2 d) / k) * r2^(-d / k)`. Here, r0 is the error of this step divided by the tolerance,
 * r1 and r2 are those of the two steps before it, k is the order of the method, and p, i, d are `pcoeff`, `icoeff`, `dcoeff`.
 * (Soderlind, "Digital filters in adaptive time-stepping", 2003. The names are those of Diffrax.) The default p = 0, i = 1,
 * d = 0 is the integral controller of torchdiffeq. It is always used after a rejected step.
 */
export interface StepController {
  /**
   * Proportional coefficient. 0.3 or 0.4 with an `icoeff` of 0.3 suits moderately stiff equations.
   *
   * @default {0}
   */
  pcoeff?: number;
  /**
   * Integral coefficient.
   *
   * @default {1}
   */
  icoeff?: number;
  /**
   * Derivative coefficient.
   *
   * @default {0}
   */
  dcoeff?: number;
  /**
   * Safety factor of the next step size.
   *
   * @default {0.9}
   */
  safety?: number;
  /**
   * Smallest factor between step sizes. After an accepted step the size does not decrease.
   *
   * @default {0.2}
   */
  factormin?: number;
  /**
   * Largest factor between step sizes.
   *
   * @default {10}
   */
  factormax?: number;
}

const controllerOptionNames: OptionNames<StepController> = {
  pcoeff: "optional",
  icoeff: "optional",
  dcoeff: "optional",
  safety: "optional",
  factormin: "optional",
  factormax: "optional",
};

/** The integral controller of torchdiffeq. */
export const integralController: Required<StepController> = {
  pcoeff: 0,
  icoeff: 1,
  dcoeff: 0,
  safety: 0.9,
  factormin: 0.2,
  factormax: 10,
};

/**
 * Completes a controller with defaults.
 *
 * @throws {RangeError} If a number is out of range.
 */
export function checkController(given: StepController = {}): Required<StepController> {
  checkOptions("odeint: controller", given, controllerOptionNames);
  const controller = { ...integralController, ...given };
  const { safety, factormin, factormax } = controller;
  for (const [name, value] of Object.entries(controller)) {
    if (!Number.isFinite(value)) {
      throw new RangeError(`odeint: controller.${name} is ${value}, expected a number`);
    }
  }
  if (!(safety > 0 && safety <= 1)) {
    throw new RangeError(`odeint: controller.safety is ${safety}, expected more than 0 and 1 at most`);
  }
  if (!(factormin > 0 && factormin < 1 && factormax > 1)) {
    throw new RangeError(
      `odeint: controller.factormin is ${factormin} and factormax ${factormax}, expected 0 < factormin < 1 < factormax`,
    );
  }
  return controller;
}

/**
 * The root mean square of each part relative to a scale, 0 for empty parts. The maximum over parts is returned: as a scalar, or as
 * `(batch, 1, ...)` with the norm `"sample"`.
 */
function normOf(parts: Parts, scales: Parts, norm: ErrorNorm): Tensor {
  return parts.map((part, i) => {
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
  { rtol, atol }: Tolerances,
  norm: ErrorNorm,
): Tensor {
  const scales = before.map((y, i) => y.abs().maximum(after[i].abs()).mul(rtol).add(atol));
  return normOf(error, scales, norm);
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
  { rtol, atol }: Tolerances,
  norm: ErrorNorm,
): Tensor {
  const scales = y.map((part) => part.abs().mul(rtol).add(atol));
  const [size, speed] = [normOf(y, scales, norm), normOf(slope, scales, norm)];
  const isSmall = size.less(1e-5).or(speed.less(1e-5));
  const trial = isSmall.where(1e-6, size.div(isSmall.where(1, speed)).mul(0.01));
  const distance = trial.mul(direction);
  const moved = y.map((part, i) => part.add(slope[i].mul(distance)));
  const difference = later(distance, moved).map((part, i) => part.sub(slope[i]));
  const change = normOf(difference, scales, norm).div(trial);
  const fastest = speed.maximum(change);
  const isStill = fastest.lessEqual(1e-15);
  const guess = isStill.where(
    trial.mul(1e-3).maximum(1e-6),
    isStill.where(1, fastest).pow(-1).mul(0.01).pow(1 / order),
  );
  return trial.mul(100).minimum(guess);
}

/** The errors of the last two accepted steps, the latest first. */
type ErrorMemory = readonly [Tensor, Tensor];

/**
 * The factor between this step size and the next. It is below one after a rejected step.
 *
 * @param ratio The result of {@linkcode errorRatio}.
 */
export function stepFactor(
  ratio: Tensor,
  [previous, earlier]: ErrorMemory,
  order: number,
  { pcoeff, icoeff, dcoeff, safety, factormin, factormax }: Required<StepController>,
): Tensor {
  // The lower bound avoids infinite factors for an error of zero.
  const power = (error: Tensor, exponent: number) => error.maximum(1e-10).pow(exponent / order);
  const terms = [power(ratio, -(pcoeff + icoeff + dcoeff))];
  if (pcoeff + 2 * dcoeff !== 0) terms.push(power(previous, pcoeff + 2 * dcoeff));
  if (dcoeff !== 0) terms.push(power(earlier, -dcoeff));
  const longer = terms.reduce((product, term) => product.mul(term)).mul(safety).clip(1, factormax);
  const shorter = power(ratio, -1).mul(safety).maximum(factormin);
  // NaN is neither at most 1 nor above 1: the step size shrinks.
  return ratio.lessEqual(1).where(longer, ratio.greater(1).where(shorter, factormin));
}
