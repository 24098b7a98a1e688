import type { Tensor } from "../../tensor/tensor.ts";
import { heun2 } from "./heun2.ts";
import type { Pair, ReversibleMethod, StepTimes } from "../adjoints/reversible.ts";

/** The slope at the second state, which the next step uses again: each step evaluates the vector field once. */
interface Carried extends Pair {
  readonly slope: Tensor;
}

/** The change of a state in a step, which is linear in the slope, and the gradient of the slope from that of the change. */
interface Change {
  readonly of: (slope: Tensor, times: StepTimes) => Tensor;
  readonly pull: (gradient: Tensor, times: StepTimes) => Tensor;
}

/** The method with a rule for the change of a step: `slope dt`, or `drift dt + diffusion dW` for a stochastic equation. */
export function reversibleHeunWith(change: Change): ReversibleMethod {
  return {
    kind: "reversible",
    name: "reversible_heun",
    order: 2,
    base: heun2,
    evaluations: (steps) => steps + 1,
    begin: (f, t, y): Carried => ({ y, other: y, slope: f(t, y) }),
    step(f, times, before): Carried {
      const { y, other, slope } = before as Carried;
      const next = y.mul(2).sub(other).add(change.of(slope, times));
      const later = f(times.end, next);
      return { y: y.add(change.of(slope.add(later).mul(0.5), times)), other: next, slope: later };
    },
    undo({ slope, pull }, times, { y, other }, gradient) {
      const { start, end } = times;
      const after = slope(end, other);
      const earlier = y.mul(2).sub(other).sub(change.of(after, times));
      const mean = slope(start, earlier).add(after).mul(0.5);
      const half = change.pull(gradient.y.mul(0.5), times);
      const ofOther = gradient.other.add(pull(end, other, half));
      const ofEarlier = pull(start, earlier, half.add(change.pull(ofOther, times)));
      return {
        before: { y: y.sub(change.of(mean, times)), other: earlier },
        gradient: { y: gradient.y.add(ofOther.mul(2)), other: ofEarlier.sub(ofOther) },
      };
    },
  };
}

/**
 * The reversible Heun method, order 2. (Kidger, Foster, Li, Lyons, "Efficient and Accurate Gradients for Neural SDEs", 2021,
 * section 3.)
 */
export const reversibleHeun: ReversibleMethod = reversibleHeunWith({
  of: (slope, { dt }) => slope.mul(dt),
  pull: (gradient, { dt }) => gradient.mul(dt),
});
