/**
 * Solutions of large systems of linear equations, from products with the matrix: BiCGstab(2). (Sleijpen, Fokkema, "BiCGstab(l) for
 * linear equations involving unsymmetric matrices with complex spectrum", 1993.) Memory is seven vectors, whatever the number of
 * iterations.
 */
import type { Closure } from "../../compile/loop/loop.ts";
import { peekOutsideLoops, whileLoopOf } from "../../compile/loop/while_loop.ts";
import { liftTogether } from "../../tensor/broadcast.ts";
import type { Tensor } from "../../tensor/tensor.ts";

/** A product of a matrix, which depends on tensors, with a vector of each sample, `(samples, n)`. */
export interface Product {
  readonly of: (vector: Tensor, tensors: readonly Tensor[]) => Tensor;
  /** The tensors, and a text of the function. Products with the same text are the same function of their arguments. */
  readonly closure: Closure;
}

/** The solution of linear equations. */
interface LinearSolution {
  /** `(samples, n)`. */
  readonly x: Tensor;
  /** The root mean square of the residual of each sample, `(samples, 1)`. */
  readonly residual: Tensor;
}

/** Maximum number of iterations, of four products each. Where values cannot be read, as on a GPU, each solve takes as many. */
const maxIterations = { readable: 1000, unreadable: 100 };

/** Root mean squares `(samples, 1)` of vectors `(samples, n)`. */
export function rootMeanSquare(x: Tensor): Tensor {
  return x.square().mean(1, { keepDims: true }).sqrt();
}

/**
 * Solves A x = r for each sample. If a sample needs too many iterations, its solution is the best of all iterations.
 *
 * @param r The right-hand sides, `(samples, n)`.
 * @param target The largest residual of a solution, as a root mean square, `(samples, 1)`.
 */
export function solveLinear(product: Product, r: Tensor, target: Tensor): LinearSolution {
  // Squares of small numbers underflow, so the largest element becomes 1.
  const largest = r.abs().max(1, { keepDims: true });
  const size = largest.greater(0).where(largest, 1);
  const shadow = r.div(size);
  const limit = target.div(size);
  const zero = size.zerosLike();
  const one = zero.add(1);
  const x = shadow.zerosLike();
  const first = rootMeanSquare(shadow);
  const init = { x, r: shadow, u: x, rho: one, alpha: zero, omega: one, rms: first, best: x, least: first };
  const dot = (a: Tensor, b: Tensor) => a.mul(b).sum(1, { keepDims: true });
  // An exact solution has quotients 0 / 0, whose values do not matter.
  const quotient = (a: Tensor, b: Tensor) => {
    const isZero = b.equal(0);
    return isZero.where(0, a.div(isZero.where(1, b)));
  };
  const { tensors, key } = product.closure;
  const iterate = (state: typeof init): typeof init => {
    const [u, shadowed, most, ...lifted] = liftTogether([state.u, shadow, limit, ...tensors]);
    const times = (v: Tensor) => product.of(v, lifted);
    let { x, r: r0, rho, alpha } = state;
    let [rho0, u0] = [rho.mul(state.omega).neg(), u];
    // Two steps of biconjugate gradients.
    rho = dot(shadowed, r0);
    let beta = alpha.mul(quotient(rho, rho0));
    rho0 = rho;
    u0 = r0.sub(beta.mul(u0));
    let u1 = times(u0);
    alpha = quotient(rho0, dot(u1, shadowed));
    r0 = r0.sub(alpha.mul(u1));
    let r1 = times(r0);
    x = x.add(alpha.mul(u0));
    // What follows an exact solution divides rounding errors by each other.
    const early = { x, rms: rootMeanSquare(r0) };
    const isEarly = early.rms.lessEqual(most);
    rho = dot(shadowed, r1);
    beta = alpha.mul(quotient(rho, rho0));
    rho0 = rho;
    u0 = r0.sub(beta.mul(u0));
    u1 = r1.sub(beta.mul(u1));
    const u2 = times(u1);
    alpha = quotient(rho0, dot(u2, shadowed));
    r0 = r0.sub(alpha.mul(u1));
    r1 = r1.sub(alpha.mul(u2));
    const r2 = times(r1);
    x = x.add(alpha.mul(u0));
    // The combination of r1 and r2 that leaves the smallest residual.
    const square = dot(r1, r1);
    const shared = quotient(dot(r2, r1), square);
    const rest = r2.sub(shared.mul(r1));
    const omega = quotient(dot(rest, r0), dot(rest, rest));
    const gamma = quotient(dot(r1, r0), square).sub(shared.mul(omega));
    x = isEarly.where(early.x, x.add(gamma.mul(r0)).add(omega.mul(r1)));
    u0 = u0.sub(gamma.mul(u1)).sub(omega.mul(u2));
    const left = r0.sub(gamma.mul(r1)).sub(omega.mul(r2));
    const rms = isEarly.where(early.rms, rootMeanSquare(left));
    const isBest = rms.less(state.least);
    return {
      x,
      r: left,
      u: u0,
      rho: rho0,
      alpha,
      omega,
      rms,
      best: isBest.where(x, state.best),
      least: isBest.where(rms, state.least),
    };
  };
  const maxSteps = peekOutsideLoops(first) ? maxIterations.readable : maxIterations.unreadable;
  // NaN ends the loop.
  const goes = ({ rms }: typeof init) => rms.greater(limit).and(rms.less(Infinity));
  const { best, least } = whileLoopOf(goes, iterate, init, { maxSteps }, {
    key: `BiCGstab ${key}`,
    tensors: [shadow, limit, ...tensors],
  });
  return { x: best.mul(size), residual: least.mul(size) };
}
