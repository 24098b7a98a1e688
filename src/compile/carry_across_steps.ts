/**
 * Values that one step computes for its end and the next one would compute again for its start: a Runge-Kutta method's last
 * stage lies at the time of the next step's first. Where they take matrix products, a loop carries them along as states.
 */
import type { Tensor } from "../tensor/tensor.ts";
import {
  evaluate,
  type GraphTrace,
  type InputNode,
  type Node,
  type OperationNode,
  topological,
} from "./graph.ts";
import type { LoopNodes } from "./graph_loop.ts";
import { isExpansion } from "./split.ts";

/** A loop, and its states before the first step. */
export interface Carried {
  readonly nodes: LoopNodes;
  readonly initial: readonly Tensor[];
}

/** An input that the body of a loop was traced with. */
export interface TracedInputs {
  readonly node: InputNode;
  /** The symbol that stands for it. */
  readonly tensor: Tensor;
  /** The state before the first step, or a sequence's rows. */
  readonly value: Tensor;
}

/**
 * Makes values at the start of a step that are functions of rows alone states of the loop, where the step before computes
 * the same function of the rows that lie one further in the same memory.
 *
 * @param isCostly Whether an operation is worth being carried along.
 */
export function carryAcrossSteps(
  trace: GraphTrace,
  nodes: LoopNodes,
  states: readonly TracedInputs[],
  rows: readonly TracedInputs[],
  isCostly: (node: OperationNode) => boolean,
): Carried {
  const initial = states.map(({ value }) => value);
  const ends = endsOf(trace, nodes, rows);
  const [batch] = initial[0].shape;
  const carried = frontier(nodes, ends).filter((node) =>
    node.shape[0] === batch &&
    topological([node]).some((other) => other.kind === "operation" && isCostly(other))
  );
  if (carried.length === 0) return { nodes, initial };

  const inputs = carried.map((node) => trace.input(node));
  const values = new Map<Node, Tensor>([...states, ...rows].map(({ node, tensor }) => [node, tensor]));
  carried.forEach((node, i) => values.set(node, inputs[i].tensor));
  const roots = [...nodes.next, ...carried.map((node) => ends.get(node)!), ...nodes.outputs];
  evaluate(topological(roots, values), values);
  const next = roots.map((node) => trace.nodeOf(values.get(node)!));

  const first = new Map<Node, Tensor>(rows.map(({ node, value }) => [node, value.at(0, 0)]));
  evaluate(topological(carried, first), first);
  const count = initial.length + carried.length;
  return {
    nodes: {
      state: [...nodes.state, ...inputs.map(({ node }) => node)],
      next: next.slice(0, count),
      outputs: next.slice(count),
    },
    initial: [...initial, ...carried.map((node) => first.get(node)!)],
  };
}

/** Operations on rows alone, with the same operation on the rows one further where the body has it. */
function endsOf(
  trace: GraphTrace,
  { next, outputs }: LoopNodes,
  rows: readonly TracedInputs[],
): Map<Node, Node> {
  const starts = new Map<Node, Node>();
  for (const start of rows) {
    const end = rows.find((other) => isOneFurther(start.value, other.value));
    if (end) starts.set(end.node, start.node);
  }
  if (starts.size === 0) return new Map();
  const ends = new Map<Node, Node>();
  for (const node of topological([...next, ...outputs])) {
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

/** Whether a sequence's rows are those of another in the same memory, from the second one on. */
function isOneFurther(rows: Tensor, others: Tensor): boolean {
  const [a, b] = [rows.view, others.view];
  return typeof a.source !== "number" && a.source === b.source && a.dtype === b.dtype &&
    `${a.shape}` === `${b.shape}` && `${a.strides}` === `${b.strides}` &&
    b.offset - a.offset === a.strides[0];
}

/** The last of some nodes that others are computed from, or what those spread out. */
function frontier({ next, outputs }: LoopNodes, among: ReadonlyMap<Node, Node>): Node[] {
  const found = new Set<Node>(outputs.filter((node) => among.has(node)));
  for (const node of topological([...next, ...outputs]).toReversed()) {
    if (node.kind !== "operation") continue;
    const spreads = found.has(node) && isExpansion(node) &&
      node.inputs.every((input) => among.has(input) || input.kind === "literal");
    if (spreads) found.delete(node);
    if (spreads || !among.has(node)) {
      node.inputs.filter((input) => among.has(input)).forEach((input) => found.add(input));
    }
  }
  return [...found];
}
