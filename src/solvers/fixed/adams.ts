/**
 * Adams' multistep methods, explicit (Bashforth) and implicit (Moulton, corrected by iteration). (Hairer, Norsett, Wanner,
 * "Solving Ordinary Differential Equations I", section III.1.) As torchdiffeq's: two steps of rk4 come first, then orders
 * grow with the slopes known, up to eleven. The error of the first steps remains and sets the order of convergence.
 */
import { scan, type ScanOptions, scanOptionsOf } from "../../compile/loop/scan.ts";
import { scalar, tensor } from "../../tensor/creation.ts";
import { concatenate, stack } from "../../tensor/functions.ts";
import { hasValues, withoutRecording } from "../../tensor/primitive.ts";
import { tidy } from "../../tensor/scope.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { rk4 } from "../methods/rk4.ts";
import { readNumber, type Tolerances } from "../adaptive/step_control.ts";
import { combine, rungeKuttaStep, type VectorField } from "../runge_kutta.ts";

/** A multistep method of Adams'. */
export interface AdamsMethod {
  readonly kind: "adams";
  readonly name: "explicit_adams" | "implicit_adams";
  readonly order: number;
  /** Whether each step is corrected with the slope at its end. */
  readonly implicit: boolean;
}

/** Adams and Bashforth's method. */
export const explicitAdams: AdamsMethod = {
  kind: "adams",
  name: "explicit_adams",
  order: 4,
  implicit: false,
};

/** Adams and Moulton's method, with Adams and Bashforth's as its first guess. */
export const implicitAdams: AdamsMethod = { kind: "adams", name: "implicit_adams", order: 5, implicit: true };

/** Past slopes that are used at most. */
const maxHistory = 11;
/** Steps before there are slopes enough. */
const startingSteps = 2;
const corrections = 4;

/**
 * Weights of `count` slopes at equal distances, the latest first, in the integral over one step: the polynomial through
 * the slopes, integrated. (Equations 1.5 and 1.9 there.)
 *
 * @param implicit Whether the first slope is the one at the step's end, not at its start.
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
 * @param tolerances The implicit method's corrections stop below them; it needs values on the host.
 * @throws {RangeError} If steps before the last differ in length.
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
      `odeint: ${method.name} needs steps of one length, but step 0 is ${lengths[0]} long and step ${odd} ${
        lengths[odd]
      }: ` +
        "give a stepSize (output times between steps are interpolated)",
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

  // Past slopes along a last axis, the latest first, with zeros for those that are not there yet.
  const axis = y0.rank;
  const past = first.slope.flip(0).permute([...Array.from({ length: axis }, (_, i) => i + 1), 0]);
  const history = past.pad([...y0.shape.map(() => [0, 0] as const), [0, maxHistory - started]]);
  const weights = lengths.slice(started).flatMap((_, i) => {
    const own = adamsWeights(Math.min(started + i + 1, maxHistory), false);
    return [...own, ...Array(maxHistory - own.length).fill(0)];
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

/** Steps that are corrected until the change does not matter. */
function solveImplicitly(
  f: VectorField,
  y0: Tensor,
  grid: Float64Array,
  lengths: readonly number[],
  { rtol, atol }: Tolerances,
): { states: Tensor; final: Tensor; evaluations: number } {
  if (!hasValues(y0)) {
    throw new Error(
      "odeint: implicit_adams looks at its corrections while it runs and cannot be part of a traced loop or of vmap; " +
        "use explicit_adams or a Runge-Kutta method",
    );
  }
  const { dtype } = y0;
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
    const [own, ...others] = adamsWeights(history.length + 1, true);
    const known = combine(others, history).mul(dt);
    for (let i = 0, difference = Infinity; i < corrections && !(difference < 1); i++) {
      const before = change;
      change = f(end, y.add(change)).mul(own * dt).add(known);
      evaluations++;
      difference = largestChange(before, change);
      // A step that was not corrected enough is told from fewer slopes next time.
      if (i === corrections - 1 && !(difference < 1)) history = history.slice(0, -1);
    }
    return y = y.add(change);
  });
  return { states: stack(states), final: y, evaluations };
}
