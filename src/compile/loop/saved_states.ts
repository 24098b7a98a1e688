/** States of a loop that its gradient reads. */
import { residualsOf } from "../../tensor/residuals.ts";
import { dependingOn, type Node, type OperationNode, topological } from "../trace/graph.ts";
import type { LoopGraph } from "./hoisted_loop.ts";

/** States whose values the gradient with respect to the states and the watched nodes reads. */
export function statesForGradient(
  { state, next, outputs, sums, inputs }: LoopGraph,
  watched: readonly Node[],
): Node[] {
  const nodes = topological([...next, ...outputs, ...sums], inputs);
  const isDifferentiated = dependingOn([...state, ...watched], nodes);
  const operations = nodes.filter((node): node is OperationNode =>
    node.kind === "operation" && node.inputs.some((input) => isDifferentiated.has(input))
  );
  const read = new Set<Node>();
  for (const node of operations) {
    residualsOf(node.primitive, node.inputs, node.params, node).forEach((residuals, i) => {
      if (!isDifferentiated.has(node.inputs[i])) return;
      node.inputs.forEach((input, j) => residuals.inputs[j] && read.add(input));
      if (residuals.output) read.add(node);
    });
  }
  return state.filter((own) => [...dependingOn([own], nodes)].some((node) => read.has(node)));
}
