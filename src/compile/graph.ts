/** The body of a loop as a graph of primitives. */
import type { DType } from "../device/dtype.ts";
import type { Shape } from "../device/shape.ts";
import { apply, type Primitive, record, recorderDepth, type TensorSpec } from "../tensor/primitive.ts";
import { Symbolic, type Trace } from "../tensor/symbolic.ts";
import { Tensor } from "../tensor/tensor.ts";

/** A value that the body is given. */
export interface InputNode {
  readonly kind: "input";
  readonly shape: Shape;
  readonly dtype: DType;
}

/** A tensor that the body closes over. */
export interface ConstantNode {
  readonly kind: "constant";
  readonly shape: Shape;
  readonly dtype: DType;
  readonly tensor: Tensor;
}

/** A number in every element. */
export interface LiteralNode {
  readonly kind: "literal";
  readonly shape: Shape;
  readonly dtype: DType;
  readonly value: number;
}

/** A primitive applied to other nodes. */
export interface OperationNode {
  readonly kind: "operation";
  readonly shape: Shape;
  readonly dtype: DType;
  // deno-lint-ignore no-explicit-any
  readonly primitive: Primitive<any>;
  readonly params: unknown;
  readonly inputs: readonly Node[];
}

export type Node = InputNode | ConstantNode | LiteralNode | OperationNode;

/** Symbolic tensors and the nodes behind them: what a function of tensors did, as a graph. */
export class GraphTrace implements Trace {
  readonly recorderDepth = recorderDepth();
  readonly #nodes = new Map<Symbolic, Node>();
  readonly #constants = new Map<Tensor, Node>();
  /** Equal operations on equal inputs are one node. */
  readonly #known = new Map<string, Tensor>();
  readonly #numbers = new Map<Node, number>();

  /** A symbolic tensor for a new input. */
  input({ shape, dtype }: TensorSpec): { node: InputNode; tensor: Tensor } {
    const node: InputNode = { kind: "input", shape: [...shape], dtype };
    return { node, tensor: this.#symbolFor(node) };
  }

  /** The node of a tensor; a constant when it was made outside. */
  nodeOf(x: Tensor): Node {
    const { storage } = x;
    if (storage instanceof Symbolic) {
      const node = this.#nodes.get(storage);
      if (!node) {
        throw new Error("a tensor of one traced loop is used in another: loops may not nest that way");
      }
      return node;
    }
    let node = this.#constants.get(x);
    if (!node) {
      const { shape, dtype, source } = storage;
      node = typeof source === "number"
        ? { kind: "literal", shape, dtype, value: source }
        : { kind: "constant", shape, dtype, tensor: x };
      this.#constants.set(x, node);
    }
    return node;
  }

  apply<P>(primitive: Primitive<P>, inputs: readonly Tensor[], params: P, spec: TensorSpec): Tensor {
    const nodes = inputs.map((x) => this.nodeOf(x));
    const key = this.#keyOf(primitive, nodes, params);
    let result = this.#known.get(key);
    if (!result) {
      const { shape, dtype } = spec;
      result = this.#symbolFor({ kind: "operation", shape, dtype, primitive, params, inputs: nodes });
      this.#known.set(key, result);
    }
    // A tape tells tensors apart by identity, so that each application needs a tensor of its own.
    return new Tensor(result.storage);
  }

  /** The node of a primitive applied to nodes, if there is one. */
  find<P>(primitive: Primitive<P>, inputs: readonly Node[], params: P): Node | undefined {
    const result = this.#known.get(this.#keyOf(primitive, inputs, params));
    return result && this.nodeOf(result);
  }

  #keyOf<P>(primitive: Primitive<P>, inputs: readonly Node[], params: P): string {
    return `${primitive.name} ${inputs.map((node) => this.#describe(node))} ${JSON.stringify(params)}`;
  }

  lift(x: Tensor): Tensor {
    const symbol = this.#symbolFor(this.nodeOf(x));
    record([x], [symbol], (cotangents) => [...cotangents]);
    return symbol;
  }

  #symbolFor(node: Node): Tensor {
    const symbol = new Symbolic(this, { shape: node.shape, dtype: node.dtype });
    this.#nodes.set(symbol, node);
    return new Tensor(symbol);
  }

  #describe(node: Node): string {
    if (node.kind === "literal") return `${node.value} ${node.dtype} (${node.shape})`;
    let number = this.#numbers.get(node);
    if (number === undefined) this.#numbers.set(node, number = this.#numbers.size);
    return `#${number}`;
  }
}

/** Every node that some others need, arguments before those who use them; nodes that are `given` need no arguments. */
export function topological(roots: Iterable<Node>, given?: { has(node: Node): boolean }): Node[] {
  const order = new Set<Node>();
  const visit = (node: Node) => {
    if (order.has(node)) return;
    if (node.kind === "operation" && !given?.has(node)) node.inputs.forEach(visit);
    order.add(node);
  };
  for (const root of roots) visit(root);
  return [...order];
}

/** Applies a graph's operations to other tensors: `values` holds those of its inputs and takes up those of its nodes. */
export function evaluate(nodes: readonly Node[], values: Map<Node, Tensor>): void {
  for (const node of nodes) {
    if (values.has(node)) continue;
    if (node.kind === "constant") values.set(node, node.tensor);
    else if (node.kind === "literal") values.set(node, literal(node));
    else if (node.kind === "operation") {
      values.set(node, apply(node.primitive, node.inputs.map((input) => values.get(input)!), node.params));
    } else throw new Error("an input of the graph was given no value");
  }
}

/** A literal node as a tensor. */
export function literal({ value, shape, dtype }: LiteralNode): Tensor {
  return new Tensor({ source: value, dtype, shape, strides: shape.map(() => 0), offset: 0 });
}
