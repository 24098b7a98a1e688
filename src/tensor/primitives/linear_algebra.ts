/** Products and solves. */
import { isFloat } from "../../device/dtype.ts";
import { formatShape, sameShape, type Shape, ShapeError } from "../../device/shape.ts";
import { allocateView, materialize, transposed } from "../../device/view.ts";
import { alongBatch } from "../batching.ts";
import { apply, type Primitive } from "../primitive.ts";
import { forEachInput } from "../reverse.ts";
import { conjugate, multiply } from "../complex.ts";
import type { Tensor } from "../tensor.ts";

/** Matrix products (..., m, k) x (..., k, n) with equal leading axes. */
export const matmul: Primitive<void> = {
  name: "matmul",
  infer([a, b]) {
    const [k, rows] = [a.shape.at(-1), b.shape.at(-2)];
    const batch = a.shape.slice(0, -2);
    if (a.shape.length < 2 || k !== rows || !sameShape(batch, b.shape.slice(0, -2))) {
      throw new ShapeError(
        `matmul: shapes ${formatShape(a.shape)} and ${formatShape(b.shape)} do not fit together`,
      );
    }
    if (a.dtype !== b.dtype || !isFloat(a.dtype)) {
      throw new TypeError(`matmul: takes two float32 or two float64 tensors, got ${a.dtype} and ${b.dtype}`);
    }
    return { shape: [...batch, a.shape.at(-2)!, b.shape.at(-1)!], dtype: a.dtype };
  },
  run(device, [a, b], _, { shape, dtype }) {
    const output = allocateView(device, shape, dtype);
    device.matmul(materialize(device, a), materialize(device, b), output);
    return output;
  },
  reverse: forEachInput((g, [, b]) => g.matmul(b.mT), (g, [a]) => a.mT.matmul(g)),
  batch([a, b], batch) {
    // If the right matrix is the same for the batch, one large product is faster than a batched product.
    if (!b.varies && b.tensor.rank === 2) return a.tensor.matmul(b.tensor);
    return alongBatch(a, batch).matmul(alongBatch(b, batch));
  },
  lower: "matmul",
};

/**
 * Solves tridiagonal systems T x = rhs along the last axis. The bands lower, diagonal and upper have shape (1 or systems, n), rhs
 * (systems, n). lower[:, 0] and upper[:, n - 1] are not read. Rows with a zero diagonal are skipped.
 */
export const tridiagonal: Primitive<void> = {
  name: "tridiagonalSolve",
  infer(inputs) {
    const { shape, dtype } = inputs[3];
    if (!isFloat(dtype) || inputs.some((input) => input.dtype !== dtype)) {
      const actual = inputs.map((input) => input.dtype).join(", ");
      throw new TypeError(`tridiagonalSolve: takes four float32 or four float64 tensors, got ${actual}`);
    }
    for (const band of inputs.slice(0, 3)) {
      const fits = band.shape.length === 2 && band.shape[1] === shape[1] &&
        (band.shape[0] === 1 || band.shape[0] === shape[0]);
      if (!fits) {
        throw new ShapeError(
          `tridiagonalSolve: a band of shape ${formatShape(band.shape)} does not fit rhs of shape ${
            formatShape(shape)
          }`,
        );
      }
    }
    return { shape, dtype };
  },
  run(device, inputs, _, { shape, dtype }) {
    const [lower, diagonal, upper, rhs] = inputs.map((view) => materialize(device, view));
    // The memory layout of rhs: adjacent elements are computed together.
    const [systems, n] = shape;
    const acrossFirst = Math.abs(rhs.strides[0]) < Math.abs(rhs.strides[1]);
    const output = allocateView(device, acrossFirst ? [n, systems] : shape, dtype);
    const target = acrossFirst ? transposed(output) : output;
    device.tridiagonal(lower, diagonal, upper, rhs, target);
    return target;
  },
  reverse(g, [lower, diagonal, upper], x, _, wanted) {
    // With T^T w = g: the gradient of rhs is w, and the gradient of T is -w x^T on the three bands.
    const w = apply(tridiagonal, [before(upper), diagonal, after(lower), g], undefined);
    const ofBand = (band: Tensor, other: () => Tensor, isWanted: boolean) =>
      isWanted ? sumTo(w.mul(other()).neg(), band.shape) : undefined;
    return [
      ofBand(lower, () => before(x), wanted[0]),
      ofBand(diagonal, () => x, wanted[1]),
      ofBand(upper, () => after(x), wanted[2]),
      w,
    ];
  },
  /** The batch becomes more systems. A band that is the same for all systems stays one row. */
  batch(inputs, batch, _, { shape: [systems, size] }) {
    const rows = inputs.map((input, i) => {
      const isShared = i < inputs.length - 1 && !input.varies && input.tensor.shape[0] === 1;
      if (isShared) return input.tensor;
      return alongBatch(input, batch).broadcastTo([batch, systems, size]).reshape([-1, size]);
    });
    return apply(tridiagonal, rows, undefined).reshape([batch, systems, size]);
  },
  lower: { none: "loops have no kernel for tridiagonal systems" },
};

