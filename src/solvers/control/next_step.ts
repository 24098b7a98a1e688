/** The decision of a controller after an attempted step. */
import type { Tensor } from "../../tensor/tensor.ts";
import type { ErrorController } from "./controller.ts";

/** Errors from this bound on are not accepted by `forceDtMin`. */
export const largestError = 2 ** 120;

/** The errors of the last two accepted steps, the latest first. */
export type ErrorMemory = readonly [Tensor, Tensor];

/** The numbers of a controller that decide about a step. */
export function settingsOf(
  { stepTimes: _, jumpTimes: __, ...numbers }: ErrorController,
): Partial<ErrorController> {
  return numbers;
}

/** A step size within the limits of a controller. */
export function limitSize({ dtMin, dtMax }: ErrorController, size: Tensor): Tensor {
  const upper = dtMax === undefined ? size : size.minimum(dtMax);
  return dtMin === undefined ? upper : upper.maximum(dtMin);
}

/**
 * Whether a step is accepted, the size of the next step, and whether the controller gives up.
 *
 * @param ratio The error of the step in units of the tolerance.
 * @param size The chosen size of the step.
 * @param length Its length, which is below the size if the step ends at a given time.
 */
export function decide(
  controller: ErrorController,
  order: number,
  ratio: Tensor,
  memory: ErrorMemory,
  size: Tensor,
  length: Tensor,
): { accepted: Tensor; next: Tensor; fails?: Tensor } {
  const { dtMin, forceDtMin } = controller;
  const fits = ratio.lessEqual(1);
  const next = limitSize(controller, length.mul(stepFactor(ratio, memory, order, controller)));
  if (dtMin === undefined) return { accepted: fits, next };
  const isMin = size.lessEqual(dtMin);
  const accepted = forceDtMin ? fits.or(isMin.and(ratio.less(largestError))) : fits;
  return { accepted, next, fails: isMin.and(accepted.not()) };
}

/**
 * The factor between this step size and the next. It is below one after a rejected step.
 *
 * @param ratio The error of this step in units of the tolerance.
 */
export function stepFactor(
  ratio: Tensor,
  [previous, earlier]: ErrorMemory,
  order: number,
  { pCoeff, iCoeff, dCoeff, safety, factorMin, factorMax }: ErrorController,
): Tensor {
  // The lower bound avoids infinite factors for an error of zero.
  const power = (error: Tensor, exponent: number) => error.maximum(1e-10).pow(exponent / order);
  const terms = [power(ratio, -(pCoeff + iCoeff + dCoeff))];
  if (pCoeff + 2 * dCoeff !== 0) terms.push(power(previous, pCoeff + 2 * dCoeff));
  if (dCoeff !== 0) terms.push(power(earlier, -dCoeff));
  const longer = terms.reduce((product, term) => product.mul(term)).mul(safety).clip(1, factorMax);
  const shorter = power(ratio, -1).mul(safety).maximum(factorMin);
  // NaN is neither at most 1 nor above 1: the step size shrinks.
  return ratio.lessEqual(1).where(longer, ratio.greater(1).where(shorter, factorMin));
}
