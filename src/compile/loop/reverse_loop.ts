/** The gradient of a loop: a loop that runs backwards, made from the same gradient rules as everything else. */
import { isFloat } from "../../device/dtype.ts";
import { sizeOf } from "../../device/shape.ts";
import { concatenate } from "../../tensor/functions.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { reverse } from "../trace/gradient.ts";
import { type ClosedOver, type Node, topological } from "../trace/graph.ts";
import { bind, type GraphLoop, outputsOf, runLoop } from "./graph_loop.ts";
import { piecesOf, runPieces } from "./pieces.ts";
import type { Executor } from "../executors/run.ts";
import { SplitLoop } from "./split.ts";
import type { Batched } from "../../tensor/batching.ts";

/** Gradients that arrive at a loop's results, and what is wanted of it. */
export interface Arriving {
  /** The states before each step, `(steps, ...)`, that are read. */
  readonly saved: readonly (Tensor | undefined)[];
  /** The values that were kept of each step, `(steps, ...)`. */
  readonly kept: readonly Tensor[];
  /** The states after the last step. */
  readonly last: readonly Tensor[];
  /** Gradients of the states after the last step. */
  readonly finals: readonly Tensor[];
  /** Gradients of the outputs of {@linkcode SplitLoop.outputs}, `(steps, ...)`, where there are any. */
  readonly outputs: readonly (Tensor | undefined)[];
  /** Gradients of the sums, where there are any. */
  readonly sums: readonly (Tensor | undefined)[];
  /** Rows and fixed values whose gradients are wanted. */
  readonly wanted: readonly Node[];
}

/** A loop that runs backwards. */
interface Reversed {
  readonly split: SplitLoop;
  /** Inputs for the gradients of outputs and of sums. */
  readonly outputs: readonly (Node | undefined)[];
  readonly sums: readonly (Node | undefined)[];
  /** Nodes whose gradients are its outputs and its sums. */
  readonly rows: readonly Node[];
  readonly fixed: readonly Node[];
  /** Those of `fixed` whose gradients its sums have transposed. */
  readonly transposed: readonly Node[];
  /** Tensors that gradient rules have made. */
  readonly closedOver: readonly ClosedOver[];
}

const known = new WeakMap<SplitLoop, Map<string, Reversed>>();

/** The reverse of a loop, made once for the same gradients. */
function reversed(loop: GraphLoop, { outputs, sums, wanted }: Arriving): Reversed {
  const { split } = loop;
  let own = known.get(split);
  if (!own) known.set(split, own = new Map());
  const nodes = [...split.rows, ...split.fixed];
  const masks = [
    nodes.map((node) => wanted.includes(node)),
    ...[outputs, sums].map((list) => list.map(Boolean)),
    split.fixed.map((node) => liesTransposed(loop.fixed.get(node)!)),
  ];
  const key = masks.map((mask) => mask.map(Number).join("")).join();
  const before = own.get(key);
  if (before) return before;
  const result = reverseSplit(loop, masks, nodes);
  // Tensors of this run serve no other.
  if (result.closedOver.length === 0) own.set(key, result);
  return result;
}

function reverseSplit(
  { split, values }: GraphLoop,
  [wanted, ofOutputs, ofSums, areTransposed]: boolean[][],
  nodes: readonly Node[],
): Reversed {
  const { graph: { trace, state, next, sums }, keepsProducts } = split;
  const cotangents = new Map<Node, Tensor>();
  const given = new Map<Node, boolean>(Array.from(values, ([node, { varies }]) => [node, varies]));
  // The product of a large matrix and a state is not computed again: it is saved before the next step.
  const isSaved = (node: Node) => split.outputs.includes(node);
  const kept = [
    ...split.graph.kept,
    ...next.filter((node, i) => isSaved(state[i]) && takesLargeProduct(split, node)),
  ];
  for (const node of [...state, ...kept]) given.set(node, true);
  /** An input for the gradient of a node. */
  const arrive = (node: Node) => {
    const input = trace.input(node);
    if (isFloat(node.dtype)) cotangents.set(node, cotangents.get(node)?.add(input.tensor) ?? input.tensor);
    return input.node;
  };
  const arriving = next.map(arrive);
  const [outputs, totals] = [[split.outputs, ofOutputs, true], [sums, ofSums, false]] as const;
  const inputsFor = ([list, mask, varies]: readonly [readonly Node[], readonly boolean[], boolean]) =>
    list.map((node, i) => {
      if (!mask[i]) return undefined;
      const input = arrive(node);
      given.set(input, varies);
      return input;
    });
  const [forOutputs, forSums] = [inputsFor(outputs), inputsFor(totals)];
  const wrt = nodes.filter((_, i) => wanted[i]);
  reverse(split.body, (node) => trace.symbol(node), cotangents, new Set([...state, ...wrt]));

  const isReached = (node: Node) => wrt.includes(node) && cotangents.has(node);
  const [rows, fixed] = [split.rows.filter(isReached), split.fixed.filter(isReached)];
  const nodeOf = (node: Node) => trace.nodeOf(cotangents.get(node) ?? trace.symbol(node).zerosLike());
  const transposed = split.fixed.filter((node, i) => areTransposed[i] && fixed.includes(node));
  const sumOf = (node: Node) => trace.nodeOf(cotangents.get(node)!.mT);
  const results = {
    next: state.map(nodeOf),
    outputs: rows.map(nodeOf),
    sums: fixed.map((node) => transposed.includes(node) ? sumOf(node) : nodeOf(node)),
  };
  const reached = new Set(topological(Object.values(results).flat(), given));
  const graph = {
    ...results,
    trace,
    state: arriving,
    given,
    held: [
      ...state.filter(isSaved),
      ...kept.filter((node) => reached.has(node)),
    ],
    gradients: [...arriving, ...[...forOutputs, ...forSums].filter((node) => node !== undefined)],
    watched: [],
    kept: [],
    backward: true,
  };
  const closedOver = trace.takeConstants();
  for (const { node } of closedOver) given.set(node, false);
  return {
    split: new SplitLoop(graph, keepsProducts),
    outputs: forOutputs,
    sums: forSums,
    rows,
    fixed,
    transposed,
    closedOver,
  };
}

