/** Products and solves. */
import { isFloat } from "../../device/dtype.ts";
import { formatShape, sameShape, ShapeError } from "../../device/shape.ts";
import { allocateView, materialize } from "../../device/view.ts";
import { apply, type Primitive } from "../primitive.ts";
import type { Tensor } from "../tensor.ts";

/** (..., m, k) x (..., k, n) with equal leading axes. */
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
  vjp: (g, [a, b], _output, _params, input) => input === 0 ? g.matmul(b.mT) : a.mT.matmul(g),
};

/**
 * Solves tridiagonal systems T x = rhs along the last axis: lower, diagonal and upper (1 or systems, n), of which
 * lower[:, 0] and upper[:, n - 1] are not read, and rhs (systems, n). Rows with a diagonal of zero are left out.
 */
export const tridiagonal: Primitive<void> = {
  name: "tridiagonalSolve",
  infer(inputs) {
    const { shape, dtype } = inputs[3];
    if (!isFloat(dtype) || inputs.some((input) => input.dtype !== dtype)) {
      const found = inputs.map((input) => input.dtype).join(", ");
      throw new TypeError(`tridiagonalSolve: takes four float32 or four float64 tensors, got ${found}`);
    }
    for (const band of inputs.slice(0, 3)) {
      const fits = band.shape.length === 2 && band.shape[1] === shape[1] &&
        (band.shape[0] === 1 || band.shape[0] === shape[0]);
      if (!fits) {
        throw new ShapeError(
          `tridiagonalSolve: a band of shape ${formatShape(band.shape)} for a right side of ${
            formatShape(shape)
          }`,
        );
      }
    }
    return { shape, dtype };
  },
  run(device, inputs, _, { shape, dtype }) {
    const [lower, diagonal, upper, rhs] = inputs.map((view) => materialize(device, view));
    // In the order of the right side, in which neighbours are computed together.
    const [systems, n] = shape;
    const acrossFirst = Math.abs(rhs.strides[0]) < Math.abs(rhs.strides[1]);
    const output = allocateView(device, acrossFirst ? [n, systems] : shape, dtype);
    const target = acrossFirst ? { ...output, shape, strides: output.strides.toReversed() } : output;
    device.tridiagonal(lower, diagonal, upper, rhs, target);
    return target;
  },
  vjp(g, [lower, diagonal, upper], x, _, input) {
    // With T^T w = g: the gradient of rhs is w, and that of T is -w x^T, read off on each band.
    const w = apply(tridiagonal, [before(upper), diagonal, after(lower), g], undefined);
    if (input === 3) return w;
    const other = input === 0 ? before(x) : input === 1 ? x : after(x);
    const gradient = w.mul(other).neg();
    return [lower, diagonal, upper][input].shape[0] === 1 ? gradient.sum(0, { keepDims: true }) : gradient;
  },
};

/** At each position the element before it; zero at the first. */
const before = (x: Tensor): Tensor => x.slice(1, 0, -1).pad([[0, 0], [1, 0]]);

/** At each position the element after it; zero at the last. */
const after = (x: Tensor): Tensor => x.slice(1, 1).pad([[0, 0], [0, 1]]);
