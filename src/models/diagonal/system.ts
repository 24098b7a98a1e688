/** Linear systems x_t = a x_(t-1) + b_t whose transition is diagonal: along whole series by a parallel scan, or step by step. */
import type { DType } from "../../device/dtype.ts";
import { checkCount, type ParameterTree } from "../../nn/layer.ts";
import { fromParts, multiply } from "../../tensor/complex.ts";
import { linearRecurrence } from "../../tensor/functions.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { tensor } from "../../tensor/creation.ts";
import { type Key, uniform } from "../../tensor/random.ts";

/** Effect of inputs `(..., features)` on a state. */
export interface Drive {
  /** Coefficients `(..., ...state)`, or `(...state)` where they are the same for all inputs. */
  readonly a: Tensor;
  /** Terms `(..., ...state)`. */
  readonly b: Tensor;
  /** Outputs `(..., features)` of the states `(..., ...state)`. */
  read(x: Tensor): Tensor;
}

/** A system from and to sequences of the same features. */
export interface DiagonalSystem {
  readonly parameters: ParameterTree;
  /** Shape of a state; of complex numbers `(..., 2, n)`: real parts, then imaginary ones. */
  readonly state: readonly number[];
  readonly complex: boolean;
  drive(u: Tensor): Drive;
  /** A quicker way from all inputs `(batch, length, features)` to their outputs, where there is one. */
  all?(u: Tensor): Tensor;
}

/** Outputs `(batch, length, features)` of inputs of that shape, from a state of zeros. */
export function runAlong({ complex, drive, all }: DiagonalSystem, u: Tensor): Tensor {
  if (all) return all(u);
  const { a, b, read } = drive(u);
  return read(linearRecurrence(a, b, { axis: 1, complex }));
}

/** The next state `(batch, ...state)` after an input `(batch, features)`, and the output. */
export function runStep({ complex, drive }: DiagonalSystem, u: Tensor, x: Tensor): [Tensor, Tensor] {
  const { a, b, read } = drive(u);
  const next = (complex ? multiply(a, x) : a.mul(x)).add(b);
  return [next, read(next)];
}

/** r (cos(phase) + i sin(phase)): `(..., 2, n)`. */
export function polar(r: Tensor, phase: Tensor): Tensor {
  return fromParts(r.mul(phase.cos()), r.mul(phase.sin()));
}

/**
 * A system x' = A x + B u whose input is held over steps of `dt` (zero-order hold): exp(A dt), and what B is multiplied by,
 * (exp(A dt) - 1) / A; both `(..., 2, n)`.
 *
 * @param real Real parts of the diagonal of A, `(..., n)`.
 * @param imaginary Its imaginary parts.
 * @param dt Broadcasts against them.
 */
export function zeroOrderHold(real: Tensor, imaginary: Tensor, dt: Tensor): { a: Tensor; gain: Tensor } {
  const a = polar(real.mul(dt).exp(), imaginary.mul(dt));
  const square = real.square().add(imaginary.square());
  const inverse = fromParts(real.div(square), imaginary.neg().div(square));
  return { a, gain: multiply(a.sub(tensor([[1], [0]], { dtype: a.dtype })), inverse) };
}

/** Steps drawn between two lengths, evenly in their logarithm: the logarithms, of some shape. */
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

/** Refuses a size of a state of complex numbers and their conjugates. */
export function checkStateSize(name: string, size: number): void {
  checkCount(name, "stateSize", size, 2);
  if (size % 2 !== 0) {
    throw new RangeError(`${name}: stateSize is ${size}, expected an even number: conjugates come in pairs`);
  }
}
