/**
 * States without a recurrence (equation 4). With the kernel K_l = A^l B (equation 7), theta_t is A^t theta_0
 * plus the sum over l < t of K_l dx_(t-l): the free response of theta_0, plus a causal convolution of the
 * input's changes (equations 6 and 8).
 */
import { vjp } from "../../autodiff/grad.ts";
import { sizeOf } from "../../device/shape.ts";
import { concatenate } from "../../tensor/functions.ts";
import { record, withoutRecording } from "../../tensor/primitive.ts";
import { tidy } from "../../tensor/scope.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { cheaperByFourier, powerDoublings, sequenceDoublings, windowBlock } from "./cost.ts";
import type { Dynamics } from "./dynamics.ts";
import { convolveByFourier } from "./fourier.ts";
import { applyPower, powerSequence, type Squares, squaresOf } from "./powers.ts";

/**
 * All states.
 *
 * @param start theta_0, `(batch, D)`, or `(1, D)` if all samples share it.
 * @param changes x_t - x_(t-1) for t = 1 ... T - 1: `(batch, T - 1, inputs)`.
 * @returns `(batch, T, D)`.
 */
export function convolvedStates(dynamics: Dynamics, start: Tensor, changes: Tensor): Tensor {
  const [batch, steps, inputs] = changes.shape;
  const length = steps + 1;
  const { kernel, free } = responses(dynamics, start, length);
  // The change at the first observation is zero.
  const u = changes.pad([[0, 0], [1, 0], [0, 0]]);
  const byFourier = cheaperByFourier({ batch, steps: length, inputs, size: start.shape[1] });
  const forced = (byFourier ? convolveByFourier : convolveByWindows)(u, kernel);
  return forced.add(free.transpose(0, 1));
}

/**
 * Only the last state: `(batch, D)`, with theta_0 possibly shared as `(1, D)`. One product with the kernel.
 */
export function convolvedFinalState({ transition, input }: Dynamics, start: Tensor, changes: Tensor): Tensor {
  const [, steps, inputs] = changes.shape;
  const squares = squaresOf(transition);
  if (start.shape[0] === 1) {
    // Treat theta_0 as one more column of B, so that its powers are computed together with the kernel.
    const columns = concatenate([input.mT, start]);
    const doublings = sequenceDoublings(transition, steps + 1, inputs + 1);
    const powers = powerSequence(transition, squares, columns, steps + 1, doublings);
    const kernel = powers.slice(0, 0, steps).slice(1, 0, inputs);
    return convolveAtEnd(kernel, changes).add(powers.select(0, steps).slice(0, inputs));
  }
  const doublings = powerDoublings(transition, steps, start.shape[0]);
  const free = applyPower(transition, squares, start, steps, doublings);
  // Reuse the squares of A that the first states needed.
  const atLeast = Math.max(doublings, sequenceDoublings(transition, steps, inputs));
  return forcedFinalState({ transition, input }, squares, changes, atLeast).add(free);
}

/** The last state from theta_0 = 0, with a kernel computed by `doublings` doublings. */
export function forcedFinalState(
  { transition, input }: Dynamics,
  squares: Squares,
  changes: Tensor,
  doublings: number,
): Tensor {
  return convolveAtEnd(powerSequence(transition, squares, input.mT, changes.shape[1], doublings), changes);
}

/**
 * The powers of A times the columns of B, which are the kernel of equation 7 `(length, inputs, D)`, and times
 * the initial states, `(length, rows, D)`. All states are sums of these terms.
 */
export function responses({ transition, input }: Dynamics, start: Tensor, length: number) {
  const inputs = input.shape[1];
  // Compute the powers for the columns of B and for the first states together.
  const columns = concatenate([input.mT, start]);
  const doublings = sequenceDoublings(transition, length, columns.shape[0]);
  const powers = powerSequence(transition, squaresOf(transition), columns, length, doublings);
  return { kernel: powers.slice(1, 0, inputs), free: powers.slice(1, inputs) };
}

/** The sum over l of K_l u_(length - l), with a kernel `(length, inputs, D)`: one product. */
export function convolveAtEnd(kernel: Tensor, u: Tensor): Tensor {
  // The last change is multiplied by K_0.
  return u.flip(1).flatten(1).matmul(kernel.flatten(0, 1));
}

/**
 * y_t = sum over l <= t of K_l u_(t-l), as matrix products. One block of time at a time, to bound the memory
 * of the input windows, which overlap.
 *
 * @param u `(batch, length, inputs)`.
 * @param kernel `(length, inputs, D)`.
 * @returns `(batch, length, D)`.
 */
export function convolveByWindows(u: Tensor, kernel: Tensor): Tensor {
  const [batch, length, inputs] = u.shape;
  const block = windowBlock({ batch, steps: length, inputs });
  const reversed = kernel.flip(0);
  const blocks = Array.from({ length: Math.ceil(length / block) }, (_, i) => {
    const [from, to] = [i * block, Math.min(length, (i + 1) * block)];
    return windowProduct(u.slice(1, 0, to), from, reversed.slice(0, length - to).flatten(0, 1));
  });
  return concatenate(blocks).transpose(0, 1);
}

/**
 * The windows of all lags that end at position `from` or later, times a kernel `(length * inputs, D)`:
 * `(length - from, batch, D)`. The gradient recomputes the windows instead of keeping them, because their
 * memory grows with the square of the length.
 */
export function windowProduct(u: Tensor, from: number, kernel: Tensor): Tensor {
  const shape = [u.shape[1] - from, u.shape[0], kernel.shape[1]];
  const output = withoutRecording(() => tidy(() => windowsOf(u, from).matmul(kernel).reshape(shape)));
  record([u, kernel], [output], ([cotangent], wanted) =>
    tidy(() => {
      const rows = cotangent!.flatten(0, 1);
      return [
        wanted[0] ? vjp(() => windowsOf(u, from), u).pullback(rows.matmul(kernel.mT)) : undefined,
        wanted[1] ? windowsOf(u, from).mT.matmul(rows) : undefined,
      ];
    }));
  return output;
}

/**
 * For each position t from `from` on and each sample, all u_s up to t, preceded by zeros for positions before
 * the series: `(batch, length, inputs)` to `((length - from) * batch, length * inputs)`. The last element of
 * each row is u_t.
 */
function windowsOf(u: Tensor, from: number): Tensor {
  const [batch, length, inputs] = u.shape;
  const rows = length - from;
  // Row i is the padded sequence from i on. Repeat the sequence of N numbers and read the result as rows of N
  // + 1: each row starts one element later than the row before.
  const padded = u.pad([[0, 0], [rows - 1, 0], [0, 0]]).flatten(1);
  const width = padded.shape[1];
  return padded.expandDims(1).broadcastTo([batch, rows + 1, width]).reshape([batch, (rows + 1) * width])
    .slice(1, 0, rows * (width + inputs)).reshape([batch, rows, width + inputs])
    .slice(2, 0, sizeOf([length, inputs])).transpose(0, 1).flatten(0, 1);
}
