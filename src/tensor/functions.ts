/** Functions of several tensors. */
import { describe } from "../device/describe.ts";
import { checkTensor, checkTensors } from "./checks.ts";
import { checkOptions, type OptionNames } from "../device/options.ts";
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

const recurrenceOptionNames: OptionNames<LinearRecurrenceOptions> = {
  axis: "optional",
  initial: "optional",
  complex: "optional",
};

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

/**
 * Einstein summation, as NumPy's `einsum`: `einsum("bvk,bk->bv", w, q)` queries fast weights. Each axis has a letter. Axes whose
 * letter the result does not have are summed. An operand has each letter at most once.
 */
export function einsum(equation: string, ...operands: Tensor[]): Tensor {
  if (typeof equation !== "string") {
    throw new TypeError(`einsum: the equation is ${describe(equation)}, expected a text such as "ij,jk->ik"`);
  }
  operands.forEach((operand, i) => checkTensor(`einsum: operand ${i}`, operand));
  const match = /^\s*([a-zA-Z,\s]+?)\s*->\s*([a-zA-Z]*)\s*$/.exec(equation);
  const terms = match?.[1].split(",").map((term) => term.trim()) ?? [];
  if (
    !match || terms.length !== operands.length ||
    [...terms, match[2]].some((term) => new Set(term).size < term.length)
  ) {
    throw new ShapeError(
      `einsum: "${equation}" does not describe ${operands.length} operands, as "ij,jk->ik" does`,
    );
  }
  terms.forEach((term, i) => {
    if (term.length !== operands[i].rank) {
      throw new ShapeError(
        `einsum: "${term}" names ${term.length} axes, operand ${i} has ${operands[i].rank}`,
      );
    }
  });
  const output = match[2];
  const missing = [...output].find((letter) => !terms.some((term) => term.includes(letter)));
  if (missing) throw new ShapeError(`einsum: axis "${missing}" of the result is not in any operand`);
  let result: Labelled = { labels: terms[0], x: operands[0] };
  for (let i = 1; i < operands.length; i++) {
    const later = output + terms.slice(i + 1).join("");
    result = contract(result, { labels: terms[i], x: operands[i] }, later);
  }
  const summed = sumOut(result, output);
  return summed.x.permute([...output].map((letter) => summed.labels.indexOf(letter)));
}

interface Labelled {
  readonly labels: string;
  readonly x: Tensor;
}

function sumOut({ labels, x }: Labelled, needed: string): Labelled {
  const axes = [...labels].flatMap((letter, axis) => needed.includes(letter) ? [] : [axis]);
  return {
    labels: [...labels].filter((letter) => needed.includes(letter)).join(""),
    x: axes.length ? x.sum(axes) : x,
  };
}

/** A batched matrix product: shared letters that the result has are batch axes, other shared letters are summed. */
function contract(left: Labelled, right: Labelled, later: string): Labelled {
  const a = sumOut(left, right.labels + later);
  const b = sumOut(right, left.labels + later);
  const shared = [...a.labels].filter((letter) => b.labels.includes(letter));
  const [batch, summed] = [shared.filter((l) => later.includes(l)), shared.filter((l) => !later.includes(l))];
  const only = (of: Labelled, other: Labelled) =>
    [...of.labels].filter((letter) => !other.labels.includes(letter));
  const [rows, columns] = [only(a, b), only(b, a)];
  const lengthOf = (letter: string) => {
    const lengths = [a, b].flatMap(({ labels, x }) =>
      labels.includes(letter) ? [x.shape[labels.indexOf(letter)]] : []
    );
    if (lengths.length === 2 && lengths[0] !== lengths[1]) {
      throw new ShapeError(`einsum: axis "${letter}" has lengths ${lengths[0]} and ${lengths[1]}`);
    }
    return lengths[0];
  };
  const size = (letters: string[]) => letters.reduce((product, letter) => product * lengthOf(letter), 1);
  const arrange = ({ labels, x }: Labelled, ...groups: string[][]) =>
    x.permute(groups.flat().map((letter) => labels.indexOf(letter))).reshape([
      ...batch.map(lengthOf),
      ...groups.slice(1).map(size),
    ]);
  const [p, q] = [arrange(a, batch, rows, summed), arrange(b, batch, summed, columns)];
  // A multiplication computes an outer product faster than a matrix product with one term.
  const product = summed.length === 0 ? p.mul(q) : p.matmul(q);
  const labels = [...batch, ...rows, ...columns];
  return { labels: labels.join(""), x: product.reshape(labels.map(lengthOf)) };
}
