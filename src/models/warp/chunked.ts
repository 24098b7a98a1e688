/**
 * A scan over blocks of time. The state moves from block to block by A^L plus the contribution of the block's
 * inputs. Then the steps inside all blocks run in parallel, as one batch. This takes T / L + L sequential
 * steps instead of T.
 */
import { concatenate } from "../../tensor/functions.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { forcedFinalState } from "./convolution.ts";
import type { Dynamics } from "./dynamics.ts";
import { applyPower, iterateAll, iterateToEnd, squaresOf } from "./powers.ts";
import { recurrentStates } from "./recurrent.ts";

/**
 * All states, `(batch, T, D)`. Arguments as for {@linkcode recurrentStates}.
 *
 * @param doublings Blocks are 2^doublings steps long.
 */
export function chunkedStates(
  dynamics: Dynamics,
  start: Tensor,
  changes: Tensor,
  doublings: number,
): Tensor {
  const [batch, steps, inputs] = changes.shape;
  const size = start.shape[1];
  const length = 2 ** doublings;
  const count = Math.ceil(steps / length);
  if (count === 1) return recurrentStates(dynamics, start, changes);
  const { transition } = dynamics;
  const squares = squaresOf(transition);
  const blocks = changes.pad([[0, 0], [0, count * length - steps], [0, 0]])
    .reshape([batch, count, length, inputs]).transpose(0, 1);
  const whole = blocks.slice(0, 0, count - 1).reshape([(count - 1) * batch, length, inputs]);
  const added = forcedFinalState(dynamics, squares, whole, doublings).reshape([count - 1, batch, size]);
  const across = { transition, power: squares(doublings), steps: count - 1, added };
  const starts = concatenate([start.expandDims(0), iterateAll(across, start)]).reshape([count * batch, size]);
  const states = recurrentStates(dynamics, starts, blocks.reshape([count * batch, length, inputs]));
  // The last state of a block is the first state of the next block.
  return concatenate([
    start.expandDims(1),
    states.slice(1, 1).reshape([count, batch, length, size]).transpose(0, 1)
      .reshape([batch, count * length, size]).slice(1, 0, steps),
  ], 1);
}

/** Only the last state, `(batch, D)`. The steps inside the blocks are skipped. */
export function chunkedFinalState(
  dynamics: Dynamics,
  start: Tensor,
  changes: Tensor,
  doublings: number,
): Tensor {
  const [batch, steps, inputs] = changes.shape;
  const length = 2 ** doublings;
  const count = Math.ceil(steps / length);
  // Pad the first block with zeros, so that all blocks have the same length.
  const missing = count * length - steps;
  const { transition } = dynamics;
  const squares = squaresOf(transition);
  const blocks = changes.pad([[0, 0], [missing, 0], [0, 0]])
    .reshape([batch, count, length, inputs]).transpose(0, 1).reshape([count * batch, length, inputs]);
  const added = forcedFinalState(dynamics, squares, blocks, doublings).reshape([
    count,
    batch,
    start.shape[1],
  ]);
  const first = applyPower(transition, squares, start, length - missing, doublings).add(added.select(0, 0));
  if (count === 1) return first;
  return iterateToEnd(
    { transition, power: squares(doublings), steps: count - 1, added: added.slice(0, 1) },
    first,
  );
}
