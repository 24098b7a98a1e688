/**
 * Loops inside `jvp` and `vmap`. A symbol of a transformation consists of parts, such as a value and its tangent. The loop
 * computes the parts as separate tensors, so that it stays compiled.
 */
import type { Transformation } from "../../autodiff/transformation.ts";
import { liftTogether } from "../../tensor/broadcast.ts";
import { beneath, transforming } from "../../tensor/primitive.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { dependingOn, evaluate, type LoopNodes, type Node, topological } from "../trace/graph.ts";
import type { LoopResult } from "./graph_loop.ts";
import type { Closure } from "./loop_options.ts";
import type { LoopArguments } from "./segments.ts";

/** A loop's body, traced for one example or without tangents. */
export interface TransformedBody extends LoopNodes {
  readonly rows: readonly Node[];
  /** States and rows that are gradients. */
  readonly gradients: readonly Node[];
}

/** The parts of each tensor of a list. */
export type PartLists = readonly (readonly Tensor[])[];

/** A step of a loop over parts. */
export interface PartsStep {
  readonly carry: PartLists;
  readonly outputs: PartLists;
  readonly sums: PartLists;
}

/** Makes a loop over parts and runs it. */
export type RunParts = (
  body: (carry: PartLists, rows: PartLists) => PartsStep,
  carry: PartLists,
  rows: PartLists,
  gradients: (carry: PartLists, rows: PartLists) => readonly Tensor[],
  closure: Closure,
) => { carry: PartLists; outputs: PartLists; sums: readonly (Tensor | undefined)[]; steps: number };

/**
 * Runs a loop on symbols of a transformation.
 *
 * @param constantNodes Nodes of `args.constants`.
 * @returns `undefined` if a gradient of the loop cannot be recorded, so that its operations must run one by one.
 */
export function runTransformed(
  trace: Transformation,
  body: TransformedBody,
  constantNodes: readonly Node[],
  args: LoopArguments,
  run: RunParts,
): LoopResult | undefined {
  const { initial, sequences, constants } = args;
  const counts = [initial.length, sequences.length, constants.length];
  const listsOf = (tensors: readonly Tensor[]): LoopArguments => {
    const [rows, rest] = [counts[0], counts[0] + counts[1]];
    return {
      initial: tensors.slice(0, rows),
      sequences: tensors.slice(rows, rest),
      constants: tensors.slice(rest),
    };
  };
  let result!: LoopResult;
  const results = trace.applyFunction([...initial, ...sequences, ...constants], (trace, inputs) => {
    result = runOnParts(trace, body, constantNodes, listsOf(inputs), run);
    const sums = result.sums.filter((sum) => sum !== undefined);
    return [...result.finals, ...result.outputs, ...sums];
  });
  if (!results) return undefined;
  const rest = [...results];
  return {
    finals: rest.splice(0, result.finals.length),
    outputs: rest.splice(0, result.outputs.length),
    steps: result.steps,
    sums: result.sums.map((sum) => sum && rest.shift()),
  };
}

function runOnParts(
  trace: Transformation,
  body: TransformedBody,
  constantNodes: readonly Node[],
  { initial, sequences, constants }: LoopArguments,
  run: RunParts,
): LoopResult {
  const isSymbol = (x: Tensor) => trace.partsOf(x) !== undefined;
  const among = (nodes: readonly Node[], tensors: readonly Tensor[]) =>
    nodes.filter((_, i) => isSymbol(tensors[i]));
  const { state, next, outputs, sums, rows, gradients } = body;
  const nodes = topological([...next, ...outputs, ...sums], new Set([...state, ...rows, ...constantNodes]));
  const inputSymbols = [...among(rows, sequences), ...among(constantNodes, constants)];
  const symbols = symbolsOf(trace, [...inputSymbols, ...among(state, initial)], body, nodes);

  const partsOf = (trace: Transformation, x: Tensor, node: Node) =>
    symbols.has(node) ? trace.allParts(x) : [x];
  const stepsFirst = (parts: readonly Tensor[], node: Node) =>
    symbols.has(node) ? parts.map((part) => trace.stepsFirst(part)) : parts;
  const step = (carry: PartLists, row: PartLists): PartsStep => {
    // A new transformation for the body: its symbols may consist of symbols of the trace of the body.
    const inner = trace.again();
    const parts = [...carry, ...row, ...constants.map((x) => trace.partsOf(x) ?? [x])];
    const lifted = [...liftTogether(parts.flat())];
    const values = new Map<Node, Tensor>();
    [...state, ...rows, ...constantNodes].forEach((node, i) => {
      const ofNode = lifted.splice(0, parts[i].length);
      values.set(node, symbols.has(node) ? inner.symbol(ofNode) : ofNode[0]);
    });
    transforming(inner, () => evaluate(nodes, values));
    const lists = (list: readonly Node[]) => list.map((node) => partsOf(inner, values.get(node)!, node));
    return {
      carry: next.map((node, i) => partsOf(inner, values.get(node)!, state[i])),
      outputs: lists(outputs),
      sums: lists(sums),
    };
  };
  const gradientsOf = (carry: PartLists, row: PartLists) => {
    const lists = new Map([...state, ...rows].map((node, i) => [node, [...carry, ...row][i]]));
    return gradients.flatMap((node) => lists.get(node) ?? []);
  };
  const result = beneath(trace, () =>
    run(
      step,
      initial.map((x, i) => partsOf(trace, x, state[i])),
      sequences.map((x, i) => stepsFirst(trace.partsOf(x) ?? [x], rows[i])),
      gradientsOf,
      // Besides the body: the kind of the transformation, and which tensors are its symbols.
      {
        key: `${trace.isBatch ? "vmap" : "jvp"} ${[...initial, ...sequences, ...constants].map(isSymbol)}`,
        tensors: constants.flatMap((x) => trace.partsOf(x) ?? [x]),
      },
    ));
  const joined = (parts: readonly Tensor[], node: Node) => symbols.has(node) ? trace.symbol(parts) : parts[0];
  const totals = [...result.sums];
  return {
    steps: result.steps,
    finals: result.carry.map((parts, i) => joined(parts, state[i])),
    outputs: beneath(trace, () => result.outputs.map((parts, i) => stepsFirst(parts, outputs[i])))
      .map((parts, i) => joined(parts, outputs[i])),
    sums: sums.map((node) => {
      const parts = totals.splice(0, symbols.has(node) ? trace.partCount : 1);
      const nonZero = parts.find((part) => part !== undefined);
      return nonZero && joined(parts.map((part) => part ?? nonZero.zerosLike()), node);
    }),
  };
}

/** Nodes whose values are symbols because they depend on symbols. A state can become a symbol after some steps. */
function symbolsOf(
  trace: Transformation,
  roots: readonly Node[],
  { state, next }: LoopNodes,
  nodes: readonly Node[],
): Set<Node> {
  for (let sources = [...roots];;) {
    const symbols = new Set([...dependingOn(sources, nodes)].filter(({ dtype }) => trace.takes(dtype)));
    const added = state.filter((node, i) => symbols.has(next[i]) && !sources.includes(node));
    if (added.length === 0) return symbols;
    sources = [...sources, ...added];
  }
}
