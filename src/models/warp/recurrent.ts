import { scan } from "../../compile/loop/scan.ts";
import { concatenate } from "../../tensor/functions.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { advance, type Dynamics } from "./dynamics.ts";

/**
 * Computes states one after another.
 *
 * @param start theta_0, `(batch, D)`.
 * @param changes x_t - x_(t-1) for t = 1 ... T - 1: `(batch, T - 1, inputs)`.
 * @returns `(batch, T, D)`.
 */
export function recurrentStates(dynamics: Dynamics, start: Tensor, changes: Tensor): Tensor {
  const [, later] = scan(
    (theta: Tensor, change: Tensor) => {
      const next = advance(dynamics, theta, change);
      return [next, next];
    },
    start,
    changes.transpose(0, 1),
  );
  return concatenate([start.expandDims(0), later]).transpose(0, 1);
}

/** Only the last state, `(batch, D)`. Other states are kept only if a gradient is recorded. */
export function recurrentFinalState(dynamics: Dynamics, start: Tensor, changes: Tensor): Tensor {
  const step = (theta: Tensor, change: Tensor): [Tensor, []] => [advance(dynamics, theta, change), []];
  return scan(step, start, changes.transpose(0, 1))[0];
}
