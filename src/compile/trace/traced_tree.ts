import { liftTogether } from "../../tensor/broadcast.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { type Tree, treeLeaves, withLeaves } from "../../tensor/tree.ts";
import { type ClosedOver, evaluate, GraphTrace, type Node, topological } from "./graph.ts";

/** A function of a tree of tensors that is traced once. A call repeats the traced operations, without running the function. */
export class TracedTree<A extends Tree, R> {
  readonly #inputs: readonly Node[];
  readonly #result: R;
  readonly #outputs: readonly Node[];
  readonly #closedOver: readonly ClosedOver[];

  /** @param like The shapes and types of the argument. */
  constructor(f: (argument: A) => R, like: A) {
    const trace = new GraphTrace();
    const inputs = treeLeaves(like).map((x) => trace.input(x));
    this.#inputs = inputs.map(({ node }) => node);
    this.#result = f(withLeaves(like, inputs.map(({ tensor }) => tensor)));
    this.#outputs = treeLeaves(this.#result).map((x) => trace.nodeOf(x));
    this.#closedOver = trace.popConstants();
  }

  /** All tensors that it closes over. */
  get closedOver(): readonly Tensor[] {
    return this.#closedOver.map(({ tensor }) => tensor);
  }

  /** The result, with other tensors in place of {@linkcode closedOver}. */
  call(argument: A, closedOver: readonly Tensor[]): R {
    const tensors = liftTogether([...treeLeaves(argument), ...closedOver]);
    const nodes = [...this.#inputs, ...this.#closedOver.map(({ node }) => node)];
    const values = new Map<Node, Tensor>(nodes.map((node, i) => [node, tensors[i]]));
    evaluate(topological(this.#outputs, values), values);
    return withLeaves(this.#result, this.#outputs.map((node) => values.get(node)!));
  }
}
