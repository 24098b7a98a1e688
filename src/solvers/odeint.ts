import { scan, type ScanOptions } from "../compile/scan.ts";
import { formatShape, sameShape, ShapeError } from "../device/shape.ts";
import { tensor } from "../tensor/creation.ts";
import { concatenate, stack } from "../tensor/functions.ts";
import { hostTimes } from "../tensor/host.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { solveWithContinuousAdjoint } from "./adjoint.ts";
import { checkStates } from "./divergence.ts";
import { checkOutputTimes, locateInSteps, stepTimes } from "./grid.ts";
import { methodNamed } from "./methods.ts";
import { type ButcherTableau, rungeKuttaStep, type VectorField } from "./tableau.ts";

/** How the gradient of a solve is computed. */
export type Adjoint = "direct" | "checkpoint" | "continuous";

/** How a differential equation is solved. */
export interface SolveOptions {
  /** `"rk4"` (the 3/8 rule) by default. */
  method?: string;
  /** The length of a step, in units of time; without it one step leads from each output time to the next. */
  stepSize?: number;
  /**
   * `"direct"` (the default): the exact gradient of the discrete solution; the state is kept once a step.
   * `"checkpoint"`: the same numbers; the state is kept every so many steps, memory grows with their square root.
   * `"continuous"`: the adjoint equation solved backwards; memory does not grow, and the gradient has the solver's error.
   */
  adjoint?: Adjoint;
  /**
   * Whether to look for states that are infinite or NaN, `false` by default. The first is reported with its time, step and
   * sample, as a {@linkcode DivergenceError}; it takes keeping all states.
   */
  check?: boolean;
  /** Whether the solve is compiled, `true` by default; otherwise every operation of every step runs by itself. */
  compile?: boolean;
}

const adjoints: readonly Adjoint[] = ["direct", "checkpoint", "continuous"];

/**
 * Solves dy/dt = f(t, y), as torchdiffeq's `odeint`.
 *
 * @example
 * ```ts
 * import { odeint, tensor } from "@weft/weft";
 *
 * const y = odeint((_t, y) => y.neg(), tensor([1]), [0, 1], { method: "rk4", stepSize: 0.1 });
 * console.log(await y.data()); // 1 and exp(-1)
 * ```
 *
 * @param f The vector field; `t` is a tensor of no axes, the result has the shape of `y`.
 * @param y0 The state at the first time, any shape, float32 or float64.
 * @param t Times at which the state is wanted, all increasing or all decreasing; two at least.
 * @returns `(length(t), ...y0.shape)`; between steps the states are interpolated linearly.
 * @throws {RangeError} On an unknown method, a step size that is not positive, or times in disorder.
 */
export function odeint(
  f: VectorField,
  y0: Tensor,
  t: Tensor | ArrayLike<number>,
  options: SolveOptions = {},
): Tensor {
  const { method = "rk4", stepSize, adjoint = "direct", compile, check = false } = options;
  const tableau = methodNamed(method);
  if (!adjoints.includes(adjoint)) {
    throw new RangeError(`odeint: adjoint "${adjoint}" is unknown; use one of ${adjoints.join(", ")}`);
  }
  const times = hostTimes(t, "odeint: t");
  checkOutputTimes(times, "odeint");
  const checked: VectorField = (time, y) => {
    const slope = f(time, y);
    if (sameShape(slope.shape, y.shape)) return slope;
    const [found, expected] = [slope, y].map(({ shape }) => formatShape(shape));
    throw new ShapeError(
      `odeint: the vector field returned ${found} for a state of ${expected}; they must have one shape`,
    );
  };
  const scanOptions = { compile, checkpoint: adjoint === "checkpoint", check };
  const solve = (field: VectorField) => solveOnGrid(field, y0, times, tableau, stepSize, scanOptions);
  if (adjoint !== "continuous") return solve(checked);
  return solveWithContinuousAdjoint(checked, y0, times, tableau, stepSize, solve);
}

/** The states at some times, with steps of a fixed size. */
function solveOnGrid(
  f: VectorField,
  y0: Tensor,
  times: Float64Array,
  tableau: ButcherTableau,
  stepSize: number | undefined,
  { check, ...options }: ScanOptions & { check: boolean },
): Tensor {
  const { dtype } = y0;
  const grid = stepTimes(times, stepSize);
  const steps = {
    t: tensor(grid.slice(0, -1), { dtype }),
    dt: tensor(Float64Array.from(grid.subarray(1), (end, i) => end - grid[i]), { dtype }),
  };
  const endOnly = times.length === 2;
  const [final, states] = scan(
    (y: Tensor, step: typeof steps) => {
      const next = rungeKuttaStep(tableau, f, step.t, step.dt, y);
      return [next, endOnly && !check ? [] : next];
    },
    y0,
    steps,
    options,
  );
  if (check) checkStates(states as Tensor, grid.subarray(1));
  if (endOnly) return stack([y0, final]);

  const all = concatenate([y0.expandDims(0), states as Tensor]);
  const places = locateInSteps(times, grid);
  const rows = (numbers: number[]) => all.gather(tensor(numbers, { dtype: "int32" }));
  if (places.every(({ fraction }) => fraction === 0 || fraction === 1)) {
    return rows(places.map(({ step, fraction }) => step + fraction));
  }
  const fractions = tensor(places.map(({ fraction }) => fraction), { dtype })
    .reshape([-1, ...y0.shape.map(() => 1)]);
  const [before, after] = [0, 1].map((shift) => rows(places.map(({ step }) => step + shift)));
  return before.mul(fractions.neg().add(1)).add(after.mul(fractions));
}
