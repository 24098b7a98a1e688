/**
 * The algebraically reversible form of explicit Runge-Kutta methods: of the same order, at twice the evaluations. (McCallum,
 * Foster, "Efficient, Accurate and Stable Gradients for Neural ODEs", 2024.) With the change of a state, Psi, in a step of
 * length h,
 *
 *     y' = coupling y + (1 - coupling) z + Psi(t, h, z)
 *     z' = z - Psi(t + h, -h, y')
 *
 * The coupling damps the second, false solution that the pair has, and grows it where the steps are undone.
 */
import type { Tensor } from "../../tensor/tensor.ts";
import type { FieldWithGradient, ReversibleMethod } from "./reversible.ts";
import { combine, type RungeKutta, rungeKuttaStages } from "../fixed/tableau.ts";

/** The reversible form of a method. */
export function reversible(tableau: RungeKutta): ReversibleMethod {
  const change = (f: FieldWithGradient["slope"], t: Tensor, dt: Tensor, y: Tensor) =>
    combine(tableau.b, rungeKuttaStages(tableau, f, t, dt, y).slopes).mul(dt);
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
    undo(field, { start, end, dt }, { y, other }, gradient, coupling) {
      const back = dt.neg();
      const z = other.add(change(field.slope, end, back, y));
      const earlier = y.sub(z.mul(1 - coupling)).sub(change(field.slope, start, dt, z)).div(coupling);
      const ofY = gradient.y.add(pullChange(tableau, field, end, back, y, gradient.other.neg()));
      const ofZ = gradient.other.add(ofY.mul(1 - coupling))
        .add(pullChange(tableau, field, start, dt, z, ofY));
      return { before: { y: earlier, other: z }, gradient: { y: ofY.mul(coupling), other: ofZ } };
    },
  };
}

/** The gradient of y through its change in a step, given that of the change. */
function pullChange(
  tableau: RungeKutta,
  { slope, pull }: FieldWithGradient,
  t: Tensor,
  dt: Tensor,
  y: Tensor,
  gradient: Tensor,
): Tensor {
  const { a, b } = tableau;
  const { times, states } = rungeKuttaStages(tableau, slope, t, dt, y);
  const scaled = gradient.mul(dt);
  // From the last stage to the first: each slope counts in the change and in the states of the stages behind it.
  const ofStates: (Tensor | undefined)[] = [];
  let sum: Tensor | undefined;
  for (let i = b.length - 1; i >= 0; i--) {
    const shares = [b[i], ...a.slice(i).map((row) => row[i])];
    const parts = [scaled, ...a.slice(i).map((_, j) => ofStates[i + 1 + j]?.mul(dt))];
    const used = parts.flatMap((part, j) => part && shares[j] !== 0 ? [{ part, share: shares[j] }] : []);
    if (used.length === 0) continue;
    const ofSlope = combine(used.map(({ share }) => share), used.map(({ part }) => part));
    const own = ofStates[i] = pull(times[i], states[i], ofSlope);
    sum = sum ? sum.add(own) : own;
  }
  return sum!;
}
