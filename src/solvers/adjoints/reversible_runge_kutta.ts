/**
 * The algebraically reversible form of an explicit Runge-Kutta method. It has the same order and twice the evaluations.
 * (McCallum, Foster, "Efficient, Accurate and Stable Gradients for Neural ODEs", 2024.) With the change Psi of a state in a step
 * of size h,
 *
 *     y' = coupling y + (1 - coupling) z + Psi(t, h, z)
 *     z' = z - Psi(t + h, -h, y')
 *
 * The coupling damps the parasitic solution of the pair. The reconstruction of steps amplifies it.
 */
import type { Tensor } from "../../tensor/tensor.ts";
import type { ReversibleMethod } from "./reversible.ts";
import {
  computeStages,
  explicitStages,
  pullChange,
  stageTimes,
  type VectorField,
  weigh,
} from "../runge_kutta.ts";
import type { RungeKutta } from "../tableaus.ts";

/** The reversible form of a method. */
export function reversible(tableau: RungeKutta): ReversibleMethod {
  const change = (f: VectorField, t: Tensor, dt: Tensor, y: Tensor) => {
    const rule = explicitStages((t, [y]) => [f(t, y)]);
    return weigh(tableau.b, computeStages(tableau, rule, stageTimes(t, dt), dt, [y]).slopes, dt)[0];
  };
  return {
    kind: "reversible",
    name: `reversible_${tableau.name}`,
    order: tableau.order,
    base: tableau,
    evaluations: (steps) => 2 * tableau.b.length * steps,
    begin: (_f, _t, y) => ({ y, other: y }),
    step(f, { start, end, dt }, { y, other: z }, coupling) {
      const next = y.mul(coupling).add(z.mul(1 - coupling)).add(change(f, start, dt, z));
      return { y: next, other: z.sub(change(f, end, dt.neg(), next)) };
    },
    undo({ slope, pull }, { start, end, dt }, { y, other }, gradient, coupling) {
      const back = dt.neg();
      const z = other.add(change(slope, end, back, y));
      const earlier = y.sub(z.mul(1 - coupling)).sub(change(slope, start, dt, z)).div(coupling);
      const ofY = gradient.y.add(pullChange(tableau, slope, pull, end, back, y, gradient.other.neg()));
      const ofZ = gradient.other.add(ofY.mul(1 - coupling))
        .add(pullChange(tableau, slope, pull, start, dt, z, ofY));
      return { before: { y: earlier, other: z }, gradient: { y: ofY.mul(coupling), other: ofZ } };
    },
  };
}
