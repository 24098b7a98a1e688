/**
 * Splits a loop's body into what depends on the state, which must run step by step, and what does not, which runs for all
 * steps at once before the loop, as a few large operations.
 */
import { sizeOf } from "../device/shape.ts";
import { broadcastTo, permute } from "../tensor/primitives/structural.ts";
import { type Node, type OperationNode, topological } from "./graph.ts";

/** The two parts of a body. */
export interface Split {
  /** Operations of the loop itself, in order. */
  readonly body: readonly OperationNode[];
  /** Nodes that are computed for all steps before the loop, in order. */
  readonly before: readonly Node[];
  /** Values from before the loop that it reads, a row a step: members of {@linkcode before}, or the loop's own rows. */
  readonly read: readonly Node[];
}

/**
 * @param outputs The state after a step and the step's outputs.
 * @param state The nodes of the state before the step.
 * @param rows The nodes of the rows that the body is given.
 * @param stays Whether an operation is left in the loop although it does not depend on the state.
 */
export function split(
  outputs: readonly Node[],
  state: ReadonlySet<Node>,
  rows: ReadonlySet<Node>,
  stays: (node: OperationNode) => boolean = () => false,
): Split {
  const order = topological(outputs);
  const inLoop = new Set<Node>();
  const isFixed = (node: Node) => node.kind === "constant" || node.kind === "literal";
  for (const node of order) {
    if (node.kind !== "operation") continue;
    if (node.inputs.some((input) => inLoop.has(input) || state.has(input)) || stays(node)) inLoop.add(node);
  }
  // From the last to the first: what the loop reads and can rebuild from less, it rebuilds.
  const wanted = new Set<Node>();
  for (const node of order.toReversed()) {
    if (node.kind !== "operation") continue;
    if (wanted.has(node) && !inLoop.has(node) && isExpansion(node)) inLoop.add(node);
    if (inLoop.has(node)) node.inputs.forEach((input) => wanted.add(input));
  }
  const read = order.filter((node) =>
    (wanted.has(node) || outputs.includes(node)) && !inLoop.has(node) && !state.has(node) && !isFixed(node)
  );
  return {
    body: order.filter((node): node is OperationNode => node.kind === "operation" && inLoop.has(node)),
    before: topological(read).filter((node) => !rows.has(node)),
    read,
  };
}

/** Whether a node is had from its inputs for nothing, or spreads out smaller ones: a broadcast, an outer product. */
export function isExpansion(node: OperationNode): boolean {
  if (node.primitive === broadcastTo || node.primitive === permute) return true;
  if (!("fn" in node.primitive)) return false;
  const source = (input: Node): Node =>
    input.kind === "operation" && input.primitive === broadcastTo ? source(input.inputs[0]) : input;
  const sizes = node.inputs.map((input) => input.kind === "literal" ? 0 : sizeOf(source(input).shape));
  return sizes.reduce((sum, size) => sum + size, 0) < sizeOf(node.shape);
}
