/** A function of tensors, such as the body of a loop, as a graph of primitives. */
import { postOrder } from "../../device/scalar/post_order.ts";
import { sameShape } from "../../device/shape.ts";
import { numberText } from "../../device/scalar/structure_text.ts";
import { numberView } from "../../device/view.ts";
import {
  apply,
  nextLevel,
  type Primitive,
  record,
  type RecordingState,
  recordingState,
  type TensorSpec,
  type Trace,
} from "../../tensor/primitive.ts";
import { Symbolic } from "../../tensor/symbolic.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { idOf } from "../program/identity.ts";
import { Uncompilable } from "./uncompilable.ts";

/** An input of the traced function. */
interface InputNode extends TensorSpec {
  readonly kind: "input";
}

/** A tensor that the traced function closes over. The graph does not hold the tensor, so the graph can be reused with other tensors. */
interface ConstantNode extends TensorSpec {
  readonly kind: "constant";
  /** An earlier constant with the same elements of the same memory: each stage of a solve may transpose the weights again. */
  readonly sameAs?: ConstantNode;
}

/** A number in every element. */
interface LiteralNode extends TensorSpec {
  readonly kind: "literal";
  readonly value: number;
}

/** A primitive applied to other nodes. */
export interface OperationNode extends TensorSpec {
  readonly kind: "operation";
  // deno-lint-ignore no-explicit-any
  readonly primitive: Primitive<any>;
  readonly params: unknown;
  readonly inputs: readonly Node[];
}

export type Node = InputNode | ConstantNode | LiteralNode | OperationNode;

/** The results of a step of a loop. */
export interface LoopNodes {
  readonly state: readonly Node[];
  /** The state after the step, in the order of `state`. */
  readonly next: readonly Node[];
  /** Values of every step. */
  readonly outputs: readonly Node[];
  /** Values summed over the steps. */
  readonly sums: readonly Node[];
}

const whyNoValues = "a tensor has no values while a function is traced, so the function cannot read them";

/** A tensor that a traced function closes over, and its node. */
export interface ClosedOver {
  readonly node: ConstantNode;
  readonly tensor: Tensor;
}

/** Traces the operations of a function of tensors as a graph. */
export class GraphTrace implements Trace {
  readonly level = nextLevel();
  #outer = recordingState();
  readonly #nodes = new Map<Symbolic, Node>();
  readonly #symbols = new Map<Node, Symbolic>();
  #constants = new Map<Tensor, ConstantNode>();
  /** Common subexpressions: operations by primitive, inputs and parameters. */
  readonly #operations = new Map<string, OperationNode>();
  readonly #numbers = new Map<Node, number>();
  /** One line per node, in order. */
  readonly #lines: string[] = [];

  get outer(): RecordingState {
    return this.#outer;
  }

  /** Ends the tracing. A cached graph does not keep the tensors of recorders in memory. */
  end(): void {
    this.#outer = { recorders: [], isRecordedOutside: false, transformation: undefined };
  }

  /** A symbolic tensor for a new input. */
  input({ shape, dtype }: TensorSpec): { node: InputNode; tensor: Tensor } {
    const node: InputNode = { kind: "input", shape: [...shape], dtype };
    this.#enter(node, `input ${dtype} ${shape}`);
    return { node, tensor: this.symbol(node) };
  }

