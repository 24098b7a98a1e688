/**
 * Hoisting: operations of a loop's body that do not depend on the state run before the loop, for all steps at once, as a few
 * large operations. The other operations are the loop.
 */
import { bytesPerElement } from "../../device/dtype.ts";
import { sizeOf } from "../../device/shape.ts";
import { add, sigmoid, tanh } from "../../tensor/primitives/elementwise.ts";
import { chainsOf } from "./elementwise_chains.ts";
import {
  dependingOn,
  type GraphTrace,
  type LoopNodes,
  type Node,
  type OperationNode,
  topological,
} from "../trace/graph.ts";

/** A loop as nodes, without values. */
export interface LoopGraph extends LoopNodes {
  readonly trace: GraphTrace;
  /** Nodes with given values, besides the state, and whether the values differ from step to step. */
  readonly inputs: ReadonlyMap<Node, boolean>;
  /** Given nodes that block hoisting as the state does: operations that read them stay in the loop. */
  readonly notHoisted: readonly Node[];
  /** Nodes that are gradients. The sums are linear in them, and they are zero in the padding lanes of a tile. */
  readonly gradients: readonly Node[];
  /** Given nodes that a gradient tape watches. */
  readonly watched: readonly Node[];
  /** Outputs that the gradient reads instead of computing them again. */
  readonly residuals: readonly Node[];
  /** Positions of the states that end the loop: see {@linkcode Ending}. */
  readonly ending?: { readonly settled: number; readonly count: number };
  /** Whether the loop runs from the last row to the first. */
  readonly backward: boolean;
}

/** The hoisted part and the remaining body of a loop. */
export interface HoistedLoop {
  readonly graph: LoopGraph;
  /** Whether matrix products of each sample stay in the loop even if they could be hoisted. */
  readonly keepsProducts: boolean;
  /** Operations that remain in the loop, in order. */
  readonly body: readonly OperationNode[];
  /** Nodes that are computed before the loop, in order. */
  readonly hoisted: readonly Node[];
  /** Nodes whose values differ from step to step. */
  readonly varying: ReadonlySet<Node>;
  /** Chains of elementwise operations, by the node of {@linkcode hoisted} at the end of each chain. */
  readonly fusedChains: ReadonlyMap<Node, OperationNode>;
  /** Values that the loop reads one row of in each step: given nodes, or members of {@linkcode hoisted}. */
  readonly rows: readonly Node[];
  /** Loop-invariant values that the loop reads. */
  readonly invariants: readonly Node[];
  /** Outputs that the loop computes, without duplicates. */
  readonly outputs: readonly Node[];
  /** Gradients, and all values computed from them. */
  readonly gradients: ReadonlySet<Node>;
  /** Bytes of one step's outputs and of the values hoisted for one step. */
  readonly bytesOfStep: number;
}

/** Hoists what can be hoisted out of a loop. */
export function hoist(graph: LoopGraph, keepsProducts: boolean): HoistedLoop {
  const { state, next, outputs, sums, inputs, notHoisted } = graph;
  const roots = [...next, ...outputs, ...sums];
  const inState = new Set([...state, ...notHoisted]);
  const order = topological(roots, inputs);
  const operations = order.filter((node): node is OperationNode =>
    node.kind === "operation" && !inputs.has(node)
  );
  const varying = new Set<Node>(order.filter((node) => inputs.get(node)));
  const inLoop = new Set<Node>();
  for (const node of operations) {
    if (node.inputs.some((input) => varying.has(input))) varying.add(node);
    const stays = keepsProducts && varying.has(node) && isProductOfSamples(node, state[0]);
    if (stays || node.inputs.some((input) => inLoop.has(input) || inState.has(input))) inLoop.add(node);
  }
  // From the last operation to the first: the loop computes expansions itself, to read less memory.
  const wanted = new Set<Node>();
  for (const node of operations.toReversed()) {
    const isView = node.primitive.lower === "permute" && !varying.has(node);
    if (wanted.has(node) && !isView && isExpansion(node)) inLoop.add(node);
    if (inLoop.has(node)) node.inputs.forEach((input) => wanted.add(input));
  }
  for (const node of [...next, ...sums]) wanted.add(node);
  const read = order.filter((node) =>
    wanted.has(node) && !inLoop.has(node) && !state.includes(node) && node.kind !== "literal"
  );
  const needed = [...read, ...outputs.filter((node) => !inLoop.has(node))];
  const before = topological(needed, inputs).filter((node) => !inputs.has(node) && !state.includes(node));
  // A gradient tape must record each operation separately.
  const watched = dependingOn(graph.watched, before);
  const { fusedChains, parts } = chainsOf(
    before,
    new Set(needed),
    (node) => watched.has(node) ? undefined : varying.has(node),
  );
  const hoisted = before.filter((node) => !parts.has(node));
  return {
    graph,
    keepsProducts,
    body: operations.filter((node) => inLoop.has(node)),
    hoisted,
    varying,
    fusedChains,
    rows: [...new Set([...notHoisted, ...read.filter((node) => varying.has(node))])],
    invariants: read.filter((node) => !varying.has(node)),
    outputs: [...new Set(outputs.filter((node) => inLoop.has(node) || state.includes(node)))],
    // Values computed from gradients are linear in them, so they are gradients too.
    gradients: dependingOn(graph.gradients, order),
    bytesOfStep: bytesOf([...hoisted.filter((node) => varying.has(node)), ...outputs]),
  };
}

/** Values that a gradient should keep because computing them again is slow: activations of the results of products. */
export function residualCandidates({ body }: HoistedLoop): OperationNode[] {
  const sources = new Set<Node>();
  const readsSource = ({ inputs }: OperationNode) => inputs.some((input) => sources.has(input));
  for (const node of body) {
    if (node.primitive.lower === "matmul" || isAdditionOrReshape(node) && readsSource(node)) {
      sources.add(node);
    }
  }
  return body.filter((node) => (node.primitive === tanh || node.primitive === sigmoid) && readsSource(node));
}

/** Whether a node is a matrix product of each sample of a batch. */
export function isProductOfSamples({ primitive, shape }: OperationNode, state: Node): boolean {
  const [batch = 1] = state.shape;
  return primitive.lower === "matmul" && shape[0] % batch === 0;
}

/** Whether a node is a view of its input or larger than its inputs together, as a broadcast or an outer product is. */
export function isExpansion(node: OperationNode): boolean {
  const { lower } = node.primitive;
  if (lower === "broadcastTo" || lower === "permute") return true;
  if (lower !== "map") return false;
  const source = (input: Node): Node => {
    while (input.kind === "operation" && input.primitive.lower === "broadcastTo") input = input.inputs[0];
    return input;
  };
  const sizes = node.inputs.map((input) => input.kind === "literal" ? 0 : sizeOf(source(input).shape));
  return sizes.reduce((sum, size) => sum + size, 0) < sizeOf(node.shape);
}

/** Bytes of the values of some nodes in one step. */
export function bytesOf(nodes: readonly Node[]): number {
  return nodes.reduce((sum, { shape, dtype }) => sum + sizeOf(shape) * bytesPerElement(dtype), 0);
}

/** Slices are excluded: keeping a part of a product would compute the product again for the other parts. */
function isAdditionOrReshape({ primitive }: OperationNode): boolean {
  return primitive === add || primitive.lower === "reshape";
}
