import { isFloat } from "../../device/dtype.ts";
import { liftTogether } from "../../tensor/broadcast.ts";
import { type TensorSpec, tracingGraph } from "../../tensor/primitive.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { reverse } from "./gradient.ts";
import {
  type ClosedOver,
  evaluate,
  GraphTrace,
  type Node,
  type OperationNode,
  topological,
} from "./graph.ts";

/** A function of tensors that is traced once. A call repeats the traced operations, without running the function. */
export class TracedFunction {
  readonly #inputs: readonly Node[];
  readonly #output: Node;
  /** All nodes that the output depends on, inputs before their readers. */
  readonly #nodes: readonly Node[];
  readonly #closedOver: readonly ClosedOver[];
  /** The floating-point tensors that the function closes over. */
  readonly constants: readonly Tensor[];
  /** A text of the graph, equal for equal graphs. */
  readonly text: string;

  /** @param like The shapes and types of the arguments. */
  constructor(f: (...inputs: Tensor[]) => Tensor, ...like: TensorSpec[]) {
    const trace = new GraphTrace();
    const inputs = like.map((spec) => trace.input(spec));
    this.#output = trace.nodeOf(tracingGraph(() => f(...inputs.map(({ tensor }) => tensor))));
    this.#inputs = inputs.map(({ node }) => node);
    this.text = trace.textOf(this.#inputs, [this.#output]);
    this.#nodes = topological([this.#output]);
    const used = new Set(this.#nodes);
    this.#closedOver = trace.popConstants().filter(({ node }) => used.has(node));
    this.constants = this.#closedOver.flatMap(({ node, tensor }) => isFloat(node.dtype) ? [tensor] : []);
  }

  /** Whether the output depends on an argument. */
  uses(input: number): boolean {
    return this.#nodes.includes(this.#inputs[input]);
  }

  /** The output. */
  call(...inputs: Tensor[]): Tensor {
    return this.callWith(inputs, this.closedOver);
  }

  /** The output, with other tensors in place of {@linkcode closedOver}. */
  callWith(inputs: readonly Tensor[], closedOver: readonly Tensor[]): Tensor {
    return this.#values(inputs, closedOver).get(this.#output)!;
  }

  /** All tensors that it closes over. */
  get closedOver(): readonly Tensor[] {
    return this.#closedOver.map(({ tensor }) => tensor);
  }

  #values(inputs: readonly Tensor[], closedOver = this.closedOver): Map<Node, Tensor> {
    // As a symbol, a bias stays a vector that the samples share. Otherwise it would be broadcast before the loop is traced.
    const tensors = liftTogether([...inputs, ...closedOver]);
    const nodes = [...this.#inputs, ...this.#closedOver.map(({ node }) => node)];
    const values = new Map<Node, Tensor>(nodes.map((node, i) => [node, tensors[i]]));
    evaluate(this.#nodes.filter((node) => node.kind !== "input"), values);
    return values;
  }

  /**
   * Gradients, given the gradient of the output.
   *
   * @param input Position of the argument whose gradient is wanted.
   * @param constants The constants whose gradients are wanted.
   * @param closedOver Other tensors in place of {@linkcode closedOver}.
   * @returns Gradients; undefined if zero.
   */
  pull(
    inputs: readonly Tensor[],
    cotangent: Tensor,
    input: number,
    constants: readonly Tensor[],
    closedOver = this.closedOver,
  ): { output: Tensor; gradient?: Tensor; ofConstants: (Tensor | undefined)[] } {
    const values = this.#values(inputs, closedOver);
    const nodes = new Map(this.#closedOver.map(({ node, tensor }) => [tensor, node]));
    const wanted = [this.#inputs[input], ...constants.map((x) => nodes.get(x)!)];
    const cotangents = new Map<Node, Tensor>([[this.#output, cotangent]]);
    const operations = this.#nodes.filter((node): node is OperationNode => node.kind === "operation");
    reverse(operations, (node) => values.get(node)!, cotangents, new Set(wanted));
    const [gradient, ...ofConstants] = wanted.map((node) => cotangents.get(node));
    return { output: values.get(this.#output)!, gradient, ofConstants };
  }
}
