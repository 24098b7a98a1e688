/** The reverse of a graph: the same gradient rules as everywhere, applied to symbols. */
import { isFloat } from "../device/dtype.ts";
import type { Tensor } from "../tensor/tensor.ts";
import type { Node, OperationNode } from "./graph.ts";

/**
 * Gradients of the nodes in `wrt`, given those of some nodes of the graph.
 *
 * @param body The graph's operations, in order.
 * @param valueOf Tells the tensor behind a node.
 * @param cotangents Gradients of nodes; it takes up those of all others on the way.
 */
export function reverse(
  body: readonly OperationNode[],
  valueOf: (node: Node) => Tensor,
  cotangents: Map<Node, Tensor>,
  wrt: ReadonlySet<Node>,
): void {
  const needed = new Set<Node>(wrt);
  for (const node of body) if (node.inputs.some((input) => needed.has(input))) needed.add(node);
  for (const node of body.toReversed()) {
    const cotangent = cotangents.get(node);
    const { primitive: { pullback }, params } = node;
    if (!cotangent || pullback === "none" || !needed.has(node)) continue;
    const wanted = node.inputs.map((input) => needed.has(input) && isFloat(input.dtype));
    if (!wanted.includes(true)) continue;
    pullback(cotangent, node.inputs.map(valueOf), valueOf(node), params, wanted).forEach((gradient, i) => {
      const input = node.inputs[i];
      if (gradient && wanted[i]) cotangents.set(input, cotangents.get(input)?.add(gradient) ?? gradient);
    });
  }
}
