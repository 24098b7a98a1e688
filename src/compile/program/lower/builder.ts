/** Collects the slots, inputs and kernels of a program while a loop is lowered. */
import type { DType } from "../../../device/dtype.ts";
import { constant, identity, instantiate, type Scalar } from "../../../device/scalar/scalar.ts";
import { contiguousStrides, type Shape, sizeOf } from "../../../device/shape.ts";
import type { Node } from "../../trace/graph.ts";
import type { Input, Kernel, Operand, Slot } from "../program.ts";
import type { HoistedLoop } from "../../loop/hoisted_loop.ts";
import { Uncompilable } from "../../trace/uncompilable.ts";
import type { Value } from "./values.ts";

/** The slots, inputs and kernels that lowering has added so far. */
export class Builder {
  /** Lowered values, by node. */
  readonly values = new Map<Node, Value>();
  /** Number of times that each node is read: by operations of the body, as next state, as output or as sum. */
  readonly uses = new Map<Node, number>();
  readonly slots: Slot[] = [];
  readonly inputs: Input[] = [];
  /** The node of each member of `inputs`. */
  readonly inputNodes: Node[] = [];
  readonly #inputAt = new Map<Node, { sample?: number; shared?: number }>();
  readonly kernels: Kernel[] = [];
  readonly sums: { slot: number; over: "steps" | "steps and samples" }[] = [];
  readonly weightGradients: number[] = [];
  readonly #rows: ReadonlySet<Node>;

  /** @param batch Number of samples. */
  constructor(readonly loop: HoistedLoop, readonly batch: number) {
    this.#rows = new Set(loop.rows);
    const { next, sums } = loop.graph;
    const readers = [...loop.body.flatMap((node) => node.inputs), ...next, ...loop.outputs, ...sums];
    for (const node of readers) this.uses.set(node, (this.uses.get(node) ?? 0) + 1);
  }

  /** The slot that holds a state. Undefined if no operation of the loop has it in memory. */
  slotOf(state: Node): number | undefined {
    const value = this.values.get(state);
    return value?.kind === "sample" ? value.operand.slot : undefined;
  }

  /** The shape of one sample of a value whose first axis contains all samples. */
  perSample(shape: Shape): number[] {
    const { batch } = this;
    if (batch === 1) return [...shape];
    if (shape.length === 0 || shape[0] % batch !== 0) {
      throw new Uncompilable(`a value of shape (${shape}) cannot be split into ${batch} samples`);
    }
    return [shape[0] / batch, ...shape.slice(1)];
  }

  /** Adds a slot, and returns its view. A `persistent` slot keeps its values from step to step. */
  newOperand(shape: Shape, dtype: DType, persistent = false): Operand {
    this.slots.push({ size: sizeOf(shape), dtype, persistent });
    return { slot: this.slots.length - 1, dtype, shape, strides: contiguousStrides(shape), offset: 0 };
  }

  /** Adds an input of the program. Without a slot, all samples read the same values. */
  addInput(node: Node, role: Input["role"], slot: number | undefined): number {
    const size = slot === undefined ? sizeOf(node.shape) : sizeOf(node.shape) / this.batch;
    const padding = this.loop.gradients.has(node) ? "zero" : "repeat";
    this.inputs.push({ role, dtype: node.dtype, size, slot, padding });
    this.inputNodes.push(node);
    return this.inputs.length - 1;
  }

