/**
 * Multistep methods of Adams: explicit (Adams-Bashforth), and implicit (Adams-Moulton) with corrections by fixed-point iteration.
 * As in torchdiffeq, the first two steps are steps of rk4. The order of a step then grows with the number of known slopes, which is
 * at most eleven. The error of the first steps determines the order of convergence.
 */
import { scan, type ScanOptions, scanOptionsOf } from "../../compile/loop/scan.ts";
import { scalar, tensor } from "../../tensor/creation.ts";
import { concatenate, stack } from "../../tensor/functions.ts";
import { hasValues, withoutRecording } from "../../tensor/primitive.ts";
import { tidy } from "../../tensor/scope.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { rk4 } from "../methods/rk4.ts";
import { readNumber } from "../adaptive/step_control.ts";
import { toleranceFor, type Tolerances } from "../control/tolerances.ts";
import { combine, rungeKuttaStep, type VectorField } from "../runge_kutta.ts";

/** A multistep method of Adams. */
export interface AdamsMethod {
  readonly kind: "adams";
  readonly name: "explicit_adams" | "implicit_adams";
  readonly order: number;
  /** Whether each step is corrected with the slope at its end. */
  readonly implicit: boolean;
}

/**
 * The method of Adams and Bashforth. (Hairer, Norsett, Wanner, "Solving Ordinary Differential Equations I", section III.1.)
 */
export const explicitAdams: AdamsMethod = {
  kind: "adams",
  name: "explicit_adams",
  order: 4,
  implicit: false,
};

/**
 * The method of Adams and Moulton. (Hairer, Norsett, Wanner, "Solving Ordinary Differential Equations I", section III.1.) The method
 * of Adams and Bashforth gives the first guess.
 */
export const implicitAdams: AdamsMethod = { kind: "adams", name: "implicit_adams", order: 5, implicit: true };

/** Maximum number of past slopes. */
const maxHistory = 11;
/** Number of rk4 steps at the start. */
const startingSteps = 2;
const corrections = 4;

/**
 * Weights of `count` equidistant slopes, the latest first, in the integral of their interpolation polynomial over one step.
 * (Equations 1.5 and 1.9.)
 *
 * @param implicit Whether the first slope is at the end of the step instead of its start.
 */
function adamsWeights(count: number, implicit: boolean): number[] {
  const gamma: number[] = [];
  for (let j = 0; j < count; j++) {
    const before = gamma.reduce((sum, value, i) => sum + value / (j + 1 - i), 0);
    gamma.push((j === 0 || !implicit ? 1 : 0) - before);
  }
  const choose = (n: number, k: number): number => k === 0 ? 1 : choose(n - 1, k - 1) * n / k;
  return gamma.map((_, m) =>
    (m % 2 === 0 ? 1 : -1) * gamma.reduce((sum, value, j) => j < m ? sum : sum + choose(j, m) * value, 0)
  );
}

/**
 * The state after each step of a grid, `(steps, ...state)`.
 *
 * @param tolerances Corrections of the implicit method stop below them, which requires values on the host.
 * @throws {RangeError} If steps before the last have different sizes.
 */
