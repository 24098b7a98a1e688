/**
 * The continuous adjoint: gradients by solving a second differential equation backwards in time, beside the state's own.
 * (Chen et al., "Neural Ordinary Differential Equations", 2018, appendix B; Kidger et al., 2020, section 3.2.) Memory does
 * not depend on the number of steps. The gradient is that of the equation, not of its discrete solution, so it is exact in
 * the limit of small steps only.
 */
import { executorOf } from "../compile/scan.ts";
import { evaluate, GraphTrace, type Node, topological } from "../compile/graph.ts";
import { reverse } from "../compile/gradient.ts";
import {
  batchOf,
  type GraphLoop,
  isProductOfSamples,
  type LoopNodes,
  type LoopResult,
  makeLoop,
  runLoop,
  runLoopStepByStep,
} from "../compile/loop.ts";
import { segmentLength } from "../compile/segments.ts";
import { Uncompilable, warnOnce } from "../compile/uncompilable.ts";
import type { Stepwise } from "../compile/vectorize.ts";
import { isFloat } from "../device/dtype.ts";
import { tensor } from "../tensor/creation.ts";
import { concatenate } from "../tensor/functions.ts";
import { record, withoutRecording } from "../tensor/primitive.ts";
import { scope, scopeUntil } from "../tensor/scope.ts";
import type { Tensor } from "../tensor/tensor.ts";
import type { Tree } from "../tensor/tree.ts";
import { solveParts } from "./adaptive.ts";
import type { AdaptiveOptions } from "./adaptive_search.ts";
import type { AdaptiveMethod, PartsField } from "./embedded.ts";
import { type StepChoice, stepTimes } from "./grid.ts";
import { combine, type RungeKutta, type VectorField } from "./tableau.ts";

/** A vector field as a graph, and what it closes over. */
export interface FieldGraph {
  readonly t: Node;
  readonly y: Node;
  readonly slope: Node;
  readonly body: ReturnType<typeof operationsOf>;
  readonly constants: readonly { node: Node; tensor: Tensor }[];
  /** Whether the slope depends on the time. */
  readonly usesTime: boolean;
}

function operationsOf(slope: Node) {
  return topological([slope]).filter((node) => node.kind === "operation");
}

/** Traces a vector field. */
export function traceField(f: VectorField, y0: Tensor): FieldGraph {
  const trace = new GraphTrace();
  const [t, y] = [trace.input({ shape: [], dtype: y0.dtype }), trace.input(y0)];
  const slope = trace.nodeOf(f(t.tensor, y.tensor));
  const nodes = topological([slope]);
  const constants = nodes.flatMap((node) =>
    node.kind === "constant" && isFloat(node.dtype) ? [{ node, tensor: node.tensor }] : []
  );
  const usesTime = nodes.includes(t.node);
  return { t: t.node, y: y.node, slope, body: operationsOf(slope), constants, usesTime };
}

/** The field's values at (t, y), by node. */
export function valuesAt({ t, y, slope }: FieldGraph, time: Tensor, state: Tensor): Map<Node, Tensor> {
  const values = new Map<Node, Tensor>([[t, time], [y, state]]);
  evaluate(topological([slope], values), values);
  return values;
}

/** What a solve of the adjoint equation is given: the field, the states at the output times and their gradient. */
type Given = [field: FieldGraph, states: Tensor, cotangent: Tensor, constants: readonly Node[]];

/** The adjoint at the first time, and the gradients of constants, none where they are zero. */
interface AdjointSolution {
  readonly a: Tensor;
  readonly sums: ReadonlyMap<Node, Tensor | undefined>;
}

/**
 * Solves an equation so that its gradient is the continuous adjoint's.
 *
 * @param solve Solves with a vector field: the states at the output times, `(times, ...)`.
 * @param backwards Solves the adjoint equation.
 */
export function solveWithContinuousAdjoint(
  f: VectorField,
  y0: Tensor,
  solve: (f: VectorField) => Tensor,
  backwards: (...given: Given) => AdjointSolution,
): Tensor {
  const field = traceField(f, y0);
  const states = withoutRecording(() =>
    scope(() => solve((t, y) => valuesAt(field, t, y).get(field.slope)!))
  );
  record([y0, ...field.constants.map(({ tensor }) => tensor)], [states], ([cotangent], wanted) => {
    const constants = field.constants.filter((_, i) => wanted[1 + i]).map(({ node }) => node);
    const { a, sums } = backwards(field, states, cotangent!, constants);
    return [a, ...field.constants.map(({ node }) => sums.get(node))];
  });
  return states;
}

