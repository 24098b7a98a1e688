/**
 * Feeding back predictions without a recurrent state: theta_t = A^t theta_0 + sum over s of K_(t-s) delta_s
 * (equation 4). Only the differences delta_s = u_s - p_(s-1) are carried from step to step. If all samples
 * share theta_0, A^t theta_0 and the kernel K_l = A^l B are the same for the whole batch. A sample then takes
 * T^2 Dx D / 2 operations instead of T D^2.
 */
import { scan } from "../../compile/loop/scan.ts";
import { zeros } from "../../tensor/creation.ts";
import { concatenate } from "../../tensor/functions.ts";
import { withoutRecording } from "../../tensor/primitive.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import {
  type Feeding,
  type FeedingRow,
  feedingSteps,
  type RollOut,
  type StepOutput,
} from "./autoregressive.ts";
import { convolveAtEnd, responses, windowProduct } from "./convolution.ts";
import type { Dynamics } from "./dynamics.ts";
import type { Readout } from "./readout.ts";

/** Differences of a block, latest first, `(batch, block * inputs)`, and the last prediction and output. */
type Carry = { readonly differences: Tensor; readonly previous: StepOutput };

/** The input of a step of a block. */
type BlockRow = FeedingRow & {
  /** The part of the state from theta_0 and from differences before the block, `(batch, D)`. */
  readonly far: Tensor;
};

/**
 * The same run as {@linkcode rollOut}, in blocks of time. The contribution of all steps before a block is one
 * matrix product with the kernel; the contribution of steps inside the block is a small triangular product.
 * The result and its gradients are exact. Not valid with clipped weights.
 *
 * @param feeding `start` may be `(1, D)` if all samples share it.
 * @param block Number of steps of a block.
 */
export function rollOutByConvolution(
  dynamics: Dynamics,
  readout: Readout,
  feeding: Feeding,
  block: number,
): RollOut {
  const { start, x } = feeding;
  const [batch, length] = x.shape;
  const [inputs, size] = [dynamics.input.shape[1], start.shape[1]];
  const { kernel, free } = responses(dynamics, start, length);
  const reversed = kernel.flip(0);
  const steps = feedingSteps(readout, feeding);
  let previous = steps.first(start.broadcastTo([batch, size]));
  const outputs = [previous.y.expandDims(0)];
  // The change at the first observation is zero.
  let changes = zeros([batch, 1, inputs], { dtype: x.dtype });
  for (let from = 1; from < length; from += block) {
    const to = Math.min(length, from + block);
    const count = to - from;
    const before = concatenate([changes, zeros([batch, count, inputs], { dtype: x.dtype })], 1);
    const forced = windowProduct(before, from, reversed.slice(0, length - to).flatten(0, 1));
    const cut = (rows: Tensor) => rows.slice(0, from - 1, to - 1);
    const rows: BlockRow = {
      tau: cut(steps.rows.tau),
      x: cut(steps.rows.x),
      usesObservation: cut(steps.rows.usesObservation),
      noise: steps.rows.noise.map(cut),
      far: forced.add(free.slice(0, from, to)),
    };
    // The latest difference is multiplied by K_0 in every step.
    const near = kernel.slice(0, 0, count).flatten(0, 1);
    const step = ({ differences, previous }: Carry, row: BlockRow): [Carry, Tensor[]] => {
      const { change, input, prediction } = steps.nextInputs(previous, row);
      const next = concatenate([change, differences.slice(1, 0, (count - 1) * inputs)], 1);
      const y = steps.decode(row.far.add(next.matmul(near)), row, previous, input);
      return [{ differences: next, previous: { prediction, y } }, [y]];
    };
    const none = zeros([batch, count * inputs], { dtype: x.dtype });
    const [last, [later]] = scan(step, { differences: none, previous }, rows);
    previous = last.previous;
    outputs.push(later);
    changes = concatenate([changes, last.differences.reshape([batch, count, inputs]).flip(1)], 1);
  }
  // Only used for the divergence check, so no gradient is recorded.
  const final = withoutRecording(() => convolveAtEnd(kernel, changes).add(free.select(0, -1)));
  return { y: concatenate(outputs).transpose(0, 1), final };
}
