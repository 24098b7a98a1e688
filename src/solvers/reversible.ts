/**
 * Methods whose steps can be undone: a second state runs beside the first, and both of a step's start can be computed from
 * those of its end. The gradient needs no states kept, and is that of the discrete solution.
 */
import { GraphTrace, type Node } from "../compile/graph.ts";
import { reverse } from "../compile/gradient.ts";
import { scan, type ScanOptions } from "../compile/scan.ts";
import type { Stepwise } from "../compile/vectorize.ts";
import { tensor } from "../tensor/creation.ts";
import { record, withoutRecording } from "../tensor/primitive.ts";
import { scope } from "../tensor/scope.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { type FieldGraph, runBackwards, traceField, valuesAt } from "./adjoint.ts";
import type { RungeKutta, VectorField } from "./tableau.ts";

/** The state and the one beside it; or their gradients. */
export interface Pair {
  readonly y: Tensor;
  readonly other: Tensor;
}

/** When a step begins and ends, and how long it is. */
export interface StepTimes {
  readonly start: Tensor;
  readonly end: Tensor;
  readonly dt: Tensor;
}

/** A vector field and its gradient. */
export interface FieldWithGradient {
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
  /** What runs before the first step. The other state is the same as the first. */
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

/** The usual coupling; and by how much, as a power of e, rounding errors may grow when all steps are undone. */
const [usualCoupling, growth] = [0.999, 4];

/**
 * A coupling of the two states: McCallum and Foster's 0.999, or as much nearer to one as more than 4000 steps need. Errors
 * grow by its inverse in each step that is undone.
 */
function couplingFor(steps: number): number {
  return Math.max(usualCoupling, 1 - growth / steps);
}

/** How a reversible method solves. */
interface ReversibleOptions extends ScanOptions {
  /** Whether the gradient reconstructs the states instead of keeping them. */
  readonly backwards: boolean;
  /** Between 0 and 1, 1 included; one that suits the number of steps when left out. */
  readonly coupling?: number;
}

/** What a solve leaves: the last pair, and the states after all steps where they are wanted. */
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
  const field = traceField(f, y0);
  const { final, other, states } = withoutRecording(() =>
    scope(() => solve((t, y) => valuesAt(field, t, y).get(field.slope)!))
  );
  record(
    [y0, ...field.constants.map(({ tensor }) => tensor)],
    states ? [final, states] : [final],
    ([atEnd, everywhere], wanted) => {
      const constants = field.constants.filter((_, i) => wanted[1 + i]).map(({ node }) => node);
      const last = { y: final, other };
      const arriving = { atEnd, everywhere };
      const { start, sums } = reverseSteps(method, field, last, grid, coupling, arriving, constants);
      return [start, ...field.constants.map(({ node }) => sums.get(node))];
    },
  );
  return { final, states, evaluations };
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
    (pair: { y: Tensor; other: Tensor }, times: { start: Tensor; end: Tensor; dt: Tensor }) => {
      const next = method.step(f, times, pair, coupling);
      return [{ ...next }, { states: everyStep ? next.y : undefined }];
    },
    { ...method.begin(f, tensor(grid[0], { dtype: y0.dtype }), y0) },
    { ...rowsOf(grid, y0.dtype) },
    options,
  );
  return { final: y, other, ...outputs };
}

/** The gradient at the start, and those of constants: every step undone from the last to the first, with its gradient. */
function reverseSteps(
  method: ReversibleMethod,
  field: FieldGraph,
  last: Pair,
  grid: Float64Array,
  coupling: number,
  { atEnd, everywhere }: { atEnd: Tensor | undefined; everywhere: Tensor | undefined },
  constants: readonly Node[],
): { start: Tensor; sums: Map<Node, Tensor | undefined> } {
  const trace = new GraphTrace();
  const stepwise = new Map<Node, Stepwise>();
  const row = (values: Tensor) => {
    const input = trace.input({ shape: values.shape.slice(1), dtype: values.dtype });
    stepwise.set(input.node, { tensor: values.flip(0), varies: true });
    return input;
  };
  const times = rowsOf(grid, last.y.dtype);
  const [start, end, dt] = [times.start, times.end, times.dt].map((values) => row(values).tensor);
  const [y, other, ay, aother] = Array.from({ length: 4 }, () => trace.input(last.y));
  const gradients = new Set<Node>([ay.node, aother.node]);
  let arrived = ay.tensor;
  if (everywhere) {
    const arriving = row(everywhere);
    gradients.add(arriving.node);
    arrived = arrived.add(arriving.tensor);
  }

  const sums = new Map<Node, Tensor>();
  const withGradient: FieldWithGradient = {
    slope: (t, y) => valuesAt(field, t, y).get(field.slope)!,
    pull(t, y, gradient) {
      // What was computed for the slope is not computed again: equal operations are one node.
      const values = valuesAt(field, t, y);
      const cotangents = new Map<Node, Tensor>([[field.slope, gradient]]);
      reverse(field.body, values, cotangents, new Set([field.y, ...constants]));
      for (const node of constants) {
        const [before, own] = [sums.get(node), cotangents.get(node)];
        if (own) sums.set(node, before ? before.add(own) : own);
      }
      return cotangents.get(field.y) ?? y.zerosLike();
    },
  };
  const { before, gradient } = method.undo(
    withGradient,
    { start, end, dt },
    { y: y.tensor, other: other.tensor },
    { y: arrived, other: aother.tensor },
    coupling,
  );
  const summed = [...sums.keys()];
  const nodes = {
    state: [y, other, ay, aother].map(({ node }) => node),
    next: [before.y, before.other, gradient.y, gradient.other].map((x) => trace.nodeOf(x)),
    outputs: [],
    sums: summed.map((node) => trace.nodeOf(sums.get(node)!)),
  };
  const none = last.y.zerosLike();
  const initial = [last.y, last.other, atEnd ?? none, none];
  const { finals, sums: totals } = runBackwards(nodes, initial, {
    stepwise,
    steps: grid.length - 1,
    gradients,
  });
  return { start: finals[2].add(finals[3]), sums: new Map(summed.map((node, i) => [node, totals[i]])) };
}