  /** The node of a tensor; a constant if the tensor was made outside of the trace. */
  nodeOf(x: Tensor): Node {
    const { storage } = x;
    if (storage instanceof Symbolic) {
      const node = this.#nodes.get(storage);
      if (node) return node;
      if (storage.trace instanceof GraphTrace) {
        throw new Uncompilable("the body of an inner loop uses a tensor of the outer loop's body");
      }
    } else if (typeof storage.source === "number") {
      return { kind: "literal", shape: x.shape, dtype: x.dtype, value: storage.source };
    }
    const { shape, dtype } = x;
    let node = this.#constants.get(x);
    if (!node) {
      const same = [...this.#constants].find(([other]) => hasSameElements(other, x));
      node = { kind: "constant", shape, dtype, sameAs: same && (same[1].sameAs ?? same[1]) };
      this.#enter(node, `constant ${dtype} ${shape} ${node.sameAs ? this.#numbers.get(node.sameAs) : ""}`);
      this.#constants.set(x, node);
    }
    return node;
  }

  /** Returns and removes the tensors that were closed over since the last call. */
  popConstants(): ClosedOver[] {
    const constants = Array.from(this.#constants, ([tensor, node]) => ({ node, tensor }));
    this.#constants = new Map();
    return constants;
  }

  apply<P>(primitive: Primitive<P>, inputs: readonly Tensor[], params: P, spec: TensorSpec): Tensor {
    return this.symbol(this.operation(primitive, inputs.map((x) => this.nodeOf(x)), params, spec));
  }

  /** The node of a primitive applied to nodes. */
  operation<P>(
    primitive: Primitive<P>,
    inputs: readonly Node[],
    params: P,
    { shape, dtype }: TensorSpec,
  ): OperationNode {
    const key = this.#keyOf(primitive, inputs, params);
    let node = this.#operations.get(key);
    if (!node) {
      node = { kind: "operation", shape, dtype, primitive, params, inputs };
      this.#enter(node, key);
      this.#operations.set(key, node);
    }
    return node;
  }

  /** The existing node of a primitive applied to nodes, or undefined. */
  find<P>(primitive: Primitive<P>, inputs: readonly Node[], params: P): Node | undefined {
    return this.#operations.get(this.#keyOf(primitive, inputs, params));
  }

  /** A new symbolic tensor for a node: gradient tapes distinguish tensors by identity. */
  symbol(node: Node): Tensor {
    let symbol = this.#symbols.get(node);
    if (!symbol) {
      symbol = new Symbolic(this, { shape: node.shape, dtype: node.dtype }, whyNoValues);
      this.#symbols.set(node, symbol);
      this.#nodes.set(symbol, node);
    }
    return new Tensor(symbol);
  }

  lift(x: Tensor): Tensor {
    const symbol = this.symbol(this.nodeOf(x));
    record([x], [symbol], (cotangents) => [...cotangents]);
    return symbol;
  }

  /** A text of the graph and its results, equal for equal graphs. */
  textOf(...results: (readonly Node[])[]): string {
    const roots = results.map((nodes) => nodes.map((node) => this.#describe(node)).join());
    return [...this.#lines, ...roots].join("\n");
  }

  #enter(node: Node, line: string): void {
    this.#numbers.set(node, this.#numbers.size);
    this.#lines.push(line);
  }

  #keyOf<P>(primitive: Primitive<P>, inputs: readonly Node[], params: P): string {
    return `${idOf(primitive)} ${inputs.map((node) => this.#describe(node))} ${JSON.stringify(params)}`;
  }

  #describe(node: Node): string {
    if (node.kind !== "literal") return `#${this.#numbers.get(node)}`;
    return `${numberText(node.value)} ${node.dtype} (${node.shape})`;
  }
}

/** Whether two tensors have the same elements of the same memory. */
export function hasSameElements({ storage: a }: Tensor, { storage: b }: Tensor): boolean {
  if (a instanceof Symbolic || b instanceof Symbolic) return a === b;
  return a.source === b.source && a.offset === b.offset && a.dtype === b.dtype &&
    sameShape(a.shape, b.shape) && sameShape(a.strides, b.strides);
}

/** All nodes that `roots` depend on, inputs before their readers. Inputs of `sources` are not visited. */
export function topological(roots: Iterable<Node>, sources?: { has(node: Node): boolean }): Node[] {
  return postOrder(roots, (node) => node.kind === "operation" && !sources?.has(node) ? node.inputs : []);
}

/** `roots`, and the members of `nodes` that are computed from them. */
export function dependingOn(roots: readonly Node[], nodes: readonly Node[]): Set<Node> {
  const dependents = new Set(roots);
  for (const node of nodes) {
    if (node.kind === "operation" && node.inputs.some((input) => dependents.has(input))) dependents.add(node);
  }
  return dependents;
}

/** Evaluates nodes in order. `values` must hold the values of inputs and constants; all other values are added. */
export function evaluate(nodes: readonly Node[], values: Map<Node, Tensor>): void {
  for (const node of nodes) {
    if (values.has(node)) continue;
    if (node.kind === "literal") values.set(node, literal(node));
    else if (node.kind === "operation") {
      values.set(node, apply(node.primitive, node.inputs.map((input) => values.get(input)!), node.params));
    } else throw new Error(`a node of the graph has no value: ${node.kind}`);
  }
}

/** A literal node as a tensor. */
export function literal({ value, shape, dtype }: LiteralNode): Tensor {
  return new Tensor(numberView(value, shape, dtype));
}