/** Elements of a matrix that is not read again, or copied, for nothing. */
const largeMatrix = 2 ** 18;

/** Whether a large matrix has its columns one after another in memory: its gradient is to have so too, for an optimiser. */
function liesTransposed({ shape, view: { strides } }: Tensor): boolean {
  return shape.length === 2 && sizeOf(shape) >= largeMatrix && strides[0] < strides[1];
}

/** Whether a product of each sample with a large matrix comes into a state after a step. */
function takesLargeProduct({ body }: SplitLoop, next: Node): boolean {
  const inLoop = new Set<Node>(body);
  return topological([next], { has: (node) => !inLoop.has(node) }).some((node) =>
    node.kind === "operation" && inLoop.has(node) && node.primitive.lower === "matmul" &&
    node.inputs.some(({ shape }) => shape.length === 2 && sizeOf(shape) >= largeMatrix)
  );
}

/** Steps whose gradients of a constant are added to one number: beyond, what a step adds is lost in rounding. */
const summedSteps = 1024;

/**
 * Gradients of a loop's first states and of the nodes that are wanted. Each step is computed again from the state saved before
 * it and from what was kept of it, and then reversed.
 *
 * @throws {Uncompilable} If it cannot be compiled.
 */
export function reverseLoop(
  loop: GraphLoop,
  arriving: Arriving,
  execute: Executor,
): Map<Node, Tensor | undefined> {
  const { split, outputs, sums, rows, fixed, transposed, closedOver } = reversed(loop, arriving);
  const { steps } = loop;
  const values = new Map<Node, Batched>(loop.values);
  const give = (
    nodes: readonly (Node | undefined)[],
    tensors: readonly (Tensor | undefined)[],
    varies: boolean,
  ) => nodes.forEach((node, i) => node && tensors[i] && values.set(node, { tensor: tensors[i], varies }));
  const { state, next } = loop.split.graph;
  give(state, arriving.saved, true);
  give(loop.split.graph.kept, arriving.kept, true);
  for (const node of split.graph.held) {
    const i = next.indexOf(node);
    if (values.has(node)) continue;
    const tensor = concatenate([arriving.saved[i]!.slice(0, 1), arriving.last[i].expandDims(0)]);
    values.set(node, { tensor, varies: true });
  }
  give(outputs, arriving.outputs, true);
  give(sums, arriving.sums, false);
  for (const { node, tensor } of closedOver) values.set(node, { tensor, varies: false });
  const backward = bind(split, values, steps);
  // Whole stretches come first, from the end.
  const pieces = piecesOf(steps, fixed.length > 0 ? summedSteps : steps)
    .map(({ start, count }) => ({ start: steps - start - count, count }));
  const result = runPieces(pieces, arriving.finals, ({ start, count }, from) => {
    const rows = new Map(
      Array.from(backward.rows, ([node, tensor]) => [node, tensor.slice(0, start, start + count)]),
    );
    return runLoop({ ...backward, steps: count, rows }, from, execute);
  });
  const ofRows = outputsOf(backward, split.graph.outputs, result.outputs);
  return new Map([
    ...state.map((node, i) => [node, result.finals[i]] as const),
    ...rows.map((node, i) => [node, ofRows[i]] as const),
    ...fixed.map((node, i) => {
      const sum = result.sums[i];
      return [node, transposed.includes(node) ? sum?.mT : sum] as const;
    }),
  ]);
}
