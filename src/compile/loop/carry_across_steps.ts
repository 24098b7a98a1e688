/**
 * Values that one step computes for its end and the next one would compute again for its start: a Runge-Kutta method's last
 * stage lies at the time of the next step's first. Where they take matrix products, a loop carries them along as states.
 */
import { sameShape } from "../../device/shape.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import {
  type GraphTrace,
  type LoopNodes,
  type Node,
  type OperationNode,
  topological,
} from "../trace/graph.ts";
import { isExpansion } from "./split.ts";

/** Rows, and others that lie one further in the same memory. */
export type Follower = readonly [rows: Node, following: Node];

/**
 * Makes values at the start of a step that are functions of rows alone states of the loop, where the step before computes
 * the same function of the rows that lie one further in the same memory.
 *
 * @param isCostly Whether an operation is worth being carried along.
 * @returns The body, and the nodes whose values for the first rows are the first values of the new states.
 */
export function carryAcrossSteps(
  trace: GraphTrace,
  body: LoopNodes,
  followers: readonly Follower[],
  isCostly: (node: OperationNode) => boolean,
): LoopNodes & { carried: readonly Node[] } {
  const { state, next, outputs, sums } = body;
  const roots = [...next, ...outputs, ...sums];
  const ends = endsOf(trace, roots, followers);
  const [batch] = state[0].shape;
  const carried = frontier(next, [...outputs, ...sums], ends).filter((node) =>
    node.shape[0] === batch &&
    topological([node]).some((other) => other.kind === "operation" && isCostly(other))
  );
  if (carried.length === 0) return { ...body, carried };

  const inputs = carried.map((node) => trace.input(node).node);
  const replaced = new Map<Node, Node>(carried.map((node, i) => [node, inputs[i]]));
  const following = carried.map((node) => ends.get(node)!);
  for (const node of topological([...roots, ...following], replaced)) {
    if (replaced.has(node)) continue;
    const isOperation = node.kind === "operation";
    replaced.set(
      node,
      isOperation
        ? trace.operation(node.primitive, node.inputs.map((x) => replaced.get(x)!), node.params, node)
        : node,
    );
  }
  const [newNext, newOutputs, newSums] = [[...next, ...following], outputs, sums]
    .map((nodes) => nodes.map((node) => replaced.get(node)!));
  return { state: [...state, ...inputs], next: newNext, outputs: newOutputs, sums: newSums, carried };
}

/** Operations on rows alone, with the same operation on the rows one further where the body has it. */
function endsOf(
  trace: GraphTrace,
  roots: readonly Node[],
  followers: readonly Follower[],
): Map<Node, Node> {
  if (followers.length === 0) return new Map();
  const starts = new Map<Node, Node>(followers.map(([rows, following]) => [following, rows]));
  const ends = new Map<Node, Node>();
  for (const node of topological(roots)) {
    if (node.kind === "constant" || node.kind === "literal") starts.set(node, node);
    if (node.kind !== "operation") continue;
    const inputs = node.inputs.map((input) => starts.get(input));
    const start = inputs.every((input) => input !== undefined)
      ? trace.find(node.primitive, inputs as Node[], node.params)
      : undefined;
    if (!start) continue;
    starts.set(node, start);
    if (start !== node) ends.set(start, node);
  }
  return ends;
}

/** Whether a sequence's rows are those of another in the same memory, from the second one on. */
export function isOneFurther(rows: Tensor, others: Tensor): boolean {
  const [a, b] = [rows.view, others.view];
  return typeof a.source !== "number" && a.source === b.source && a.dtype === b.dtype &&
    sameShape(a.shape, b.shape) && sameShape(a.strides, b.strides) &&
    b.offset - a.offset === a.strides[0];
}

/** The last of some nodes that others are computed from, or what those spread out. */
function frontier(next: readonly Node[], results: readonly Node[], among: ReadonlyMap<Node, Node>): Node[] {
  const found = new Set<Node>(results.filter((node) => among.has(node)));
  for (const node of topological([...next, ...results]).toReversed()) {
    if (node.kind !== "operation") continue;
    const spreads = found.has(node) && isExpansion(node) &&
      node.inputs.every((input) => among.has(input) || input.kind === "literal");
    if (spreads) found.delete(node);
    if (spreads || !among.has(node)) {
      node.inputs.filter((input) => among.has(input)).forEach((input) => found.add(input));
    }
  }
  return [...found];
}
