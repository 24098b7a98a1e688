import type { Tensor } from "../../tensor/tensor.ts";
import type { Transition } from "./transition.ts";

/** The state transition theta_t = A theta_(t-1) + B dx_t of equation 1. */
export interface Dynamics {
  readonly transition: Transition;
  /** B, `(D, inputs)`. */
  readonly input: Tensor;
  /**
   * Weights are clipped to plus and minus this value after each step (appendix A.3). The map is then no
   * longer linear.
   */
  readonly clip?: number;
}

/** One step from states `(rows, D)` with the changes of the input `(rows, inputs)`. */
export function advance({ transition, input, clip }: Dynamics, theta: Tensor, change: Tensor): Tensor {
  const next = transition.apply(theta, transition.first).add(change.matmul(input.mT));
  return clip === undefined ? next : next.clip(-clip, clip);
}
