/** Which states of a loop its gradient reads. */
import { add, div, mul, neg, sub } from "../tensor/primitives/elementwise.ts";
import { sum } from "../tensor/primitives/reduction.ts";
import * as structural from "../tensor/primitives/structural.ts";
import { dependingOn, type Node, type OperationNode, topological } from "./graph.ts";
import type { LoopGraph } from "./split.ts";

const { broadcastTo, concatenate, pad, permute, reshape, slice } = structural;

/** Operations whose gradients read none of their operands. */
const linear: ReadonlySet<unknown> = new Set([
  ...[add, sub, neg, sum],
  ...[broadcastTo, concatenate, pad, permute, reshape, slice],
]);

/** The states that a gradient reads, where so many given nodes are watched: the others are only added to and scaled. */
export function statesForGradient(
  { state, next, outputs, sums, given }: LoopGraph,
  watched: readonly Node[],
): Node[] {
  const nodes = topological([...next, ...outputs, ...sums], given);
  const isDifferentiated = dependingOn([...state, ...watched], nodes);
  return state.filter((own) => {
    const isOwn = dependingOn([own], nodes);
    const isRead = (node: OperationNode) => {
      if (linear.has(node.primitive)) return false;
      const others = node.inputs.filter((input) => !isOwn.has(input));
      const isScaled = others.length === 1 && !isDifferentiated.has(others[0]) &&
        (node.primitive === mul || node.primitive === div && isOwn.has(node.inputs[0]));
      return !isScaled;
    };
    return nodes.some((node) =>
      node.kind === "operation" && node.inputs.some((input) => isOwn.has(input)) && isRead(node)
    );
  });
}
