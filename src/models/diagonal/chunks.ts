import { linearRecurrence } from "../../tensor/functions.ts";
import { tensor } from "../../tensor/creation.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { conjugate, multiply } from "../../tensor/complex.ts";

/**
 * Rows of a chunk. At this length, products with the matrices of a chunk take about as long as products with
 * the states.
 */
const chunkLength = 64;

/**
 * Systems of a single feature each: x_t = a x_(t-1) + b u_t, y_t = Re(c x_t). All tensors are `(features, 2,
 * n)`.
 */
interface SingleSystems {
  readonly a: Tensor;
  readonly b: Tensor;
  readonly c: Tensor;
}

/**
 * Outputs for inputs `(batch, length, features)`, computed in chunks so that states are only needed at the
 * ends of chunks. Within a chunk the inputs are multiplied by the Toeplitz matrix of the kernel K_t = Re(c
 * a^t b). Earlier inputs contribute through the state at the start of the chunk, which a recurrence over
 * chunks computes.
 */
export function runInChunks({ a, b, c }: SingleSystems, u: Tensor, chunk = chunkLength): Tensor {
  const [batch, length, features] = u.shape;
  const [, , n] = a.shape;
  const size = Math.min(length, chunk);
  const chunks = Math.ceil(length / size);
  // (features, batch * chunks, size)
  const inputs = u.pad([[0, 0], [0, chunks * size - length], [0, 0]]).permute([2, 0, 1])
    .reshape([features, batch * chunks, size]);
  const powers = powersOf(a, size);
  // (features, size, 2 n): a^t b, and c a^t as a product with a state's parts.
  const responses = multiply(powers, b.expandDims(1)).flatten(2);
  const readers = conjugate(multiply(powers, c.expandDims(1))).flatten(2);
  const kernel = responses.matmul(conjugate(c).reshape([features, 2 * n, 1])).squeeze(-1);
  let outputs = inputs.matmul(toeplitz(kernel).mT);
  if (chunks > 1) {
    // The last input of a chunk is multiplied by b, the first output reads a c.
    const ends = inputs.matmul(responses.flip(1)).reshape([features, batch, chunks, 2, n]);
    const across = multiply(powers.select(1, size - 1), a).reshape([features, 1, 1, 2, n]);
    const states = linearRecurrence(across, ends, { axis: 2, complex: true });
    const starts = states.slice(2, 0, chunks - 1).pad([[0, 0], [0, 0], [1, 0], [0, 0], [0, 0]]);
    const carried = multiply(starts, a.reshape([features, 1, 1, 2, n]))
      .reshape([features, batch * chunks, 2 * n]);
    outputs = outputs.add(carried.matmul(readers.mT));
  }
  return outputs.reshape([features, batch, chunks * size]).permute([1, 2, 0]).slice(1, 0, length);
}

/** The powers a^0, a^1 ... of complex numbers `(features, 2, n)`: `(features, count, 2, n)`. */
function powersOf(a: Tensor, count: number): Tensor {
  const one = tensor([[1], [0]], { dtype: a.dtype }).broadcastTo(a.shape).expandDims(1);
  const impulse = one.pad([[0, 0], [0, count - 1], [0, 0], [0, 0]]);
  return linearRecurrence(a.expandDims(1), impulse, { axis: 1, complex: true });
}

/**
 * Matrices of causal convolutions with kernels `(features, size)`: K_(i-j) in row i and column j, zero above
 * the diagonal.
 */
function toeplitz(kernel: Tensor): Tensor {
  const [features, size] = kernel.shape;
  // Row i holds the reversed kernel from K_i on, followed by zeros. To build all rows, repeat a sequence of W
  // numbers and read the result as rows of W + 1 numbers: each row starts one element later than the row
  // before. The last rows are the required ones.
  const width = 2 * size;
  return kernel.flip(1).pad([[0, 0], [0, size]]).expandDims(1).broadcastTo([features, size + 1, width])
    .reshape([features, (size + 1) * width]).slice(1, 0, size * (width + 1))
    .reshape([features, size, width + 1]).slice(2, 0, size).flip(1);
}
