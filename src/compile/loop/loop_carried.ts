/**
 * Values that a step computes at its end and the next step computes again at its start: the last stage of a Runge-Kutta step
 * and the first stage of the next step have the same time. If they need matrix products, they become loop-carried states.
 */
import { sameShape } from "../../device/shape.ts";
import { Symbolic } from "../../tensor/symbolic.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import {
  type GraphTrace,
  type LoopNodes,
  type Node,
  type OperationNode,
  topological,
} from "../trace/graph.ts";
import { isExpansion } from "./hoisted_loop.ts";

/** A sequence of rows, and the sequence that begins one row later in the same memory. */
export type ShiftedRows = readonly [rows: Node, following: Node];

/**
 * Makes functions of rows loop-carried states, if the body also computes the same functions of the following rows.
 *
 * @param isCostly Whether computing an operation twice is slower than carrying its result.
 * @returns The body, and the nodes that give the initial values of the new states, at the first rows.
 */
export function makeLoopCarried(
  trace: GraphTrace,
  body: LoopNodes,
  shiftedRows: readonly ShiftedRows[],
  isCostly: (node: OperationNode) => boolean,
): LoopNodes & { carried: readonly Node[] } {
  const { state, next, outputs, sums } = body;
  const roots = [...next, ...outputs, ...sums];
  const ends = endsOf(trace, roots, shiftedRows);
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

/** Operations on rows alone, each with the same operation on the following rows, if the body has both. */
function endsOf(
  trace: GraphTrace,
  roots: readonly Node[],
  shiftedRows: readonly ShiftedRows[],
): Map<Node, Node> {
  if (shiftedRows.length === 0) return new Map();
  const starts = new Map<Node, Node>(shiftedRows.map(([rows, following]) => [following, rows]));
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

/** Whether `others` is `rows` from the second row on, in the same memory. */
export function isShiftedByRow(rows: Tensor, others: Tensor): boolean {
  if (rows.storage instanceof Symbolic || others.storage instanceof Symbolic) return false;
  const [a, b] = [rows.storage, others.storage];
  return typeof a.source !== "number" && a.source === b.source && a.dtype === b.dtype &&
    sameShape(a.shape, b.shape) && sameShape(a.strides, b.strides) &&
    b.offset - a.offset === a.strides[0];
}

/** The members of `among` that are results or that other nodes read. Expansions are replaced by their inputs. */
function frontier(next: readonly Node[], results: readonly Node[], among: ReadonlyMap<Node, Node>): Node[] {
  const border = new Set<Node>(results.filter((node) => among.has(node)));
  for (const node of topological([...next, ...results]).toReversed()) {
    if (node.kind !== "operation") continue;
    const spreads = border.has(node) && isExpansion(node) &&
      node.inputs.every((input) => among.has(input) || input.kind === "literal");
    if (spreads) border.delete(node);
    if (spreads || !among.has(node)) {
      node.inputs.filter((input) => among.has(input)).forEach((input) => border.add(input));
    }
  }
  return [...border];
}
