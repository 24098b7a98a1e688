/**
 * Splits a loop's body into what depends on the state, which must run step by step, and what does not, which runs for all
 * steps at once before the loop, as a few large operations.
 */
import { bytesPerElement } from "../../device/dtype.ts";
import { sizeOf } from "../../device/shape.ts";
import { add, sigmoid, tanh } from "../../tensor/primitives/elementwise.ts";
import { chainsOf } from "./elementwise_chains.ts";
import {
  dependingOn,
  type GraphTrace,
  type LoopNodes,
  type Node,
  type OperationNode,
  topological,
} from "../trace/graph.ts";
import { lower } from "../program/lower/lower.ts";
import type { Lowered } from "../program/lower/values.ts";
import { Uncompilable } from "../trace/uncompilable.ts";

/** A loop as nodes, without values. */
export interface LoopGraph extends LoopNodes {
  readonly trace: GraphTrace;
  /** Nodes besides the state whose values are given, and whether those differ from step to step. */
  readonly given: ReadonlyMap<Node, boolean>;
  /** Given nodes that count as state: what depends on them is left in the loop. */
  readonly held: readonly Node[];
  /** Gradients among the nodes, in which the sums are linear: zero for samples that a tile lacks. */
  readonly gradients: readonly Node[];
  /** Given nodes that a gradient tape watches. */
  readonly watched: readonly Node[];
  /** Values among the outputs that the gradient reads, and does not compute again. */
  readonly kept: readonly Node[];
  /** {@linkcode Run.settled}. */
  readonly settled?: number;
  /** Whether the rows are taken from the last to the first. */
  readonly backward: boolean;
}

/** State larger than this is not taken for a single sample: one lane would do all the work. */
const maxSampleSize = 4096;

/** The two parts of a loop, and the programs that they become. */
export class SplitLoop {
  /** Operations of the loop itself, in order. */
  readonly body: readonly OperationNode[];
  /** Nodes that are computed before the loop, in order. */
  readonly before: readonly Node[];
  /** Chains of elementwise operations, by the node of {@linkcode before} at the end of each. */
  readonly joined: ReadonlyMap<Node, OperationNode>;
  /** Nodes of the rows that the loop reads: given ones, or members of {@linkcode before}. */
  readonly rows: readonly Node[];
  /** The same for values that are the same in all steps. */
  readonly fixed: readonly Node[];
  /** Outputs that are not known before the loop runs, each once. */
  readonly outputs: readonly Node[];
  /** Gradients, and what is computed from them. */
  readonly gradients: ReadonlySet<Node>;
  /** Nodes that do not depend on the state, whose values differ from step to step. */
  readonly #varying: ReadonlySet<Node>;
  #batch?: number;
  readonly #lowered = new Map<number, Lowered>();

  /** @param keepsProducts Whether matrix products of each sample are left in the loop where they need not be. */
  constructor(readonly graph: LoopGraph, readonly keepsProducts: boolean) {
    const { state, next, outputs, sums, given, held } = graph;
    const roots = [...next, ...outputs, ...sums];
    const inState = new Set([...state, ...held]);
    const order = topological(roots, given);
    const operations = order.filter((node): node is OperationNode =>
      node.kind === "operation" && !given.has(node)
    );
    const varying = new Set<Node>(order.filter((node) => given.get(node)));
    const inLoop = new Set<Node>();
    for (const node of operations) {
      if (node.inputs.some((input) => varying.has(input))) varying.add(node);
      const stays = keepsProducts && varying.has(node) && isProductOfSamples(node, state[0]);
      if (stays || node.inputs.some((input) => inLoop.has(input) || inState.has(input))) inLoop.add(node);
    }
    // From the last to the first: what the loop reads and can rebuild from less, it rebuilds.
    const wanted = new Set<Node>();
    for (const node of operations.toReversed()) {
      const isView = node.primitive.lower === "permute" && !varying.has(node);
      if (wanted.has(node) && !isView && isExpansion(node)) inLoop.add(node);
      if (inLoop.has(node)) node.inputs.forEach((input) => wanted.add(input));
    }
    for (const node of [...next, ...sums]) wanted.add(node);
    const read = order.filter((node) =>
      wanted.has(node) && !inLoop.has(node) && !state.includes(node) && node.kind !== "literal"
    );
    this.#varying = varying;
    this.body = operations.filter((node) => inLoop.has(node));
    const known = [...read, ...outputs.filter((node) => !inLoop.has(node))];
    const before = topological(known, given).filter((node) => !given.has(node) && !state.includes(node));
    // A gradient tape needs to see each operation.
    const watched = dependingOn(graph.watched, before);
    const { joined, parts } = chainsOf(
      before,
      new Set(known),
      (node) => watched.has(node) ? undefined : varying.has(node),
    );
    this.before = before.filter((node) => !parts.has(node));
    this.joined = joined;
    this.rows = [...new Set([...held, ...read.filter((node) => varying.has(node))])];
    this.fixed = read.filter((node) => !varying.has(node));
    this.outputs = [...new Set(outputs.filter((node) => inLoop.has(node) || state.includes(node)))];
    // Values computed from gradients are linear in them, and so gradients too.
    this.gradients = dependingOn(graph.gradients, order);
  }