export function solveByAdams(
  method: AdamsMethod,
  f: VectorField,
  y0: Tensor,
  grid: Float64Array,
  tolerances: Tolerances,
  options: ScanOptions,
): { states: Tensor; final: Tensor; evaluations: number } {
  const lengths = Array.from(grid.subarray(1), (end, i) => end - grid[i]);
  const odd = lengths.findIndex((length, i) =>
    i < lengths.length - 1 && Math.abs(length - lengths[0]) > 1e-6 * Math.abs(lengths[0])
  );
  if (odd >= 0) {
    throw new RangeError(
      `odeint: ${method.name} needs steps of equal size, but step 0 has size ${
        lengths[0]
      } and step ${odd} has size ${lengths[odd]}: ` +
        "set stepSize (states at output times are interpolated)",
    );
  }
  if (method.implicit) return solveImplicitly(f, y0, grid, lengths, tolerances);

  const { dtype } = y0;
  const rows = (start: number, end?: number) => ({
    t: tensor(grid.slice(start, end ?? -1), { dtype }),
    dt: tensor(lengths.slice(start, end), { dtype }),
  });
  const started = Math.min(startingSteps, lengths.length);
  const begin = rows(0, started);
  const [y, first] = scan(
    (y: Tensor, { t, dt }: typeof begin) => {
      const next = rungeKuttaStep(rk4, f, t, dt, y);
      return [next, { y: next, slope: f(t, y) }];
    },
    y0,
    begin,
    scanOptionsOf(options),
  );
  const evaluations = rk4.b.length * started + lengths.length - started;
  if (lengths.length === started) return { states: first.y, final: y, evaluations };

  // Past slopes along a last axis, the latest first. Unknown slopes are zero.
  const axis = y0.rank;
  const past = first.slope.flip(0).permute([...Array.from({ length: axis }, (_, i) => i + 1), 0]);
  const history = past.pad([...y0.shape.map(() => [0, 0] as const), [0, maxHistory - started]]);
  const weights = lengths.slice(started).flatMap((_, i) => {
    const coefficients = adamsWeights(Math.min(started + i + 1, maxHistory), false);
    return [...coefficients, ...Array(maxHistory - coefficients.length).fill(0)];
  });
  const on = {
    ...rows(started),
    weights: tensor(weights, { shape: [lengths.length - started, maxHistory], dtype }),
  };
  const [{ y: final }, later] = scan(
    ({ y, history }: { y: Tensor; history: Tensor }, { t, dt, weights }: typeof on) => {
      const slopes = concatenate([f(t, y).expandDims(axis), history.slice(axis, 0, -1)], axis);
      const next = y.add(slopes.mul(weights).sum(axis).mul(dt));
      return [{ y: next, history: slopes }, next];
    },
    { y, history },
    on,
    scanOptionsOf(options),
  );
  return { states: concatenate([first.y, later]), final, evaluations };
}

/** Solves by implicit steps. The increment of a step is corrected until a correction is below the tolerances. */
function solveImplicitly(
  f: VectorField,
  y0: Tensor,
  grid: Float64Array,
  lengths: readonly number[],
  tolerances: Tolerances,
): { states: Tensor; final: Tensor; evaluations: number } {
  if (!hasValues(y0)) {
    throw new Error(
      "odeint: implicit_adams reads the size of its corrections and cannot be part of a traced loop or of vmap; " +
        "use explicit_adams or a Runge-Kutta method",
    );
  }
  const { dtype } = y0;
  const [rtol, atol] = [tolerances.rtol, tolerances.atol].map((tolerance) => toleranceFor(tolerance, y0));
  const largestChange = (a: Tensor, b: Tensor) =>
    withoutRecording(() =>
      tidy(() => readNumber(a.sub(b).abs().div(a.abs().maximum(b.abs()).mul(rtol).add(atol)).max()))
    );
  let [y, history, evaluations]: [Tensor, Tensor[], number] = [y0, [], 0];
  const states = lengths.map((dt, step) => {
    const [t, end] = [grid[step], grid[step + 1]].map((time) => scalar(time, dtype));
    history = [f(t, y), ...history].slice(0, maxHistory);
    evaluations++;
    if (history.length <= startingSteps) {
      evaluations += rk4.b.length - 1;
      return y = rungeKuttaStep(rk4, f, t, scalar(dt, dtype), y, history[0]);
    }
    let change = combine(adamsWeights(history.length, false), history).mul(dt);
    const [last, ...others] = adamsWeights(history.length + 1, true);
    const explicitPart = combine(others, history).mul(dt);
    for (let i = 0, difference = Infinity; i < corrections && !(difference < 1); i++) {
      const before = change;
      change = f(end, y.add(change)).mul(last * dt).add(explicitPart);
      evaluations++;
      difference = largestChange(before, change);
      // If the corrections did not converge, the next step uses no more slopes than this one.
      if (i === corrections - 1 && !(difference < 1)) history = history.slice(0, -1);
    }
    return y = y.add(change);
  });
  return { states: stack(states), final: y, evaluations };
}