  #roleOf(node: Node): "row" | "constant" {
    return this.#rows.has(node) ? "row" : "constant";
  }

  /**
   * The lowered value of a node: a literal, a slot, or a view of an input of the loop. Rows and constants are copied
   * to a slot only if {@linkcode sample} needs one.
   */
  value(node: Node): Value {
    const lowered = this.values.get(node);
    if (lowered) return lowered;
    if (node.kind === "literal") return { kind: "literal", value: node.value, dtype: node.dtype };
    if (node.kind === "operation" && !this.#rows.has(node) && !this.loop.invariants.includes(node)) {
      throw new Error("an operation is read before it is lowered");
    }
    return {
      kind: "input",
      input: node.kind === "constant" ? this.#firstLike(node) : node,
      shape: node.shape,
      strides: contiguousStrides(node.shape),
      offset: 0,
    };
  }

  /**
   * The first loop invariant with the same elements as a constant. The constant itself can be missing from the
   * invariants, if only operations outside of the loop read it.
   */
  #firstLike(node: Node & { kind: "constant" }): Node {
    const original = node.sameAs ?? node;
    const isLike = (other: Node) => other.kind === "constant" && (other.sameAs ?? other) === original;
    return this.loop.invariants.find(isLike) ?? node;
  }

  /** Views a sample's part of an input: a slot that is filled for each sample, or values that all samples share. */
  #inputAsSample({ input, shape, strides, offset }: Value & { kind: "input" }): Operand {
    const { batch } = this;
    const sampleShape = this.perSample(shape);
    if (batch > 1 && strides[0] === 0) {
      return this.sharedOperand(input, sampleShape, strides, offset);
    }
    const block = sizeOf(input.shape) / batch;
    if (!Number.isInteger(block) || batch > 1 && (strides[0] * sampleShape[0] !== block || offset >= block)) {
      throw new Uncompilable(`an input of shape (${input.shape}) cannot be split into ${batch} samples`);
    }
    const at = this.#inputAt.get(input) ?? {};
    if (at.sample === undefined) {
      const slot = this.newOperand([block], input.dtype, true).slot!;
      at.sample = this.addInput(input, this.#roleOf(input), slot);
      this.#inputAt.set(input, at);
    }
    return { slot: this.inputs[at.sample].slot, dtype: input.dtype, shape: sampleShape, strides, offset };
  }

  /** Views an input whose values all samples share. */
  sharedOperand(input: Node, shape: Shape, strides: readonly number[], offset: number): Operand {
    // A shared gradient would not be zero in the padding lanes of a tile.
    if (this.batch > 1 && this.loop.gradients.has(input)) {
      throw new Uncompilable("the gradient of a sum over the samples of a batch is not supported");
    }
    const at = this.#inputAt.get(input) ?? {};
    at.shared ??= this.addInput(input, this.#roleOf(input), undefined);
    this.#inputAt.set(input, at);
    return { shared: at.shared, dtype: input.dtype, shape, strides, offset };
  }

  /** Puts the value of a node into memory. The operand has the shape of one sample. */
  sample(node: Node): Operand {
    const value = this.value(node);
    switch (value.kind) {
      case "sample":
        return value.operand;
      case "input":
        return this.#inputAsSample(value);
      case "literal":
        return this.map(
          constant(value.value, value.dtype),
          [],
          this.newOperand(this.perSample(node.shape), node.dtype),
        );
    }
    throw new Uncompilable("an operation mixes the samples of a batch");
  }

  /** Adds an elementwise kernel. */
  map(expression: Scalar, operands: readonly Operand[], output: Operand): Operand {
    this.kernels.push({ kind: "map", expression, operands, output });
    return output;
  }

  copy(operand: Operand, output = this.newOperand(operand.shape, operand.dtype)): Operand {
    return this.map(instantiate(identity, [operand.dtype]), [operand], output);
  }

  /** Copies an operand to a new slot, unless it is row-major in a slot already. */
  contiguous(operand: Operand): Operand {
    const expected = contiguousStrides(operand.shape);
    const fits = operand.shape.every((length, axis) =>
      length === 1 || operand.strides[axis] === expected[axis]
    );
    return fits && operand.slot !== undefined ? { ...operand, strides: expected } : this.copy(operand);
  }

  /** Copies an operand with negative strides, which matrix products cannot read. */
  ascending(operand: Operand): Operand {
    return operand.strides.some((stride) => stride < 0) ? this.copy(operand) : operand;
  }
}
