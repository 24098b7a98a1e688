import type { Tensor } from "../../tensor/tensor.ts";
import { heun2 } from "./heun2.ts";
import type { Pair, ReversibleMethod } from "../adjoints/reversible.ts";

/** The slope at the second state, which the next step uses again: each step evaluates the vector field once. */
interface Carried extends Pair {
  readonly slope: Tensor;
}

/**
 * The reversible Heun method, order 2. (Kidger, Foster, Li, Lyons, "Efficient and Accurate Gradients for Neural SDEs", 2021,
 * section 3.)
 */
export const reversibleHeun: ReversibleMethod = {
  kind: "reversible",
  name: "reversible_heun",
  order: 2,
  base: heun2,
  evaluations: (steps) => steps + 1,
  begin: (f, t, y): Carried => ({ y, other: y, slope: f(t, y) }),
  step(f, { end, dt }, before): Carried {
    const { y, other, slope } = before as Carried;
    const next = y.mul(2).sub(other).add(slope.mul(dt));
    const later = f(end, next);
    return { y: y.add(slope.add(later).mul(0.5).mul(dt)), other: next, slope: later };
  },
  undo({ slope, pull }, { start, end, dt }, { y, other }, gradient) {
    const after = slope(end, other);
    const earlier = y.mul(2).sub(other).sub(after.mul(dt));
    const mean = slope(start, earlier).add(after).mul(0.5);
    const half = gradient.y.mul(dt.mul(0.5));
    const ofOther = gradient.other.add(pull(end, other, half));
    return {
      before: { y: y.sub(mean.mul(dt)), other: earlier },
      gradient: {
        y: gradient.y.add(ofOther.mul(2)),
        other: pull(start, earlier, half.add(ofOther.mul(dt))).sub(ofOther),
      },
    };
  },
};
