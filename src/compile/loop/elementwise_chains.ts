/** Fusion of hoisted elementwise operations, so that intermediate values of all steps are not stored. */
import { rewrite, type Scalar } from "../../device/scalar/scalar.ts";
import { contiguousStrides } from "../../device/shape.ts";
import { type Elementwise, elementwise } from "../../tensor/primitives/elementwise.ts";
import { expressionWith } from "../program/expressions.ts";
import { fuseElementwise, type FusionKernel, type Strided } from "../program/passes/fuse_elementwise.ts";
import type { Node, OperationNode } from "../trace/graph.ts";

/** Fused operations have no gradient rule. */
const noGradient = { none: "a loop fuses operations only if no gradient passes through them" };

/** Maximum operands of a fused operation: with the result, every WebGPU adapter can bind this many buffers. */
const maxOperands = 6;

interface NodeOperand extends Strided {
  readonly node: Node;
}

/**
 * Fuses elementwise operations.
 *
 * @param nodes In order.
 * @param needed Nodes that are read outside of `nodes`.
 * @param group Operations of different groups are not fused with each other. Operations without a group are not fused.
 * @returns The fused operation of each node that has one; and the nodes that are computed by fused operations of other nodes.
 */
export function chainsOf(
  nodes: readonly Node[],
  needed: ReadonlySet<Node>,
  group: (node: Node) => unknown,
): { fusedChains: ReadonlyMap<Node, OperationNode>; parts: ReadonlySet<Node> } {
  const operations = nodes.filter((node): node is OperationNode => node.kind === "operation");
  const operandOf = (node: Node): NodeOperand => ({
    ...node,
    node,
    strides: contiguousStrides(node.shape),
    offset: 0,
  });
  const plan = fuseElementwise(
    operations.map((node): FusionKernel<NodeOperand> => {
      const isFusible = node.primitive.lower === "map" && group(node) !== undefined;
      const inputs = isFusible ? node.inputs.filter(({ kind }) => kind !== "literal") : node.inputs;
      return {
        operands: inputs.map(operandOf),
        output: operandOf(node),
        expression: isFusible ? expressionWith((node.primitive as Elementwise).fn, node.inputs) : undefined,
        shape: node.shape,
        recompute: "one",
        isStored: needed.has(node),
      };
    }),
    {
      memoryOf: ({ node }) => node,
      isWhole: () => true,
      // An operation without operands would have no shape.
      fits: ({ length }) => length > 0 && length <= maxOperands,
      isCompatible: (kernel, root) => group(kernel.output!.node) === group(root.output!.node),
    },
  );
  const fusedChains = new Map<Node, OperationNode>();
  const parts = new Set<Node>();
  operations.forEach((node, i) => {
    const fused = plan[i];
    if (fused === "fused") parts.add(node);
    else if (fused !== "unchanged") {
      const build = (...values: Scalar[]) =>
        rewrite(fused.expression, ({ op, value }) => op === "input" ? values[value!] : undefined);
      const inputs = fused.operands.map((operand) => operand.node);
      const primitive = { ...elementwise("fused", build, "zero"), reverse: noGradient };
      fusedChains.set(node, { ...node, primitive, inputs });
    }
  });
  return { fusedChains, parts };
}
