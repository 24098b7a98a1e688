/** Dense output: states within steps, by a polynomial through both ends and the middle of a step. */
import type { TypedArray } from "../../device/dtype.ts";
import { stack } from "../../tensor/functions.ts";
import type { Tensor, TensorLike } from "../../tensor/tensor.ts";
import { type Parts, type Step, weigh } from "../runge_kutta.ts";

/**
 * The data of the interpolation within a step: the states at its start, middle and end, and the slopes at both ends times the step
 * size.
 */
export type StepSupport = readonly [
  start: Tensor,
  middle: Tensor,
  end: Tensor,
  startSlope: Tensor,
  endSlope: Tensor,
];

/** The tensors for the interpolation within a step, for each part of the state. */
export function supportOf(
  { middle }: { readonly middle: readonly number[] },
  { y: ends, stages }: Step,
  starts: Parts,
  dt: TensorLike,
): StepSupport[] {
  const changes = weigh(middle, stages, dt);
  const slopes = [stages[0], stages.at(-1)!];
  return starts.map((start, i) => {
    const [startSlope, endSlope] = slopes.map((slope) => slope[i].mul(dt));
    return [start, start.add(changes[i]), ends[i], startSlope, endSlope];
  });
}

/**
 * Coefficients of the weights of a support, from the constant one: the quartic polynomial through the three states with the slopes at
 * both ends, as in torchdiffeq. (Shampine, "Some practical Runge-Kutta formulas", 1986.)
 */
const basis = [
  [1, 0, -11, 18, -8],
  [0, 0, 16, -32, 16],
  [0, 0, -5, 14, -8],
  [0, 1, -4, 5, -2],
  [0, 0, 1, -3, 2],
];

/** The number of members of a support. */
export const supportSize: number = basis.length;

/** The axis of the members in the support of a state of a rank: after the samples, whose members are then adjacent. */
export function memberAxis(rank: number): number {
  return Math.min(rank, 1);
}

/** A support as one tensor: `(batch, supportSize, ...)`, or `(supportSize)` for a number. */
export function joinSupport(support: readonly Tensor[]): Tensor {
  return stack(support, memberAxis(support[0].rank));
}

/** The members of supports with a first axis of rows. */
export function splitSupport(joined: Tensor): StepSupport {
  const axis = 1 + memberAxis(joined.rank - 2);
  return basis.map((_, member) => joined.select(axis, member)) as unknown as StepSupport;
}

/** Writes the weights of the members of a support at a position in a step: 0 is the start, 1 the end. */
export function writeSupportWeights(x: number, into: TypedArray, first: number): void {
  for (let member = 0; member < supportSize; member++) {
    const [a, b, c, d, e] = basis[member];
    into[first + member] = (((e * x + d) * x + c) * x + b) * x + a;
  }
}

/** The states at positions in steps, as a tensor that broadcasts against the support; or their derivatives by the position. */
export function interpolateAt(support: StepSupport, fraction: Tensor, isDerivative = false): Tensor {
  const rows = isDerivative ? basis.map((row) => row.slice(1).map((x, power) => x * (power + 1))) : basis;
  const weights = rows.map((row) => {
    const [highest, next, ...rest] = row.toReversed();
    const first = fraction.mul(highest).add(next);
    return rest.reduce((sum, coefficient) => sum.mul(fraction).add(coefficient), first);
  });
  return support.map((x, i) => x.mul(weights[i])).reduce((sum, term) => sum.add(term));
}
