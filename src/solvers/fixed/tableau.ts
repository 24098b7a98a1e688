import type { Tensor } from "../../tensor/tensor.ts";
import type { Tree } from "../../tensor/tree.ts";

/**
 * The right-hand side of dy/dt = f(t, y). The time is a scalar tensor. The state is a tensor or a tree of tensors, and the
 * result has the same structure and shapes.
 */
export type VectorField<S extends Tree = Tensor> = (t: Tensor, y: S) => S;

/** The coefficients of a Runge-Kutta method with explicit stages. */
export interface RungeKutta {
  /** The name, for messages. */
  readonly name: string;
  /** The order of convergence. */
  readonly order: number;
  /** Times of the stages as fractions of the step; the first is 0. */
  readonly c: readonly number[];
  /** Row i holds the weights of the stages before stage i + 1. */
  readonly a: readonly (readonly number[])[];
  /** Weights of the stages in the step. */
  readonly b: readonly number[];
}

/**
 * An explicit Runge-Kutta method of fixed steps: k_i = f(t + c_i dt, y + dt sum_j a_ij k_j), y' = y + dt sum_i b_i k_i.
 * (Hairer, Norsett, Wanner, "Solving Ordinary Differential Equations I", section II.1.) The option `method` of a solve takes
 * one of your own.
 *
 * @example
 * ```ts
 * import { type ButcherTableau, odeint, tensor } from "@weft/weft";
 *
 * // Shu and Osher's method of order 3, which keeps the total variation from growing.
 * const ssp3: ButcherTableau = {
 *   kind: "explicit",
 *   name: "ssp3",
 *   order: 3,
 *   c: [0, 1, 1 / 2],
 *   a: [[1], [1 / 4, 1 / 4]],
 *   b: [1 / 6, 1 / 6, 2 / 3],
 * };
 * const y = odeint((_t, y) => y.neg(), tensor([1]), [0, 1], { method: ssp3, stepSize: 0.1 });
 * console.log(`${y}`);
 * ```
 */
export interface ButcherTableau extends RungeKutta {
  /** The kind of method. */
  readonly kind: "explicit";
}

/**
 * The stages of a step of length dt: their times, states and slopes.
 *
 * @param slope f(t, y) where it is known.
 * @param end The time at the step's end where it is known.
 */
export function rungeKuttaStages(
  { a, c }: RungeKutta,
  f: VectorField,
  t: Tensor,
  dt: Tensor,
  y: Tensor,
  slope: Tensor = f(t, y),
  end?: Tensor,
): { times: Tensor[]; states: Tensor[]; slopes: Tensor[] } {
  const [times, states, slopes] = [[t], [y], [slope]];
  a.forEach((row, i) => {
    times.push(end && c[i + 1] === 1 ? end : t.add(dt.mul(c[i + 1])));
    states.push(y.add(combine(row, slopes).mul(dt)));
    slopes.push(f(times[i + 1], states[i + 1]));
  });
  return { times, states, slopes };
}

/** y after one step of length dt, from the stages of {@linkcode rungeKuttaStages}. */
export function rungeKuttaStep(
  tableau: RungeKutta,
  f: VectorField,
  t: Tensor,
  dt: Tensor,
  y: Tensor,
  slope?: Tensor,
  end?: Tensor,
): Tensor {
  return y.add(combine(tableau.b, rungeKuttaStages(tableau, f, t, dt, y, slope, end).slopes).mul(dt));
}

/** y after some steps of one length across a duration, of an equation dy/dt = f(y). */
export function rungeKuttaSteps(
  tableau: RungeKutta,
  f: (y: Tensor) => Tensor,
  duration: Tensor,
  y: Tensor,
  steps: number,
): Tensor {
  const dt = duration.div(steps);
  for (let step = 0; step < steps; step++) y = rungeKuttaStep(tableau, (_t, y) => f(y), dt, dt, y);
  return y;
}

/** A weighted sum of stages. */
export function combine(weights: readonly number[], stages: readonly Tensor[]): Tensor {
  const terms = stages.flatMap((stage, i) =>
    weights[i] === 0 ? [] : weights[i] === 1 ? [stage] : [stage.mul(weights[i])]
  );
  return terms.reduce((sum, term) => sum.add(term));
}
