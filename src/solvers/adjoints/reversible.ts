/**
 * Methods whose steps can be undone: a second state runs beside the first, and both of a step's start can be computed from
 * those of its end. The gradient needs no states kept, and is that of the discrete solution.
 */
import { Loop, type TracedFunction } from "../../compile/loop/loop.ts";
import { scan, type ScanOptions, scanOptionsOf } from "../../compile/loop/scan.ts";
import { tensor } from "../../tensor/creation.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { treeMap } from "../../tensor/tree.ts";
import {
  addGradients,
  type AdjointSolution,
  type GradientSums,
  memoryAhead,
  solveThereAndBack,
} from "./adjoint.ts";
import type { VectorField } from "../runge_kutta.ts";
import type { RungeKutta } from "../tableaus.ts";

/** The state and the one beside it; or their gradients. */
export type Pair = { readonly y: Tensor; readonly other: Tensor };

/** Start, end and length of a step. */
type StepTimes = { readonly start: Tensor; readonly end: Tensor; readonly dt: Tensor };

/** A vector field and its gradient. */
interface FieldWithGradient {
  readonly slope: VectorField;
  /** The gradient of `y` through f(t, y), given that of the slope. Those of what the field closes over are summed up. */
  readonly pull: (t: Tensor, y: Tensor, gradient: Tensor) => Tensor;
}

/** A method whose steps can be undone. What runs from step to step is a pair and what else the method needs. */
export interface ReversibleMethod {
  readonly kind: "reversible";
  readonly name: string;
  readonly order: number;
  /** The method that solves the adjoint equation where the continuous adjoint is asked for. */
  readonly base: RungeKutta;
  readonly evaluations: (steps: number) => number;
  /** The pair before the first step, whose states are the same. */
  readonly begin: (f: VectorField, t: Tensor, y: Tensor) => Pair;
  readonly step: (f: VectorField, times: StepTimes, before: Pair, coupling: number) => Pair;
  /** The pair before a step and its gradient, from those after it. */
  readonly undo: (
    field: FieldWithGradient,
    times: StepTimes,
    after: Pair,
    gradient: Pair,
    coupling: number,
  ) => { before: Pair; gradient: Pair };
}

/** The default coupling, and the largest growth of rounding errors when all steps are undone, as a power of e. */
const [defaultCoupling, growth] = [0.999, 4];

/**
 * A coupling of the two states: McCallum and Foster's 0.999, or as much nearer to one as more than 4000 steps need. Errors
 * grow by its inverse in each step that is undone.
 */
function couplingFor(steps: number): number {
  return Math.max(defaultCoupling, 1 - growth / steps);
}

/** Options of a solve by a reversible method. */
interface ReversibleOptions extends ScanOptions {
  /** Whether the gradient reconstructs the states instead of keeping them. */
  readonly backwards: boolean;
  /** Between 0 and 1, 1 included; one that suits the number of steps when left out. */
  readonly coupling?: number;
}

/** The result of a solve: the last pair, and the states after all steps where they are wanted. */
interface Solved {
  readonly final: Tensor;
  readonly other: Tensor;
  readonly states?: Tensor;
}

/** Solves on a grid. */
export function solveReversibly(
  method: ReversibleMethod,
  f: VectorField,
  y0: Tensor,
  grid: Float64Array,
  everyStep: boolean,
  { backwards, coupling = couplingFor(grid.length - 1), ...options }: ReversibleOptions,
): { final: Tensor; states?: Tensor; evaluations: number } {
  const evaluations = method.evaluations(grid.length - 1);
  const solve = (f: VectorField) => solveForwards(method, f, y0, grid, coupling, everyStep, options);
  if (!backwards) return { ...solve(f), evaluations };
  const solution = solveThereAndBack(
    f,
    y0,
    solve,
    ({ final, states }) => states ? [final, states] : [final],
    (field, { final: y, other }, [atEnd, everywhere], constants) =>
      reverseSteps(method, field, { y, other }, grid, coupling, { atEnd, everywhere }, constants, options),
    true,
  );
  return { ...solution, evaluations };
}

function rowsOf(grid: Float64Array, dtype: Tensor["dtype"]): StepTimes {
  return {
    start: tensor(grid.slice(0, -1), { dtype }),
    end: tensor(grid.slice(1), { dtype }),
    dt: tensor(Float64Array.from(grid.subarray(1), (end, i) => end - grid[i]), { dtype }),
  };
}

function solveForwards(
  method: ReversibleMethod,
  f: VectorField,
  y0: Tensor,
  grid: Float64Array,
  coupling: number,
  everyStep: boolean,
  options: ScanOptions,
): Solved {
  const [{ y, other }, outputs] = scan(
    (pair: Pair, times: StepTimes) => {
      const next = method.step(f, times, pair, coupling);
      return [next, { states: everyStep ? next.y : undefined }];
    },
    method.begin(f, tensor(grid[0], { dtype: y0.dtype }), y0),
    rowsOf(grid, y0.dtype),
    scanOptionsOf(options),
  );
  return { final: y, other, ...outputs };
}

/** The gradient at the start, and those of constants: every step undone from the last to the first, with its gradient. */
function reverseSteps(
  method: ReversibleMethod,
  field: TracedFunction,
  last: Pair,
  grid: Float64Array,
  coupling: number,
  { atEnd, everywhere }: { atEnd: Tensor | undefined; everywhere: Tensor | undefined },
  constants: readonly Tensor[],
  { compile }: ScanOptions,
): AdjointSolution {
  const reversed = treeMap(
    { ...rowsOf(grid, last.y.dtype), arriving: everywhere ? [everywhere] : [] },
    (x) => x.flip(0),
  );
  let sums: GradientSums = [];
  const withGradient: FieldWithGradient = {
    slope: (t, y) => field.call(t, y),
    pull(t, y, cotangent) {
      // Equal operations are one node: the slope's are not computed again.
      const { gradient = y.zerosLike(), ofConstants } = field.pull([t, y], cotangent, 1, constants);
      sums = addGradients(sums, ofConstants);
      return gradient;
    },
  };
  const body = (
    { y, other, ofY, ofOther }: Record<string, Tensor>,
    { arriving, ...times }: typeof reversed,
  ) => {
    sums = [];
    const arrived = arriving.reduce((sum: Tensor, own: Tensor) => sum.add(own), ofY);
    const { before, gradient } = method.undo(
      withGradient,
      times,
      { y, other },
      { y: arrived, other: ofOther },
      coupling,
    );
    return {
      carry: { y: before.y, other: before.other, ofY: gradient.y, ofOther: gradient.other },
      sums: constants.map((x, i) => sums[i] ?? x.zerosLike()),
    };
  };
  const none = last.y.zerosLike();
  const initial: Record<string, Tensor> = { y: last.y, other: last.other, ofY: atEnd ?? none, ofOther: none };
  const loop = new Loop(body, initial, reversed, {
    compile,
    memory: memoryAhead,
    gradients: ({ ofY, ofOther }, { arriving }) => [ofY, ofOther, ...arriving],
    keepsProducts: false,
  });
  const { carry: { ofY, ofOther }, sums: totals } = loop.run(initial, grid.length - 1);
  return { a: ofY.add(ofOther), sums: totals };
}
