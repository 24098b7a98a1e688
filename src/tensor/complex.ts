/** Complex numbers as real tensors (..., 2, n): real parts, then imaginary ones. */
import { currentDevice } from "../device/current.ts";
import { uploadView } from "../device/view.ts";
import { apply } from "./primitive.ts";
import { concatenate } from "./primitives/structural.ts";
import { Tensor } from "./tensor.ts";

/** The product of complex numbers `(..., 2, n)`. */
export function multiply(p: Tensor, q: Tensor): Tensor {
  const [a, b, c, d] = [...parts(p), ...parts(q)];
  return complexOf(a.mul(c).sub(b.mul(d)), a.mul(d).add(b.mul(c)));
}

/** Complex numbers `(..., 2, n)` from real and imaginary parts `(..., n)`. */
export function fromParts(real: Tensor, imaginary: Tensor): Tensor {
  return complexOf(real.expandDims(-2), imaginary.expandDims(-2));
}

/** The conjugates of complex numbers `(..., 2, n)`. */
export function conjugate(z: Tensor): Tensor {
  return z.mul(new Tensor(uploadView(currentDevice(), [1, -1], [2, 1], z.dtype)));
}

const parts = (z: Tensor): [Tensor, Tensor] => [z.slice(-2, 0, 1), z.slice(-2, 1, 2)];
const complexOf = (real: Tensor, imaginary: Tensor) =>
  apply(concatenate, [real, imaginary], { axis: real.rank - 2 });