  /** Bytes of a step's outputs and of what is computed ahead for it. */
  get bytesOfStep(): number {
    return bytesOf([...this.before.filter((node) => this.#varying.has(node)), ...this.graph.outputs]);
  }

  /** Values that take more to compute again, for a gradient, than to keep: activations of what products result in. */
  get keepable(): OperationNode[] {
    const sources = new Set<Node>();
    const readsSource = ({ inputs }: OperationNode) => inputs.some((input) => sources.has(input));
    for (const node of this.body) {
      if (node.primitive.lower === "matmul" || isLinear(node) && readsSource(node)) sources.add(node);
    }
    return this.body.filter((node) =>
      (node.primitive === tanh || node.primitive === sigmoid) && readsSource(node)
    );
  }

  /**
   * The number of samples that the loop can be compiled for: the length of the states' first axis or, where that fails and
   * the state is small, one sample that is everything.
   *
   * @throws {Uncompilable} If neither is possible.
   */
  get batch(): number {
    if (this.#batch !== undefined) return this.#batch;
    const { state } = this.graph;
    const [batch = 1] = state[0].shape;
    if (batch > 1 && state.every(({ shape }) => shape[0] === batch)) {
      try {
        this.lowered(batch);
        return this.#batch = batch;
      } catch (error) {
        const isLarge = state.some(({ shape }) => sizeOf(shape) > maxSampleSize);
        if (!(error instanceof Uncompilable) || isLarge) throw error;
      }
    }
    this.lowered(1);
    return this.#batch = 1;
  }
  /**
   * The program for one of so many samples.
   *
   * @throws {Uncompilable} If an operation has no kernel, or samples mix.
   */
  lowered(batch: number): Lowered {
    let lowered = this.#lowered.get(batch);
    if (!lowered) this.#lowered.set(batch, lowered = lower(this, batch));
    return lowered;
  }
}

/** Whether a node is a matrix product of each sample of a batch. */
export function isProductOfSamples({ primitive, shape }: OperationNode, state: Node): boolean {
  const [batch = 1] = state.shape;
  return primitive.lower === "matmul" && shape[0] % batch === 0;
}

/** Whether a node is had from its inputs for nothing, or spreads out smaller ones: a broadcast, an outer product. */
export function isExpansion(node: OperationNode): boolean {
  const { lower } = node.primitive;
  if (lower === "broadcastTo" || lower === "permute") return true;
  if (lower !== "map") return false;
  const source = (input: Node): Node => {
    while (input.kind === "operation" && input.primitive.lower === "broadcastTo") input = input.inputs[0];
    return input;
  };
  const sizes = node.inputs.map((input) => input.kind === "literal" ? 0 : sizeOf(source(input).shape));
  return sizes.reduce((sum, size) => sum + size, 0) < sizeOf(node.shape);
}

/** Bytes of some values of a step. */
export function bytesOf(nodes: readonly Node[]): number {
  return nodes.reduce((sum, { shape, dtype }) => sum + sizeOf(shape) * bytesPerElement(dtype), 0);
}

/** Whether a node adds to a value, or has all of it in another shape: a part would need the rest computed again. */
function isLinear({ primitive }: OperationNode): boolean {
  return primitive === add || primitive.lower === "reshape";
}
