import type { Tensor } from "../../tensor/tensor.ts";
import type { Transition } from "./transition.ts";

/** The state transition theta_t = A theta_(t-1) + B dx_t of equation 1. */
export interface Dynamics {
  readonly transition: Transition;
  /** B, `(D, inputs)`. */
  readonly input: Tensor;
  /** States are held within plus and minus this after each step (appendix A.3); the map is then no longer linear. */
  readonly clip?: number;
}

/** One step from `(rows, D)` with the changes of the input `(rows, inputs)`. */
export function advance({ transition, input, clip }: Dynamics, theta: Tensor, change: Tensor): Tensor {
  const next = transition.apply(theta, transition.first).add(change.matmul(input.mT));
  return clip === undefined ? next : next.clip(-clip, clip);
}
