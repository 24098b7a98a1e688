/**
 * The search for the place on [0, 1] where a function changes from positive to other values, by the ITP method, one evaluation at a
 * time. It needs about as many evaluations as the secant method, and at most one more than bisection. (Oliveira, Takahashi, "An
 * enhancement of the bisection method average performance preserving minmax optimality", 2020.)
 */
import { full } from "../tensor/creation.ts";
import type { Tensor } from "../tensor/tensor.ts";

/** An interval around the change, and the values at its ends. */
export type Bracket = {
  readonly low: Tensor;
  readonly high: Tensor;
  readonly atLow: Tensor;
  readonly atHigh: Tensor;
  /** Half the longest interval that bisection would have after the next evaluation. */
  readonly reach: Tensor;
};

/** The interval [0, 1]. The value at 0 must be positive, the value at 1 must not. */
export function wholeBracket(atLow: Tensor, atHigh: Tensor): Bracket {
  const [low, high] = [0, 1].map((bound) => full(atLow.shape, bound, { dtype: atLow.dtype }));
  // At least the whole interval, times two for the evaluation that bisection would not need.
  return { low, high, atLow, atHigh, reach: high };
}

/** The place of the next evaluation. @param tolerance Length of the final interval. */
export function placeIn({ low, high, atLow, atHigh, reach }: Bracket, tolerance: Tensor): Tensor {
  const [middle, width] = [low.add(high).mul(0.5), high.sub(low)];
  const interpolated = atLow.mul(high).sub(atHigh.mul(low)).div(atLow.sub(atHigh));
  const toMiddle = middle.sub(interpolated).sign();
  // Truncation: go beyond the root of the secant, so that the other end of the interval moves too.
  const beyond = width.square().mul(0.2).maximum(tolerance.mul(0.5));
  const isFar = beyond.lessEqual(middle.sub(interpolated).abs());
  const truncated = isFar.where(interpolated.add(toMiddle.mul(beyond)), middle);
  // Projection: stay so close to the middle that the remaining evaluations suffice for bisection.
  const radius = reach.sub(width.mul(0.5));
  const isNear = truncated.sub(middle).abs().lessEqual(radius);
  return isNear.where(truncated, middle.sub(toMiddle.mul(radius)));
}

/** The interval after an evaluation. */
export function narrowed({ low, high, atLow, atHigh, reach }: Bracket, x: Tensor, value: Tensor): Bracket {
  const [isLow, isRoot] = [value.greater(0), value.equal(0)];
  return {
    low: isLow.or(isRoot).where(x, low),
    high: isLow.where(high, x),
    atLow: isLow.where(value, atLow),
    atHigh: isLow.where(atHigh, value),
    reach: reach.mul(0.5),
  };
}
