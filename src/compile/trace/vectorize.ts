/**
 * Evaluation of a graph for many steps at once. Values that differ from step to step have the steps as a new first axis.
 */
import { applyToBatch } from "../../tensor/batching.ts";
import { apply, type Batched } from "../../tensor/primitive.ts";
import { literal, type Node, type OperationNode } from "./graph.ts";
import { Uncompilable } from "./uncompilable.ts";

/**
 * Evaluates nodes in order for all steps.
 *
 * @param values Values of the inputs. The values of the nodes are added.
 * @param fusedChains Operations that are evaluated in place of some nodes.
 */
export function evaluateAllSteps(
  nodes: readonly Node[],
  values: Map<Node, Batched>,
  steps: number,
  fusedChains: ReadonlyMap<Node, OperationNode> = new Map(),
): void {
  for (const own of nodes) {
    if (values.has(own)) continue;
    const node = fusedChains.get(own) ?? own;
    if (node.kind === "literal") values.set(node, { tensor: literal(node), varies: false });
    else if (node.kind === "operation") {
      const inputs = node.inputs.map((input) => values.get(input)!);
      const varies = inputs.some((input) => input.varies);
      values.set(own, {
        varies,
        tensor: varies
          ? applyToBatch(
            node.primitive,
            inputs,
            steps,
            node.params,
            node,
            (reason) => new Uncompilable(reason),
          )
          : apply(node.primitive, inputs.map((x) => x.tensor), node.params),
      });
    } else throw new Error(`a node of the graph has no value: ${node.kind}`);
  }
}
