/** Solves in steps of given lengths. */
import { scan, type ScanOptions, scanOptionsOf } from "../../compile/loop/scan.ts";
import { tensor } from "../../tensor/creation.ts";
import { concatenate, stack } from "../../tensor/functions.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { type AdamsMethod, solveByAdams } from "./adams.ts";
import type { SolveStatistics } from "../adaptive/adaptive.ts";
import { checkStates } from "../divergence.ts";
import type { StatePlace } from "../packed_state.ts";
import { locateInSteps, since } from "./step_times.ts";
import { type ReversibleMethod, solveReversibly } from "../adjoints/reversible.ts";
import type { Tolerances } from "../adaptive/step_control.ts";
import { rungeKuttaStep, type VectorField } from "../runge_kutta.ts";
import type { ButcherTableau } from "../tableaus.ts";

/** Options of a solve on a grid. */
interface GridOptions extends ScanOptions, Tolerances {
  /** The time that all others count from. */
  readonly origin: number;
  readonly check: boolean | readonly string[];
  /** The place of an element, from its position in the state. */
  readonly locate: (position: number) => StatePlace;
  /** Whether a gradient undoes the steps. */
  readonly backwards: boolean;
  readonly coupling?: number;
  readonly statistics?: SolveStatistics;
}

/** The states at some times, in steps between the points of a grid. */
export function solveOnGrid(
  f: VectorField,
  y0: Tensor,
  times: Float64Array,
  grid: Float64Array,
  method: ButcherTableau | AdamsMethod | ReversibleMethod,
  { origin, statistics, ...options }: GridOptions,
): Tensor {
  const { dtype } = y0;
  const everyStep = Boolean(options.check) || times.length > 2;
  const { states, final, evaluations } = method.kind === "adams"
    ? solveByAdams(method, f, y0, grid, options, options)
    : method.kind === "reversible"
    ? solveReversibly(method, f, y0, grid, everyStep, options)
    : solveByRungeKutta(method, f, y0, grid, everyStep, options);
  if (statistics) Object.assign(statistics, { steps: grid.length - 1, rejected: 0, evaluations });
  const { check, locate } = options;
  if (check) {
    checkStates(states!, since(grid.subarray(1), -origin), locate, check === true ? undefined : check);
  }
  if (times.length === 2) return stack([y0, final]);

  const all = concatenate([y0.expandDims(0), states!]);
  const places = locateInSteps(times, grid);
  const rows = (numbers: number[]) => all.take(tensor(numbers, { dtype: "int32" }));
  if (places.every(({ fraction }) => fraction === 0 || fraction === 1)) {
    return rows(places.map(({ step, fraction }) => step + fraction));
  }
  const fractions = tensor(places.map(({ fraction }) => fraction), { dtype })
    .reshape([-1, ...y0.shape.map(() => 1)]);
  const [before, after] = [0, 1].map((shift) => rows(places.map(({ step }) => step + shift)));
  return before.mul(fractions.neg().add(1)).add(after.mul(fractions));
}

/** The last state on a grid and, where they are wanted, the states after all steps. */
function solveByRungeKutta(
  tableau: ButcherTableau,
  f: VectorField,
  y0: Tensor,
  grid: Float64Array,
  everyStep: boolean,
  options: ScanOptions,
): { final: Tensor; states?: Tensor; evaluations: number } {
  const { dtype } = y0;
  // One memory, so that a compiled loop sees that a step ends where the next begins.
  const points = tensor(grid, { dtype });
  const rows = {
    t: points.slice(0, 0, -1),
    end: points.slice(0, 1),
    dt: tensor(Float64Array.from(grid.subarray(1), (end, i) => end - grid[i]), { dtype }),
  };
  const [final, states] = scan(
    (y: Tensor, { t, end, dt }: typeof rows) => {
      const next = rungeKuttaStep(tableau, f, t, dt, y, f(t, y), end);
      return [next, { states: everyStep ? next : undefined }];
    },
    y0,
    rows,
    scanOptionsOf(options),
  );
  return { final, ...states, evaluations: (grid.length - 1) * tableau.b.length };
}