/**
 * The recurrence x[0] = b[0], x[i] = a[i - 1] x[i - 1] + b[i] along an axis. Complex numbers have real and imaginary parts along
 * the axis before the last axis. The axis of a is shorter by one than the axis of b; axes of length one broadcast.
 */
export const linearRecurrence: Primitive<{ axis: number; complex: boolean }> = {
  name: "linearRecurrence",
  infer([a, b], { axis, complex }) {
    const { shape, dtype } = b;
    if (!isFloat(dtype) || a.dtype !== dtype) {
      throw new TypeError(
        `linearRecurrence: takes two float32 or two float64 tensors, got ${a.dtype} and ${dtype}`,
      );
    }
    const links = shape.map((length, i) => i === axis ? Math.max(0, length - 1) : length);
    if (complex && (shape.at(-2) !== 2 || axis === shape.length - 2)) {
      throw new ShapeError(
        `linearRecurrence: complex values of shape ${
          formatShape(shape)
        } along axis ${axis}, expected length 2 (real and imaginary parts) along the axis before the last one, and another axis of steps`,
      );
    }
    const fits = a.shape.length === shape.length &&
      a.shape.every((length, i) =>
        length === links[i] || length === 1 && !(complex && i === shape.length - 2)
      );
    if (!fits) {
      throw new ShapeError(
        `linearRecurrence: coefficients of shape ${formatShape(a.shape)} do not fit values of shape ${
          formatShape(shape)
        } along axis ${axis}`,
      );
    }
    return { shape, dtype };
  },
  run(device, inputs, { axis, complex }, { shape, dtype }) {
    const [a, b] = inputs.map((view) => materialize(device, view));
    const output = allocateView(device, shape, dtype);
    device.linearRecurrence(a, b, { axis, parts: complex ? shape.length - 2 : undefined }, output);
    return output;
  },
  reverse(g, [a, b], x, params, wanted) {
    // The gradient w of b runs backwards: w[n - 1] = g[n - 1], w[i] = conj(a[i]) w[i + 1] + g[i]; a has w[1:] conj(x[:-1]).
    const { axis, complex } = params;
    const links = complex ? conjugate(a) : a;
    const w = apply(linearRecurrence, [links.flip(axis), g.flip(axis)], params).flip(axis);
    if (!wanted[0]) return [undefined, w];
    const [after, before] = [w.slice(axis, 1), x.slice(axis, 0, b.shape[axis] - 1)];
    return [sumTo(complex ? multiply(after, conjugate(before)) : after.mul(before), a.shape), w];
  },
  batch([a, b], batch, { axis, complex }) {
    const factors = a.varies ? a.tensor : a.tensor.expandDims(0);
    return apply(linearRecurrence, [factors, alongBatch(b, batch)], { axis: axis + 1, complex });
  },
  lower: { none: "loops have no kernel for linear recurrences" },
};

/** Sums over the axes that have length one in a shape of the same rank. */
function sumTo(x: Tensor, shape: Shape): Tensor {
  const axes = shape.flatMap((length, axis) => length === 1 && x.shape[axis] !== 1 ? [axis] : []);
  return axes.length === 0 ? x : x.sum(axes, { keepDims: true });
}

/** The elements shifted by one position to the right; the first is zero. */
const before = (x: Tensor): Tensor => x.slice(1, 0, -1).pad([[0, 0], [1, 0]]);

/** The elements shifted by one position to the left; the last is zero. */
const after = (x: Tensor): Tensor => x.slice(1, 1).pad([[0, 0], [0, 1]]);
