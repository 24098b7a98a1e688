/**
 * Newton's method for k = f(z + scale k), the equation of a stage of an implicit Runge-Kutta method with the explicit part z. (Hairer, Wanner, "Solving
 * Ordinary Differential Equations II", section IV.8.) States are `(samples, n)`. The number of iterations is fixed, so that loops
 * with implicit steps compile.
 */
import { vjp } from "../../autodiff/grad.ts";
import { concatenate, stopGradient } from "../../tensor/functions.ts";
import { withoutRecording } from "../../tensor/primitive.ts";
import type { Tensor, TensorLike } from "../../tensor/tensor.ts";
import { type Basis, invert, multiply } from "./linear_systems.ts";
import { precisionOf } from "../adaptive/step_control.ts";

/** A function of states `(samples, n)`, whose samples do not depend on each other. */
type StateFunction = (y: Tensor) => Tensor;

/** A vector field of states `(samples, n)`. */
export type TimedFunction = (t: Tensor) => StateFunction;

/** Number of iterations of a stage, at least two. */
export const iterations = 6;

/** The allowed error of a stage, in units of the tolerances. */
export const allowedError = 0.01;

/** The Jacobian of each sample, `(samples, n, n)`. Each reverse pass computes one row for all samples. */
export function jacobians(f: StateFunction, y: Tensor, { identity }: Basis): Tensor {
  const { shape: [samples, n] } = y;
  const { pullback } = vjp(() => f(y), y);
  const row = (i: number) => pullback(identity.slice(0, i, i + 1).broadcastTo([samples, n])).expandDims(1);
  return concatenate(Array.from({ length: n }, (_, i) => row(i)), 1);
}

/** The inverse of I - scale J, a constant of every derivative. `scale` is a scalar or a column `(samples, 1)`. */
function newtonInverse(f: StateFunction, y: Tensor, scale: Tensor, basis: Basis): Tensor {
  const factor = scale.rank === 0 ? scale : scale.expandDims(-1);
  return withoutRecording(() => {
    const matrices = basis.identity.sub(jacobians(f, stopGradient(y), basis).mul(factor));
    return stopGradient(invert(matrices, basis));
  });
}

/** Tolerances that broadcast against states `(samples, n)`. */
export interface StageTolerances {
  readonly rtol: TensorLike;
  readonly atol: TensorLike;
}

/** The solution of a stage. */
export interface StageSolution {
  /** k. */
  readonly slope: Tensor;
  /** Whether the iterations of each sample have converged, `(samples, 1)`. */
  readonly isSolved: Tensor;
}

/** Solves the equation of a stage, k = f(t, explicit part + scale k), from an initial value of k. */
export type StageSolver = (t: Tensor, explicitPart: Tensor, guess: Tensor) => StageSolution;

/**
 * Solves the stages of a step with the inverse of a matrix of each sample.
 *
 * @param t The time of the Jacobian.
 * @param y The state of the Jacobian.
 * @param orders Number of derivatives of k that are wanted.
 */
export function denseStages(
  f: TimedFunction,
  t: Tensor,
  y: Tensor,
  scale: Tensor,
  constants: StageTolerances & Basis,
  orders: number,
): StageSolver {
  const inverse = newtonInverse(f(t), y, scale, constants);
  return (t, explicitPart, guess) => {
    const solution = solveStage(f(t), explicitPart, scale, guess, inverse, constants);
    if (orders === 0) return solution;
    return { ...solution, slope: refine(f(t), explicitPart, scale, solution.slope, orders, constants) };
  };
}

/**
 * Solves for k, a constant of every derivative.
 *
 * @param guess The initial value of k.
 * @param inverse The result of {@linkcode newtonInverse} at a nearby state.
 */
function solveStage(
  f: StateFunction,
  explicitPart: Tensor,
  scale: Tensor,
  guess: Tensor,
  inverse: Tensor,
  { rtol, atol }: StageTolerances,
): StageSolution {
  return withoutRecording(() => {
    const base = stopGradient(explicitPart);
    let slope = stopGradient(guess);
    const changes: Tensor[] = [];
    for (let iteration = 0; iteration < iterations; iteration++) {
      const change = multiply(inverse, f(base.add(slope.mul(scale))).sub(slope));
      changes.push(change);
      slope = slope.add(change);
    }
    const size = base.abs().maximum(slope.mul(scale).abs());
    const allowed = size.mul(rtol).add(atol);
    const norm = (x: Tensor) => x.div(allowed).square().mean(1, { keepDims: true }).sqrt();
    const [before, last] = changes.slice(-2).map((change) => norm(change.mul(scale)));
    // The remaining error is a geometric series with the ratio of consecutive changes.
    const rate = last.div(before);
    const error = rate.less(0.5).where(last.mul(rate), last);
    const isRounding = last.lessEqual(norm(size.mul(10 * precisionOf(size.dtype))));
    return { slope: stopGradient(slope), isSolved: error.lessEqual(allowedError).or(isRounding) };
  });
}

/**
 * Adds iterations with gradients to a solution. By the implicit function theorem, the first iteration gives the first derivatives of
 * the solution, because its matrix is that of the solution. Each further iteration gives one more order.
 *
 * @param orders Number of iterations.
 */
function refine(
  f: StateFunction,
  explicitPart: Tensor,
  scale: Tensor,
  solution: Tensor,
  orders: number,
  basis: Basis,
): Tensor {
  const inverse = newtonInverse(f, explicitPart.add(solution.mul(scale)), scale, basis);
  let k = solution;
  for (let order = 0; order < orders; order++) {
    k = k.add(multiply(inverse, f(explicitPart.add(k.mul(scale))).sub(k)));
  }
  return k;
}
