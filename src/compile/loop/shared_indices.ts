/** Gathers at positions that all samples share. */
import { gather } from "../../tensor/primitives/indexing.ts";
import { permute, reshape } from "../../tensor/primitives/structural.ts";
import type { Primitive } from "../../tensor/primitive.ts";
import { dependingOn, type GraphTrace, type LoopNodes, type Node, topological } from "../trace/graph.ts";

/**
 * Replaces gathers from constant tables `(outer, rows, inner)`, at positions that depend on the state, by gathers from one table
 * `(1, rows, outer * inner)`: a compiled loop reads rows of one table. The new table is computed before the loop.
 */
export function joinTables(trace: GraphTrace, body: LoopNodes): LoopNodes {
  const roots = [...body.next, ...body.outputs, ...body.sums];
  const nodes = topological(roots);
  const inLoop = dependingOn(body.state, nodes);
  const isJoined = (node: Node) =>
    node.kind === "operation" && node.primitive === gather && node.inputs[0].shape[0] !== 1 &&
    !inLoop.has(node.inputs[0]) && inLoop.has(node.inputs[1]);
  if (!nodes.some(isJoined)) return body;
  const replaced = new Map<Node, Node>();
  const add = <P>(primitive: Primitive<P>, input: Node, params: P) =>
    trace.operation(primitive, [input], params, primitive.infer([input], params));
  for (const node of nodes) {
    if (node.kind !== "operation") {
      replaced.set(node, node);
      continue;
    }
    const inputs = node.inputs.map((input) => replaced.get(input)!);
    if (!isJoined(node)) {
      replaced.set(node, trace.operation(node.primitive, inputs, node.params, node));
      continue;
    }
    const [outer, rows, inner] = inputs[0].shape;
    const [count] = inputs[1].shape;
    const first = add(permute, inputs[0], { axes: [1, 0, 2] });
    const table = add(reshape, first, { shape: [1, rows, outer * inner] });
    const spec = { shape: [1, count, outer * inner], dtype: node.dtype };
    const gathered = trace.operation(gather, [table, inputs[1]], undefined, spec);
    const parts = add(reshape, gathered, { shape: [count, outer, inner] });
    replaced.set(node, add(permute, parts, { axes: [1, 0, 2] }));
  }
  const [next, outputs, sums] = [body.next, body.outputs, body.sums]
    .map((list) => list.map((node) => replaced.get(node)!));
  return { ...body, next, outputs, sums };
}
