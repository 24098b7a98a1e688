/**
 * The length of steps: the norm of errors, the first step, the next one. The first step is torchdiffeq's. (Hairer, Norsett,
 * Wanner, "Solving Ordinary Differential Equations I", section II.4.)
 */
import { checkOptions, type OptionNames } from "../../device/options.ts";
import { isCapturing, JitError } from "../../device/capture.ts";
import type { DType } from "../../device/dtype.ts";
import { peekHostValues } from "../../tensor/host.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import type { Parts } from "../runge_kutta.ts";

/** The error that a step may have: `atol + rtol |y|` in the root mean square over all elements. */
export interface Tolerances {
  readonly rtol: number;
  readonly atol: number;
}

/**
 * Over which elements the root mean square of an error is taken: of the entire batch, so that all samples take the same
 * steps, or of each sample, so that each takes steps of its own.
 */
export type ErrorNorm = "batch" | "sample";

/**
 * A PID controller of the step's length: with the errors r of this step and the two before it, in units of what is allowed,
 * and the order k of the method (that of its error estimate, plus one, in all methods here) the next step is longer by
 * `safety * r0^(-(p + i + d) / k) * r1^((p + 2 d) / k) * r2^(-d / k)`. (Soderlind, "Digital filters in adaptive time-stepping",
 * 2003; the names are Diffrax's.) The coefficients 0, 1, 0 are the integral controller that torchdiffeq has. After a rejected
 * step that one decides, whatever the coefficients.
 */
export interface StepController {
  /**
   * Proportional: 0 by default. 0.3 or 0.4 with an `icoeff` of 0.3 suits equations that are a little stiff.
   *
   * @default {0}
   */
  pcoeff?: number;
  /**
   * Integral: 1 by default.
   *
   * @default {1}
   */
  icoeff?: number;
  /**
   * Derivative: 0 by default.
   *
   * @default {0}
   */
  dcoeff?: number;
  /**
   * Factor by which a step is shorter than its error would allow.
   *
   * @default {0.9}
   */
  safety?: number;
  /**
   * Smallest factor from a step to the next, 0.2 by default; after one that was good enough it does not
   * shrink.
   *
   * @default {0.2}
   */
  factormin?: number;
  /**
   * Largest factor from a step to the next.
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

/** torchdiffeq's integral controller. */
export const integralController: Required<StepController> = {
  pcoeff: 0,
  icoeff: 1,
  dcoeff: 0,
  safety: 0.9,
  factormin: 0.2,
  factormax: 10,
};

/**
 * The controller with what was left out.
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
 * Root mean square of each part relative to a scale, zero where it has no elements; the largest counts.
 *
 * @returns A tensor of no axes, or `(batch, 1, ...)` for the norm of each sample.
 */
function normOf(parts: Parts, scales: Parts, norm: ErrorNorm): Tensor {
  return parts.map((part, i) => {
    const axes = part.shape.map((_, axis) => axis).slice(norm === "sample" ? 1 : 0);
    const squares = part.div(scales[i]).square();
    const keep = { keepDims: norm === "sample" };
    return (part.size === 0 ? squares.sum(axes, keep) : squares.mean(axes, keep)).sqrt();
  }).reduce((largest, own) => largest.maximum(own));
}

/** The relative distance from a number to its neighbours, in the precision of the state. */
export function precisionOf(dtype: DType): number {
  return dtype === "float32" ? 2 ** -23 : 2 ** -52;
}

/**
 * The values of a tensor, row-major.
 *
 * @throws {Error} On a device that must be waited for.
 */
export function readNumbers(x: Tensor): Float64Array {
  const values = peekHostValues(x);
  if (values) return values;
  throw new (isCapturing() ? JitError : Error)(
    "this method looks at numbers while it runs (an implicit one to solve its equations), but the state is on " +
      `${x.device.info.kind}, where nothing can be read without waiting, or inside jit, where nothing is known yet: solve on the ` +
      'CPU, await init({ device: "cpu" }), without jit, or ' +
      "use an explicit method of fixed steps, rk4 say, with a stepSize",
  );
}

/**
 * The value of a tensor of one element.
 *
 * @throws {Error} As {@linkcode readNumbers}.
 */
export function readNumber(x: Tensor): number {
  return readNumbers(x)[0];
}

/** A step's error in units of what is allowed: it is good enough up to 1. NaN where a state is not finite. */
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
 * A guess of a good first step, from the sizes of the state, its slope and that slope's change. One evaluation.
 *
 * @param later The slope at another time and state, given the distance in time.
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

/** The errors of the last two steps that were good enough, the latest first. */
type ErrorMemory = readonly [Tensor, Tensor];

/**
 * The factor from a step to the next: less than one after a step that was not good enough.
 *
 * @param ratio Of {@linkcode errorRatio}.
 */
export function growth(
  ratio: Tensor,
  [previous, earlier]: ErrorMemory,
  order: number,
  { pcoeff, icoeff, dcoeff, safety, factormin, factormax }: Required<StepController>,
): Tensor {
  /** An error of nothing counts as a tiny one. */
  const power = (error: Tensor, exponent: number) => error.maximum(1e-10).pow(exponent / order);
  const terms = [power(ratio, -(pcoeff + icoeff + dcoeff))];
  if (pcoeff + 2 * dcoeff !== 0) terms.push(power(previous, pcoeff + 2 * dcoeff));
  if (dcoeff !== 0) terms.push(power(earlier, -dcoeff));
  const longer = terms.reduce((product, term) => product.mul(term)).mul(safety).clip(1, factormax);
  const shorter = power(ratio, -1).mul(safety).maximum(factormin);
  // NaN is neither.
  return ratio.lessEqual(1).where(longer, ratio.greater(1).where(shorter, factormin));
}
