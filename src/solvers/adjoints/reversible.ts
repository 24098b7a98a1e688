/**
 * Reversible methods. A second state runs beside the state, and both can be reconstructed from their values at the end of a step. The
 * gradient of the discrete solution then needs no stored states.
 */
import { Loop, type TracedFunction } from "../../compile/loop/loop.ts";
import { scan, type ScanOptions, scanOptionsOf } from "../../compile/loop/scan.ts";
import { tensor } from "../../tensor/creation.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { treeMap } from "../../tensor/tree.ts";
import { addGradients, type AdjointSolution, type GradientSums, solveWithAdjoint } from "./adjoint.ts";
import type { VectorField } from "../runge_kutta.ts";
import type { RungeKutta } from "../tableaus.ts";

/** The state and the second state, or their gradients. */
export type Pair = { readonly y: Tensor; readonly other: Tensor };

/** Start, end and size of a step. A stochastic equation has the number of the step or its Brownian increments, too. */
export type StepTimes = {
  readonly start: Tensor;
  readonly end: Tensor;
  readonly dt: Tensor;
  readonly noise?: Tensor;
};

/** A vector field and its gradient. */
interface FieldWithGradient {
  readonly slope: VectorField;
  /** The gradient of `y` through f(t, y), from the cotangent of the slope. Gradients of the constants of f are summed. */
  readonly pull: (t: Tensor, y: Tensor, gradient: Tensor) => Tensor;
}

/** A reversible method. The loop carries a pair, and values that the method adds to it. */
export interface ReversibleMethod {
  readonly kind: "reversible";
  readonly name: string;
  readonly order: number;
  /** The method that solves the adjoint equation for the continuous adjoint. */
  readonly base: RungeKutta;
  readonly evaluations: (steps: number) => number;
  /** The pair before the first step. Both states are equal. */
  readonly begin: (f: VectorField, t: Tensor, y: Tensor) => Pair;
  readonly step: (f: VectorField, times: StepTimes, before: Pair, coupling: number) => Pair;
  /** The pair before a step and its gradient, from the pair after the step and its gradient. */
  readonly undo: (
    field: FieldWithGradient,
    times: StepTimes,
    after: Pair,
    gradient: Pair,
    coupling: number,
  ) => { before: Pair; gradient: Pair };
}

/** The default coupling, and the logarithm of the largest growth of rounding errors in a backward reconstruction. */
const [defaultCoupling, maxGrowth] = [0.999, 4];

/**
 * The coupling of McCallum and Foster, 0.999, or a larger one for more than 4000 steps: the reconstruction of each step multiplies
 * rounding errors by its inverse.
 */
function couplingFor(steps: number): number {
  return Math.max(defaultCoupling, 1 - maxGrowth / steps);
}

/** Options of a solve by a reversible method. */
interface ReversibleOptions extends ScanOptions {
  /** Whether gradients reconstruct states instead of storing them. */
  readonly backwards: boolean;
  /** Above 0, and at most 1. By default chosen from the number of steps. */
  readonly coupling?: number;
  /** {@linkcode StepTimes.noise} of all steps, along the first axis. */
  readonly noise?: Tensor;
}

/** Both states of the pair at the end and, if needed, the state after each step. */
interface Solved {
  readonly final: Tensor;
  readonly other: Tensor;
  readonly states?: Tensor;
}

/** Solves with steps between grid points. */
export function solveReversibly(
  method: ReversibleMethod,
  f: VectorField,
  y0: Tensor,
  grid: Float64Array,
  keepsStates: boolean,
  { backwards, coupling = couplingFor(grid.length - 1), noise, ...options }: ReversibleOptions,
): { final: Tensor; states?: Tensor; evaluations: number } {
  const evaluations = method.evaluations(grid.length - 1);
  const rows = { ...rowsOf(grid, y0.dtype), noise };
  const solve = (f: VectorField) =>
    solveForwards(method, f, y0, grid[0], rows, coupling, keepsStates, options);
  if (!backwards) return { ...solve(f), evaluations };
  const solution = solveWithAdjoint(
    f,
    y0,
    solve,
    ({ final, states }) => states ? [final, states] : [final],
    (field, { final: y, other }, [atEnd, everywhere], constants) =>
      reverseSteps(method, field, { y, other }, rows, coupling, { atEnd, everywhere }, constants, options),
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
  start: number,
  rows: StepTimes,
  coupling: number,
  keepsStates: boolean,
  options: ScanOptions,
): Solved {
  const [{ y, other }, outputs] = scan(
    (pair: Pair, times: StepTimes) => {
      const next = method.step(f, times, pair, coupling);
      return [next, { states: keepsStates ? next.y : undefined }];
    },
    method.begin(f, tensor(start, { dtype: y0.dtype }), y0),
    rows,
    scanOptionsOf(options),
  );
  return { final: y, other, ...outputs };
}

/** The gradients of the first state and of constants: reconstructs each step, from the last to the first, with its gradient. */
function reverseSteps(
  method: ReversibleMethod,
  field: TracedFunction,
  last: Pair,
  rows: StepTimes,
  coupling: number,
  { atEnd, everywhere }: { atEnd: Tensor | undefined; everywhere: Tensor | undefined },
  constants: readonly Tensor[],
  { compile }: ScanOptions,
): AdjointSolution {
  const reversed = treeMap(
    { ...rows, cotangents: everywhere ? [everywhere] : [] },
    (x) => x.flip(0),
  );
  let sums: GradientSums = [];
  const withGradient: FieldWithGradient = {
    slope: (t, y) => field.call(t, y),
    pull(t, y, cotangent) {
      // The trace shares equal operations, so the slope is not computed twice.
      const { gradient = y.zerosLike(), ofConstants } = field.pull([t, y], cotangent, 1, constants);
      sums = addGradients(sums, ofConstants);
      return gradient;
    },
  };
  const body = (
    { y, other, ofY, ofOther }: Record<string, Tensor>,
    { cotangents, ...times }: typeof reversed,
  ) => {
    sums = [];
    const ofNext = cotangents.reduce((sum: Tensor, x: Tensor) => sum.add(x), ofY);
    const { before, gradient } = method.undo(
      withGradient,
      times,
      { y, other },
      { y: ofNext, other: ofOther },
      coupling,
    );
    return {
      carry: { y: before.y, other: before.other, ofY: gradient.y, ofOther: gradient.other },
      sums: constants.map((x, i) => sums[i] ?? x.zerosLike()),
    };
  };
  const zero = last.y.zerosLike();
  const initial: Record<string, Tensor> = { y: last.y, other: last.other, ofY: atEnd ?? zero, ofOther: zero };
  const loop = new Loop(body, initial, reversed, {
    compile,
    memory: "constant",
    gradients: ({ ofY, ofOther }, { cotangents }) => [ofY, ofOther, ...cotangents],
    keepsProducts: false,
  });
  const { carry: { ofY, ofOther }, sums: totals } = loop.run(initial, rows.dt.shape[0]);
  return { a: ofY.add(ofOther), sums: totals };
}
