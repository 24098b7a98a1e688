import { scan } from "../compile/scan.ts";
import { formatShape, sameShape, ShapeError } from "../device/shape.ts";
import { tensor } from "../tensor/creation.ts";
import { concatenate, stack } from "../tensor/functions.ts";
import { hostTimes } from "../tensor/host.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { checkOutputTimes, locateInSteps, stepTimes } from "./grid.ts";
import { methodNamed } from "./methods.ts";
import { rungeKuttaStep, type VectorField } from "./tableau.ts";

/** How a differential equation is solved. */
export interface SolveOptions {
  /** `"rk4"` (the 3/8 rule) by default. */
  method?: string;
  /** The length of a step, in units of time; without it one step leads from each output time to the next. */
  stepSize?: number;
}

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
  const { method = "rk4", stepSize } = options;
  const tableau = methodNamed(method);
  const times = hostTimes(t, "odeint: t");
  checkOutputTimes(times, "odeint");
  const grid = stepTimes(times, stepSize);
  const { dtype } = y0;
  const steps = {
    t: tensor(grid.slice(0, -1), { dtype }),
    dt: tensor(Float64Array.from(grid.subarray(1), (end, i) => end - grid[i]), { dtype }),
  };
  const checked: VectorField = (time, y) => {
    const slope = f(time, y);
    if (!sameShape(slope.shape, y.shape)) {
      throw new ShapeError(
        `odeint: the vector field returned ${formatShape(slope.shape)} for a state of ${
          formatShape(y.shape)
        }; ` +
          "they must have one shape",
      );
    }
    return slope;
  };
  const endOnly = times.length === 2;
  const [final, states] = scan(
    (y: Tensor, step: typeof steps) => {
      const next = rungeKuttaStep(tableau, checked, step.t, step.dt, y);
      return [next, endOnly ? [] : next];
    },
    y0,
    steps,
  );
  if (endOnly) return stack([y0, final]);

  const all = concatenate([y0.expandDims(0), states as Tensor]);
  const places = locateInSteps(times, grid);
  const rows = (shift: number) =>
    all.gather(tensor(places.map(({ step }) => step + shift), { dtype: "int32" }));
  if (places.every(({ fraction }) => fraction === 0 || fraction === 1)) {
    return all.gather(tensor(places.map(({ step, fraction }) => step + fraction), { dtype: "int32" }));
  }
  const fractions = tensor(places.map(({ fraction }) => fraction), { dtype }).reshape([
    -1,
    ...y0.shape.map(() => 1),
  ]);
  return rows(0).mul(fractions.neg().add(1)).add(rows(1).mul(fractions));
}
