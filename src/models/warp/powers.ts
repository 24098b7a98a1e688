import { scan } from "../../compile/loop/scan.ts";
import { zeros } from "../../tensor/creation.ts";
import { concatenate } from "../../tensor/functions.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import type { Transition } from "./transition.ts";

/** Returns A^(2^j). Each square is computed once, on first use. */
export type Squares = (j: number) => Tensor;

/** The repeated squares of a transition. */
export function squaresOf({ first, square }: Transition): Squares {
  const squares = [first];
  return (j) => {
    while (squares.length <= j) squares.push(square(squares[squares.length - 1]));
    return squares[j];
  };
}

/**
 * The list rows, A rows, A^2 rows ...: `(rows, D)` to `(count, rows, D)`. For the columns of B it is the
 * kernel of equation 7 of WARP's paper. Up to length 2^doublings the list is doubled: A^p maps the first p
 * elements to the next p. After that, A^(2^doublings) is applied repeatedly to the whole list.
 */
export function powerSequence(
  transition: Transition,
  squares: Squares,
  rows: Tensor,
  count: number,
  doublings: number,
): Tensor {
  const [each, size] = rows.shape;
  let block = rows;
  for (let j = 0; j < doublings && block.shape[0] < count * each; j++) {
    block = concatenate([block, transition.apply(block, squares(j))]);
  }
  const perBlock = block.shape[0] / each;
  const steps = Math.ceil(count / perBlock) - 1;
  if (steps > 0) {
    const later = iterateAll({ transition, power: squares(doublings), steps }, block);
    block = concatenate([block, later.reshape([steps * block.shape[0], size])]);
  }
  return block.slice(0, 0, count * each).reshape([count, each, size]);
}

/**
 * A^exponent times each row: the low bits of the exponent by squares, the rest by repeated application of
 * A^(2^doublings).
 */
export function applyPower(
  transition: Transition,
  squares: Squares,
  rows: Tensor,
  exponent: number,
  doublings: number,
): Tensor {
  let moved = rows;
  for (let j = 0; j < doublings; j++) {
    if (exponent & 2 ** j) moved = transition.apply(moved, squares(j));
  }
  const steps = Math.floor(exponent / 2 ** doublings);
  return steps > 0 ? iterateToEnd({ transition, power: squares(doublings), steps }, moved) : moved;
}

/** A power of the transition, and the number of times to apply it to rows. */
interface Iteration {
  readonly transition: Transition;
  /** The representation of the power of A that is applied. */
  readonly power: Tensor;
  readonly steps: number;
  /** Rows added after each step, `(steps, rows, D)`. */
  readonly added?: Tensor;
}

/** The rows after the last step. */
export function iterateToEnd(iteration: Iteration, rows: Tensor): Tensor {
  return iterate(iteration, rows, () => [])[0];
}

/** The rows after each step, `(steps, rows, D)`. */
export function iterateAll(iteration: Iteration, rows: Tensor): Tensor {
  return iterate(iteration, rows, (next) => [next])[1][0];
}

function iterate(
  { transition, power, steps, added }: Iteration,
  rows: Tensor,
  outputs: (next: Tensor) => Tensor[],
): [last: Tensor, all: Tensor[]] {
  const counter = zeros([steps], { dtype: rows.dtype });
  const sequences = added ? [counter, added] : [counter];
  return scan(
    (carry: Tensor, [, addition]: Tensor[]): [Tensor, Tensor[]] => {
      const moved = transition.apply(carry, power);
      const next = addition ? moved.add(addition) : moved;
      return [next, outputs(next)];
    },
    rows,
    sequences,
  );
}