/** Solves the adjoint equation with an adaptive method; the errors of the constants' gradients do not count. */
export function solveBackwardsAdaptively(
  tableau: AdaptiveMethod,
  times: Float64Array,
  options: AdaptiveOptions,
  ...[field, states, cotangent, constants]: Given
): AdjointSolution {
  const augmented: PartsField = (t, [y, a]) => {
    const values = valuesAt(field, t, y);
    const cotangents = new Map<Node, Tensor>([[field.slope, a.neg()]]);
    reverse(field.body, values, cotangents, new Set([field.y, ...constants]));
    const gradient = (node: Node) => cotangents.get(node) ?? values.get(node)!.zerosLike();
    return [values.get(field.slope)!, ...[field.y, ...constants].map(gradient)];
  };
  let a = cotangent.at(0, -1);
  let sums = constants.map((node) => valueOf(field, node).zerosLike());
  for (let i = times.length - 1; i > 0; i--) {
    const interval = [times[i], times[i - 1]] as const;
    const [, arrived, ...added] = solveParts(
      tableau,
      augmented,
      [states.at(0, i), a, ...sums],
      interval,
      options,
      2,
    );
    a = arrived.add(cotangent.at(0, i - 1));
    sums = added;
  }
  return { a, sums: new Map(constants.map((node, i) => [node, sums[i]])) };
}

function valueOf({ constants }: FieldGraph, node: Node): Tensor {
  return constants.find((constant) => constant.node === node)!.tensor;
}

/** Solves the adjoint equation in steps of a fixed size. */
export function solveBackwardsInSteps(
  { a: weights, b, c }: RungeKutta,
  times: Float64Array,
  choice: StepChoice,
  ...[field, states, cotangent, constants]: Given
): AdjointSolution {
  const { dtype } = states;
  // From each output time back to the one before it; there the state is the solution's again, and its gradient arrives.
  const intervals = Array.from({ length: times.length - 1 }, (_, i) => {
    const later = times.length - 1 - i;
    return { later, grid: stepTimes(Float64Array.of(times[later], times[later - 1]), choice) };
  });
  const starts = intervals.flatMap(({ grid }) => [...grid.subarray(0, -1)]);
  const lengths = intervals.flatMap(({ grid }) => [...grid.subarray(1)].map((end, i) => end - grid[i]));
  const arrivals = intervals.flatMap(({ later, grid }) =>
    [...grid.subarray(1)].map((_, i) => i === 0 ? later : -1)
  );
  const steps = starts.length;
  const vector = (values: number[]) => tensor(Float64Array.from(values), { dtype });

  const trace = new GraphTrace();
  const stepwise = new Map<Node, Stepwise>();
  const row = (values: Tensor) => {
    const input = trace.input({ shape: values.shape.slice(1), dtype: values.dtype });
    stepwise.set(input.node, { tensor: values, varies: true });
    return input;
  };
  const [t, dt] = [row(vector(starts)), row(vector(lengths))];
  const last = states.at(0, -1);
  const [y, a] = [trace.input(last), trace.input(last)];
  let [state, adjoint] = [y.tensor, a.tensor];
  const gradients = new Set<Node>([a.node]);
  const many = times.length > 2;
  if (many) {
    // Row number zero of both stands for the steps at which nothing arrives.
    const at = tensor(arrivals.map((later) => later + 1), { dtype: "int32" });
    const rowsOf = (x: Tensor) => concatenate([x.slice(0, 0, 1).zerosLike(), x]).gather(at);
    const arrives = row(tensor(arrivals.map((later) => later >= 0)));
    const gradient = row(rowsOf(cotangent));
    gradients.add(gradient.node);
    state = arrives.tensor.where(row(rowsOf(states)).tensor, state);
    adjoint = adjoint.add(gradient.tensor);
  }

  const slopes: Tensor[] = [];
  const changes: Tensor[] = [];
  const sums = new Map<Node, Tensor>();
  b.forEach((share, i) => {
    const during = i === 0 ? [] : weights[i - 1];
    const time = t.tensor.add(dt.tensor.mul(c[i]));
    const [own, gradient] = [[state, slopes], [adjoint, changes]].map(([start, stages]) =>
      i === 0 ? start as Tensor : (start as Tensor).add(combine(during, stages as Tensor[]).mul(dt.tensor))
    );
    const values = valuesAt(field, time, own);
    slopes.push(values.get(field.slope)!);
    // da/dt = -a df/dy and dp/dt = -a df/dp. The second is wanted as its share of the step alone: both come from one
    // reverse pass with that share, of which the first is then relieved.
    const scale = share === 0 ? undefined : dt.tensor.mul(-share);
    const cotangents = new Map<Node, Tensor>([[field.slope, scale ? gradient.mul(scale) : gradient]]);
    reverse(field.body, values, cotangents, new Set([field.y, ...scale ? constants : []]));
    const along = cotangents.get(field.y) ?? own.zerosLike();
    changes.push(scale ? along.div(dt.tensor.mul(share)) : along.neg());
    if (!scale) return;
    for (const node of constants) {
      const [before, gradient] = [sums.get(node), cotangents.get(node)];
      if (gradient) sums.set(node, before ? before.add(gradient) : gradient);
    }
  });
  const nextState = state.add(combine(b, slopes).mul(dt.tensor));
  const nextAdjoint = adjoint.add(combine(b, changes).mul(dt.tensor));
  const summed = [...sums.keys()];
  const nodes = {
    state: [y.node, a.node],
    next: [nextState, nextAdjoint].map((x) => trace.nodeOf(x)),
    outputs: [],
    sums: summed.map((node) => trace.nodeOf(sums.get(node)!)),
  };
  const initial = [last, many ? last.zerosLike() : cotangent.at(0, -1)];
  // Gradients of projections stay where their sums over the samples can be taken.
  const result = runBackwards(nodes, initial, { stepwise, steps, gradients, fuse: true });
  return {
    a: result.finals[1].add(cotangent.at(0, 0)),
    sums: new Map(summed.map((node, i) => [node, result.sums[i]])),
  };
}

