/**
 * Linear systems x_t = a x_(t-1) + b_t with a diagonal transition, run along whole series by a parallel scan
 * or step by step.
 */
import type { DType } from "../../device/dtype.ts";
import { checkCount, type ParameterTree } from "../../nn/layer.ts";
import { fromParts, multiply } from "../../tensor/complex.ts";
import { linearRecurrence } from "../../tensor/functions.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { tensor } from "../../tensor/creation.ts";
import { type Key, uniform } from "../../tensor/random.ts";

/** The effect of inputs `(..., features)` on a state. */
interface Drive {
  /** Coefficients `(..., ...state)`, or `(...state)` if they are the same for all inputs. */
  readonly a: Tensor;
  /** Terms `(..., ...state)`. */
  readonly b: Tensor;
  /** Returns the outputs `(..., features)` of states `(..., ...state)`. */
  read(x: Tensor): Tensor;
}

/** A system that maps sequences to sequences with the same number of features. */
export interface DiagonalSystem {
  readonly parameters: ParameterTree;
  /** Shape of a state. For complex numbers `(..., 2, n)`: real parts, then imaginary parts. */
  readonly state: readonly number[];
  readonly complex: boolean;
  drive(u: Tensor): Drive;
  /** Optional faster path from all inputs `(batch, length, features)` to their outputs. */
  all?(u: Tensor): Tensor;
}

/** Outputs for inputs, both `(batch, length, features)`, from a state of zeros. */
export function runAlong({ complex, drive, all }: DiagonalSystem, u: Tensor): Tensor {
  if (all) return all(u);
  const { a, b, read } = drive(u);
  return read(linearRecurrence(a, b, { axis: 1, complex }));
}

/** Returns the next state `(batch, ...state)` and the output for an input `(batch, features)`. */
export function runStep({ complex, drive }: DiagonalSystem, u: Tensor, x: Tensor): [Tensor, Tensor] {
  const { a, b, read } = drive(u);
  const next = (complex ? multiply(a, x) : a.mul(x)).add(b);
  return [next, read(next)];
}

/** r (cos(phase) + i sin(phase)), of shape `(..., 2, n)`. */
export function polar(r: Tensor, phase: Tensor): Tensor {
  return fromParts(r.mul(phase.cos()), r.mul(phase.sin()));
}

/**
 * Discretizes x' = A x + B u by zero-order hold with step size `dt`: returns `a` = exp(A dt), and `gain` =
 * (exp(A dt) - 1) / A, the factor of B. Both are `(..., 2, n)`.
 *
 * @param real Real parts of the diagonal of A, `(..., n)`.
 * @param imaginary Imaginary parts of the diagonal of A.
 * @param dt Step sizes that broadcast against `real` and `imaginary`.
 */
export function zeroOrderHold(real: Tensor, imaginary: Tensor, dt: Tensor): { a: Tensor; gain: Tensor } {
  const a = polar(real.mul(dt).exp(), imaginary.mul(dt));
  const square = real.square().add(imaginary.square());
  const inverse = fromParts(real.div(square), imaginary.neg().div(square));
  return { a, gain: multiply(a.sub(tensor([[1], [0]], { dtype: a.dtype })), inverse) };
}

/** Draws step sizes from a log-uniform distribution over a range. Returns their logarithms. */
export function logSteps(
  name: string,
  key: Key,
  shape: readonly number[],
  [least, largest]: readonly [number, number] = [0.001, 0.1],
  dtype?: DType,
): Tensor {
  if (!(least > 0 && largest >= least && largest < Infinity)) {
    throw new RangeError(`${name}: stepSizes are ${least} and ${largest}, expected 0 < least <= largest`);
  }
  return uniform(key, shape, { low: Math.log(least), high: Math.log(largest), dtype });
}

/** Throws unless a state size is even: complex numbers come in conjugate pairs. */
export function checkStateSize(name: string, size: number): void {
  checkCount(name, "stateSize", size, 2);
  if (size % 2 !== 0) {
    throw new RangeError(`${name}: stateSize is ${size}, expected an even number: conjugates come in pairs`);
  }
}
