import type { Tensor } from "../tensor/tensor.ts";

/** A right-hand side: dy/dt = f(t, y). The time is a tensor of no axes. */
export type VectorField = (t: Tensor, y: Tensor) => Tensor;

/**
 * An explicit Runge-Kutta method: k_i = f(t + c_i dt, y + dt sum_j a_ij k_j), y' = y + dt sum_i b_i k_i.
 * (Hairer, Norsett, Wanner, "Solving Ordinary Differential Equations I", section II.1.)
 */
export interface ButcherTableau {
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

/** y after one step of length dt; `slope` is f(t, y) where it is known. */
export function rungeKuttaStep(
  { a, b, c }: ButcherTableau,
  f: VectorField,
  t: Tensor,
  dt: Tensor,
  y: Tensor,
  slope: Tensor = f(t, y),
): Tensor {
  const stages = [slope];
  a.forEach((row, i) => stages.push(f(t.add(dt.mul(c[i + 1])), y.add(combine(row, stages).mul(dt)))));
  return y.add(combine(b, stages).mul(dt));
}

/** A weighted sum of stages. */
export function combine(weights: readonly number[], stages: readonly Tensor[]): Tensor {
  const terms = stages.flatMap((stage, i) =>
    weights[i] === 0 ? [] : weights[i] === 1 ? [stage] : [stage.mul(weights[i])]
  );
  return terms.reduce((sum, term) => sum.add(term));
}