/** Bytes for what is known ahead of the steps, where memory must not grow with their number. */
export const memoryAhead: number = 2 ** 24;

/** How a loop of gradients runs. */
interface BackwardOptions {
  /** What it is given for each step. */
  readonly stepwise: ReadonlyMap<Node, Stepwise>;
  readonly steps: number;
  /** Inputs that are gradients. */
  readonly gradients: ReadonlySet<Node>;
  /** As of {@linkcode makeLoop}. */
  readonly fuse?: boolean;
}

/** Runs a loop that carries states and gradients, in segments: the last state, and the sums over all steps. */
export function runBackwards(
  nodes: Required<LoopNodes>,
  initial: readonly Tensor[],
  { stepwise, steps, gradients, fuse = false }: BackwardOptions,
): Pick<LoopResult, "finals" | "sums"> {
  let finals = initial;
  const sums: (Tensor | undefined)[] = [];
  const segment = segmentLength({ ...nodes, outputs: nodes.sums }, new Set(stepwise.keys()), steps, {
    checkpoint: false,
    memory: memoryAhead,
    stays: (node) => fuse && isProductOfSamples(node, nodes.state[0]),
  });
  let releaseLast = (_wanted: Tree) => {};
  for (let start = 0; start < steps; start += segment) {
    const count = Math.min(segment, steps - start);
    const { result, release } = scopeUntil(() => {
      const rows = new Map(
        [...stepwise].map(([node, { tensor, varies }]) =>
          [node, { tensor: varies ? tensor.slice(0, start, start + count) : tensor, varies }] as const
        ),
      );
      const loop = makeLoop(nodes, rows, count, { fuse });
      const known = new Set(gradients);
      for (const node of topological(loop.rows.keys())) {
        if (node.kind === "operation" && node.inputs.some((input) => known.has(input))) known.add(node);
      }
      const { finals: last, sums: own } = runLoopAnyhow(loop, finals, count, known);
      return {
        finals: [...last],
        sums: own.map((sum, i) => sum && sums[i] ? sums[i].add(sum) : sum ?? sums[i]),
      };
    });
    finals = result.finals;
    result.sums.forEach((sum, i) => sums[i] = sum);
    releaseLast(result);
    releaseLast = release;
  }
  return { finals, sums };
}

/** Runs a loop compiled or, where that cannot be, step by step. */
function runLoopAnyhow(
  loop: GraphLoop,
  initial: readonly Tensor[],
  steps: number,
  gradients: ReadonlySet<Node>,
): LoopResult {
  const execute = executorOf(initial);
  try {
    if (execute) {
      return runLoop(loop, initial, { steps, batch: batchOf(loop, initial, steps), execute, gradients });
    }
  } catch (error) {
    if (!(error instanceof Uncompilable)) throw error;
    warnOnce(error);
  }
  return runLoopStepByStep(loop, initial, steps);
}
