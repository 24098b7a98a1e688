/** The reverse pass over the nodes of a graph. */
import { reversePass } from "../../autodiff/reverse_pass.ts";
import { isFloat } from "../../device/dtype.ts";
import { reverseOf } from "../../tensor/primitive.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { dependingOn, type Node, type OperationNode } from "./graph.ts";

/**
 * Gradients of the nodes in `wrt`, given gradients of some nodes of the graph.
 *
 * @param body The operations of the graph, in order.
 * @param valueOf Returns the tensor of a node.
 * @param cotangents Gradients of nodes. The gradients of `wrt` are added.
 */
export function reverse(
  body: readonly OperationNode[],
  valueOf: (node: Node) => Tensor,
  cotangents: Map<Node, Tensor>,
  wrt: ReadonlySet<Node>,
): void {
  const dependent = dependingOn([...wrt], body);
  const operations = body.flatMap((node) => {
    const { primitive, inputs, params } = node;
    const rule = reverseOf(primitive);
    if (!rule || !dependent.has(node)) return [];
    const reverse = ([cotangent]: readonly (Tensor | undefined)[], wanted: readonly boolean[]) =>
      rule(cotangent!, inputs.map(valueOf), valueOf(node), params, wanted);
    return [{ inputs, outputs: [node], reverse }];
  });
  reversePass(operations, cotangents, (node) => dependent.has(node) && isFloat(node.dtype), wrt);
}
