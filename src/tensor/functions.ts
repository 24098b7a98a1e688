/** Functions of several tensors. */
import { describe } from "../device/describe.ts";
import { checkTensor, checkTensors } from "./checks.ts";
import { checkOptions, namesOf } from "../device/options.ts";
import { broadcastShapes, formatShape, normalizeAxis, sameShape, ShapeError } from "../device/shape.ts";
import { apply } from "./primitive.ts";
import * as elementwise from "./primitives/elementwise.ts";
import * as linear from "./primitives/linear_algebra.ts";
import * as structural from "./primitives/structural.ts";
import { Tensor, type TensorLike } from "./tensor.ts";

/** The same values, through which no gradient flows. */
export function stopGradient(x: Tensor): Tensor {
  return apply(elementwise.stopGradient, [x], undefined);
}

/** Joins tensors along an axis. */
export function concatenate(tensors: readonly Tensor[], axis = 0): Tensor {
  checkTensors("concatenate", tensors);
  if (tensors.length === 0) throw new ShapeError("concatenate: no tensors given");
  const params = { axis: normalizeAxis(axis, tensors[0].rank, "concatenate") };
  return tensors.length === 1 ? tensors[0] : apply(structural.concatenate, tensors, params);
}

/** Joins tensors of the same shape along a new axis. */
export function stack(tensors: readonly Tensor[], axis = 0): Tensor {
  checkTensors("stack", tensors);
  if (tensors.length === 0) throw new ShapeError("stack: no tensors given");
  return concatenate(tensors.map((x) => x.expandDims(axis)), axis);
}

/** `condition ? a : b`, element by element. */
export function where(condition: Tensor, a: TensorLike, b: TensorLike): Tensor {
  if (!(condition instanceof Tensor)) {
    throw new TypeError(`where: the condition is ${describe(condition)}, expected a tensor`);
  }
  return condition.where(a, b);
}

/**
 * Solves tridiagonal systems along the last axis: for every system
 * lower[i] x[i - 1] + diagonal[i] x[i] + upper[i] x[i + 1] = rhs[i].
 *
 * There is no pivoting, so the systems should be diagonally dominant, as those of splines are. A row whose diagonal is zero is
 * skipped: it is not an equation, its x is zero, and the rows before and after it are neighbours. Systems of different sizes
 * therefore fit in one tensor. For exact gradients with respect to `rhs`, a skipped row repeats the coefficients that couple its
 * neighbours: `upper` of the row before, `lower` of the row after.
 *
 * @param lower Shape (..., n), which broadcasts against `rhs`; lower[..., 0] is not read.
 * @param diagonal Shape (..., n).
 * @param upper Shape (..., n); upper[..., n - 1] is not read.
 * @param rhs Shape (..., n).
 */
export function tridiagonalSolve(lower: Tensor, diagonal: Tensor, upper: Tensor, rhs: Tensor): Tensor {
  for (const [name, band] of Object.entries({ lower, diagonal, upper, rhs })) {
    checkTensor(`tridiagonalSolve: ${name}`, band);
  }
  if (rhs.rank === 0) throw new ShapeError("tridiagonalSolve: rhs of shape (), expected (..., n)");
  const n = rhs.shape.at(-1)!;
  const rows = (band: Tensor) =>
    band.rank === 1 ? band.expandDims(0) : band.broadcastTo(rhs.shape).reshape([-1, n]);
  broadcastShapes([lower.shape, diagonal.shape, upper.shape, rhs.shape], "tridiagonalSolve");
  if (n === 0) return rhs;
  const systems = rhs.reshape([-1, n]);
  return apply(linear.tridiagonal, [rows(lower), rows(diagonal), rows(upper), systems], undefined).reshape(
    rhs.shape,
  );
}

/** Options of {@linkcode linearRecurrence}. */
export interface LinearRecurrenceOptions {
  /**
   * The axis of the steps.
   *
   * @default {0}
   */
  axis?: number;
  /** x[-1], which broadcasts against an element x[i]; zero by default. */
  initial?: Tensor;
  /** Whether the axis before the last one, of length two, holds real and imaginary parts of complex numbers. */
  complex?: boolean;
}

const recurrenceOptionNames = namesOf<LinearRecurrenceOptions>()("axis? initial? complex?");

/**
 * The linear recurrence x[i] = a[i] x[i - 1] + b[i] along an axis, element by element, by a parallel scan. A state space model
 * with a diagonal transition matrix has this form. The gradient is a linear recurrence from the last step to the first.
 * (Martin, Cundy, "Parallelizing Linear Recurrent Neural Nets Over Sequence Length", 2018.)
 *
 * @example
 * ```ts
 * import { linearRecurrence, tensor } from "@weft/weft";
 *
 * linearRecurrence(tensor([0.5]), tensor([1, 2, 4])); // 1, 2.5, 5.25
 * ```
 *
 * @param a Coefficients, which broadcast against `b`. An axis of length one means the same coefficients at each step.
 * @param b `(..., length, ...)`, float32 or float64.
 * @returns All x, in the shape of `b`.
 * @throws {ShapeError} If `a` or `initial` does not broadcast against `b`, or complex numbers do not have two parts.
 */
export function linearRecurrence(a: Tensor, b: Tensor, options: LinearRecurrenceOptions = {}): Tensor {
  checkTensor("linearRecurrence: a", a);
  checkTensor("linearRecurrence: b", b);
  checkOptions("linearRecurrence", options, recurrenceOptionNames);
  const { initial, complex = false } = options;
  const axis = normalizeAxis(options.axis ?? 0, b.rank, "linearRecurrence");
  if (!sameShape(broadcastShapes([a.shape, b.shape], "linearRecurrence"), b.shape)) {
    throw new ShapeError(
      `linearRecurrence: coefficients of shape ${formatShape(a.shape)} do not broadcast to values of shape ${
        formatShape(b.shape)
      }`,
    );
  }
  const length = b.shape[axis];
  const factors = a.reshape([...Array(b.rank - a.rank).fill(1), ...a.shape]);
  const isConstant = factors.shape[axis] === 1;
  const params = { axis, complex };
  if (!initial) {
    return apply(linear.linearRecurrence, [isConstant ? factors : factors.slice(axis, 1), b], params);
  }
  const first = initial.broadcastTo(b.shape.filter((_, i) => i !== axis)).expandDims(axis);
  return apply(linear.linearRecurrence, [factors, concatenate([first, b], axis)], params)
    .slice(axis, 1, length + 1);
}
