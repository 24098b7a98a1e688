/** The gradient of a loop: a loop that runs backwards, made from the same gradient rules as everything else. */
import type { Tensor } from "../tensor/tensor.ts";
import { reverse } from "./gradient.ts";
import { evaluate, GraphTrace, type Node, topological } from "./graph.ts";
import { type GraphLoop, type LoopResult, type LoopRunOptions, makeLoop, runLoop } from "./graph_loop.ts";
import { piecesOf, runPieces } from "./pieces.ts";
import type { Stepwise } from "./vectorize.ts";

/** Inputs of a loop's gradient, and what is wanted of it. */
export interface ReverseOptions extends LoopRunOptions {
  /** The states before each step, `(steps, ...)`. */
  readonly saved: readonly Tensor[];
  /** Gradients of the states after the last step. */
  readonly finals: readonly Tensor[];
  /** Gradients of the loop's outputs, `(steps, ...)`, where there are any. */
  readonly outputs: readonly (Tensor | undefined)[];
  /** Rows and constants of the loop whose gradients are wanted. */
  readonly rows: readonly Node[];
  readonly constants: readonly Node[];
}

/**
 * Gradients of a loop's first states, of rows and of constants, by node. Each step is computed again from the state saved
 * before it, and then reversed; nothing else is kept.
 */
export function reverseLoop(loop: GraphLoop, options: ReverseOptions): Map<Node, Tensor | undefined> {
  const { saved, steps } = options;
  const trace = new GraphTrace();
  const stepwise = new Map<Node, Stepwise>();
  const rowInput = (node: Node, tensor: Tensor) => {
    const input = trace.input(node);
    stepwise.set(input.node, { tensor, varies: true });
    return input;
  };
  const values = new Map<Node, Tensor>(loop.fixed);
  const held = loop.state.map((node, i) => rowInput(node, saved[i]));
  loop.state.forEach((node, i) => values.set(node, held[i].tensor));
  for (const [node, tensor] of loop.rows) values.set(node, rowInput(node, tensor).tensor);
  evaluate(topological([...loop.next, ...loop.outputs], values), values);

  const cotangents = new Map<Node, Tensor>();
  const arrive = (node: Node, gradient: Tensor) => {
    const before = cotangents.get(node);
    cotangents.set(node, before ? before.add(gradient) : gradient);
  };
  const arriving = loop.next.map((node) => trace.input(node));
  loop.next.forEach((node, i) => arrive(node, arriving[i].tensor));
  const gradients = new Set<Node>(arriving.map(({ node }) => node));
  loop.outputs.forEach((node, i) => {
    const gradient = options.outputs[i];
    if (!gradient) return;
    const input = rowInput(node, gradient);
    gradients.add(input.node);
    arrive(node, input.tensor);
  });
  reverse(loop.body, values, cotangents, new Set([...loop.state, ...options.rows, ...options.constants]));

  const [rows, constants] = [options.rows, options.constants].map((list) =>
    list.filter((node) => cotangents.has(node))
  );
  const nodeOf = (node: Node) => trace.nodeOf(cotangents.get(node) ?? values.get(node)!.zerosLike());
  const backward = makeLoop(
    {
      state: arriving.map(({ node }) => node),
      next: loop.state.map(nodeOf),
      outputs: rows.map(nodeOf),
      sums: constants.map(nodeOf),
    },
    stepwise,
    steps,
    { held: held.map(({ node }) => node), keepsProducts: loop.keepsProducts },
  );
  // Values computed from gradients before the loop are linear in them, and so gradients too.
  for (const node of topological(backward.rows.keys())) {
    if (node.kind === "operation" && node.inputs.some((input) => gradients.has(input))) gradients.add(node);
  }
  const result = runBackward(backward, options.finals, { ...options, gradients, backward: true });
  return new Map([
    ...loop.state.map((node, i) => [node, result.finals[i]] as const),
    ...rows.map((node, i) => [node, result.outputs[i]] as const),
    ...constants.map((node, i) => [node, result.sums[i]] as const),
  ]);
}

/** Steps whose gradients of a constant are added to one number: beyond, what a step adds is lost in rounding. */
const summedSteps = 1024;

/** Runs a loop that goes backwards, a stretch of steps at a time, from the last one. */
function runBackward(loop: GraphLoop, initial: readonly Tensor[], options: LoopRunOptions): LoopResult {
  const length = loop.sums.length > 0 ? summedSteps : options.steps;
  // Whole stretches come first, from the end.
  const pieces = piecesOf(options.steps, length).map(({ start, count }) => ({
    start: options.steps - start - count,
    count,
  }));
  return runPieces(pieces, initial, ({ start, count }, from) => {
    const rows = new Map(
      Array.from(loop.rows, ([node, tensor]) => [node, tensor.slice(0, start, start + count)]),
    );
    return runLoop({ ...loop, rows }, from, { ...options, steps: count });
  });
}
