/** Chains of hoisted elementwise operations, fused to one operation each, so that intermediate values are not stored. */
import { postOrder } from "../../device/post_order.ts";
import { constant, type Scalar } from "../../device/scalar.ts";
import { type Elementwise, elementwise } from "../../tensor/primitives/elementwise.ts";
import type { Node, OperationNode } from "../trace/graph.ts";
import { maxOperations, operationsOf } from "../program/expression_size.ts";
import { numberText } from "../../device/structure_text.ts";

/** Fused chains have no gradient rule. */
const noGradient = { none: "a loop fuses operations only if no gradient passes through them" };

/** Maximum operands of a chain: with the result, every WebGPU adapter can bind this many buffers. */
const maxOperands = 6;

/**
 * Finds chains: operations whose only reader is in the same chain.
 *
 * @param nodes In order.
 * @param needed Nodes that are read outside of `nodes`.
 * @param group Operations of different groups are in different chains. Operations without a group are not fused.
 * @returns For the last operation of each chain, the fused operation; and the operations that are fused into others.
 */
export function chainsOf(
  nodes: readonly Node[],
  needed: ReadonlySet<Node>,
  group: (node: Node) => unknown,
): { fusedChains: ReadonlyMap<Node, OperationNode>; parts: ReadonlySet<Node> } {
  const readers = new Map<Node, number>();
  const isElementwise = (node: Node): node is OperationNode =>
    node.kind === "operation" && node.primitive.lower === "map" && group(node) !== undefined;
  for (const node of nodes) {
    if (node.kind !== "operation") continue;
    for (const input of node.inputs) readers.set(input, (readers.get(input) ?? 0) + 1);
  }
  const known = new Set(nodes);
  const operands = new Map<Node, ReadonlySet<Node>>();
  /** The inputs of each node that are in its chain. */
  const inChain = new Map<Node, readonly Node[]>();
  /** Scalar operations of the chain that ends with each node. */
  const operations = new Map<Node, number>();
  for (const node of nodes) {
    if (!isElementwise(node)) continue;
    const isPart = (input: Node) =>
      known.has(input) && isElementwise(input) && readers.get(input) === 1 && !needed.has(input) &&
      group(input) === group(node);
    const read = (joins: boolean) =>
      new Set(
        node.inputs.filter(({ kind }) => kind !== "literal").flatMap((input) =>
          joins && isPart(input) ? [...operands.get(input)!] : [input]
        ),
      );
    const all = read(true);
    const inner = node.inputs.filter(isPart);
    const alone = operationsOf((node.primitive as Elementwise).fn, node.inputs.map(({ dtype }) => dtype));
    const total = inner.reduce((sum, input) => sum + operations.get(input)!, alone);
    const fits = all.size <= maxOperands && total <= maxOperations;
    operands.set(node, fits ? all : read(false));
    inChain.set(node, fits ? inner : []);
    operations.set(node, fits ? total : alone);
  }
  const [ends, parts] = [new Set<OperationNode>(), new Set<Node>()];
  for (const node of nodes.toReversed()) {
    const inner = inChain.get(node) ?? [];
    if (inner.length === 0) continue;
    if (!parts.has(node)) {
      // A fused operation without operands would have no shape, so operations on literals alone are not fused.
      if (operands.get(node)!.size === 0) continue;
      ends.add(node as OperationNode);
    }
    for (const input of inner) parts.add(input);
  }
  return {
    fusedChains: new Map(Array.from(ends, (node) => [node, join(node, [...operands.get(node)!], inChain)])),
    parts,
  };
}

/**
 * Fuses a chain to one operation.
 *
 * @param inChain The inputs of each node that are in its chain.
 */
function join(
  last: OperationNode,
  operands: readonly Node[],
  inChain: ReadonlyMap<Node, readonly Node[]>,
): OperationNode {
  const order = postOrder<Node>([last], (node) => inChain.get(node)!) as OperationNode[];
  /** Folds over the operations of the chain, inputs first. */
  const fold = <T>(leaf: (node: Node) => T, make: (primitive: Elementwise, inputs: T[]) => T): T => {
    const made = new Map<Node, T>();
    for (const node of order) {
      const inputs = node.inputs.map((input) => made.has(input) ? made.get(input)! : leaf(input));
      made.set(node, make(node.primitive as Elementwise, inputs));
    }
    return made.get(last)!;
  };
  const name = fold<string>(
    (node) =>
      node.kind === "literal" ? `${node.dtype} ${numberText(node.value)}` : `#${operands.indexOf(node)}`,
    (primitive, inputs) => `${primitive.name}(${inputs})`,
  );
  const build = (...values: Scalar[]) =>
    fold<Scalar>(
      (node) => node.kind === "literal" ? constant(node.value, node.dtype) : values[operands.indexOf(node)],
      (primitive, inputs) => primitive.fn.build(...inputs),
    );
  return {
    ...last,
    primitive: { ...elementwise(name, build, "zero"), reverse: noGradient },
    inputs: operands,
  };
}
