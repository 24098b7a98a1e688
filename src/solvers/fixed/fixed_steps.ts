/** Solves with fixed steps. */
import { scan, type ScanOptions, scanOptionsOf } from "../../compile/loop/scan.ts";
import { tensor } from "../../tensor/creation.ts";
import { concatenate, stack } from "../../tensor/functions.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { type AdamsMethod, solveByAdams } from "./adams.ts";
import type { SolveStatistics } from "../adaptive/adaptive.ts";
import { checkStates } from "../divergence.ts";
import type { StatePlace } from "../packed_state.ts";
import { locateInSteps, shiftTimes } from "./step_times.ts";
import { type ReversibleMethod, solveReversibly } from "../adjoints/reversible.ts";
import type { Tolerances } from "../control/tolerances.ts";
import { rungeKuttaStep, type VectorField } from "../runge_kutta.ts";
import type { ButcherTableau } from "../tableaus.ts";

/** Options of a solve with fixed steps. */
interface GridOptions extends ScanOptions, Tolerances {
  /** The origin of all other times. */
  readonly origin: number;
  readonly check: boolean | readonly string[];
  /** The place of an element, from its position in the state. */
  readonly locate: (position: number) => StatePlace;
  /** Whether gradients reconstruct the states backwards. */
  readonly backwards: boolean;
  readonly coupling?: number;
  readonly statistics?: SolveStatistics;
}

/** The states at the output times, with steps between grid points. */
export function solveFixedSteps(
  f: VectorField,
  y0: Tensor,
  times: Float64Array,
  grid: Float64Array,
  method: ButcherTableau | AdamsMethod | ReversibleMethod,
  { origin, statistics, ...options }: GridOptions,
): Tensor {
  const keepsStates = Boolean(options.check) || times.length > 2;
  const { states, final, evaluations } = method.kind === "adams"
    ? solveByAdams(method, f, y0, grid, options, options)
    : method.kind === "reversible"
    ? solveReversibly(method, f, y0, grid, keepsStates, options)
    : solveByRungeKutta(method, f, y0, grid, keepsStates, options);
  if (statistics) Object.assign(statistics, { steps: grid.length - 1, rejected: 0, evaluations });
  const { check, locate } = options;
  if (check) {
    checkStates(states!, shiftTimes(grid.subarray(1), -origin), locate, check === true ? undefined : check);
  }
  return statesAt(times, grid, y0, final, states);
}

/**
 * The states at the output times, interpolated linearly within steps.
 *
 * @param states The states after all steps. Only needed for more than two times.
 */
export function statesAt(
  times: Float64Array,
  grid: Float64Array,
  y0: Tensor,
  final: Tensor,
  states: Tensor | undefined,
): Tensor {
  if (times.length === 2) return stack([y0, final]);

  const all = concatenate([y0.expandDims(0), states!]);
  const locations = locateInSteps(times, grid);
  const rows = (numbers: number[]) => all.take(tensor(numbers, { dtype: "int32" }));
  if (locations.every(({ fraction }) => fraction === 0 || fraction === 1)) {
    return rows(locations.map(({ step, fraction }) => step + fraction));
  }
  const fractions = tensor(locations.map(({ fraction }) => fraction), { dtype: y0.dtype })
    .reshape([-1, ...y0.shape.map(() => 1)]);
  const [before, after] = [0, 1].map((shift) => rows(locations.map(({ step }) => step + shift)));
  return before.mul(fractions.neg().add(1)).add(after.mul(fractions));
}

/** The last state and, if needed, the states after all steps. */
function solveByRungeKutta(
  tableau: ButcherTableau,
  f: VectorField,
  y0: Tensor,
  grid: Float64Array,
  keepsStates: boolean,
  options: ScanOptions,
): { final: Tensor; states?: Tensor; evaluations: number } {
  const { dtype } = y0;
  // Slices of one tensor: a compiled loop can then see that each step starts at the end of the previous one.
  const points = tensor(grid, { dtype });
  const rows = {
    t: points.slice(0, 0, -1),
    end: points.slice(0, 1),
    dt: tensor(Float64Array.from(grid.subarray(1), (end, i) => end - grid[i]), { dtype }),
  };
  const [final, states] = scan(
    (y: Tensor, { t, end, dt }: typeof rows) => {
      const next = rungeKuttaStep(tableau, f, t, dt, y, f(t, y), end);
      return [next, { states: keepsStates ? next : undefined }];
    },
    y0,
    rows,
    scanOptionsOf(options),
  );
  return { final, ...states, evaluations: (grid.length - 1) * tableau.b.length };
}
