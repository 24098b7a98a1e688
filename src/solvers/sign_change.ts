import { type Reading, runWhile } from "../compile/loop/while_loop.ts";
import type { Tensor } from "../tensor/tensor.ts";

/** More evaluations than bisection needs for the precision of float64. */
const maxSteps = 64;

/**
 * Finds where a function on [0, 1] changes from positive to other values, by the ITP method. It needs about as many evaluations as
 * the secant method, and at most one more than bisection. (Oliveira, Takahashi, "An enhancement of the bisection method average
 * performance preserving minmax optimality", 2020.)
 *
 * @param f A function of a number, inside `vmap` of one for each example.
 * @param atZero The value at 0, which must be positive.
 * @param atOne The value at 1, which must not be positive.
 * @param tolerance Length of the final interval around the change.
 * @returns The middle of the final interval, and the number of evaluations.
 */
export function* findSignChange(
  f: (x: Tensor) => Tensor,
  atZero: Tensor,
  atOne: Tensor,
  tolerance: Tensor,
  compile?: boolean,
): Reading<{ place: Tensor; tries: number }> {
  type State = {
    readonly low: Tensor;
    readonly high: Tensor;
    readonly atLow: Tensor;
    readonly atHigh: Tensor;
    /** Half the longest interval that bisection would have after this try. */
    readonly reach: Tensor;
  };
  const step = ({ low, high, atLow, atHigh, reach }: State) => {
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
    const x = isNear.where(truncated, middle.sub(toMiddle.mul(radius)));
    const value = f(x);
    const [isLow, isRoot] = [value.greater(0), value.equal(0)];
    return {
      carry: {
        low: isLow.or(isRoot).where(x, low),
        high: isLow.where(high, x),
        atLow: isLow.where(value, atLow),
        atHigh: isLow.where(atHigh, value),
        reach: reach.mul(0.5),
      },
    };
  };
  const init = {
    ...{ low: atZero.zerosLike(), high: atZero.zerosLike().add(1), atLow: atZero, atHigh: atOne },
    // At least the whole interval, times two for the evaluation that bisection would not need.
    reach: atZero.zerosLike().add(1),
  };
  const goes = ({ low, high }: State) => high.sub(low).greater(tolerance);
  const { carry, steps } = yield* runWhile(goes, step, init, { maxSteps, compile });
  return { place: carry.low.add(carry.high).mul(0.5), tries: steps };
}
