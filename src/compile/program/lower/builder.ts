/** A program under construction: memory, inputs and kernels. */
import type { DType } from "../../../device/dtype.ts";
import { constant, identity, instantiate, type Scalar } from "../../../device/scalar/scalar.ts";
import { contiguousStrides, type Shape, sizeOf } from "../../../device/shape.ts";
import type { Node } from "../../trace/graph.ts";
import type { Input, Kernel, Operand, Slot } from "../program.ts";
import type { HoistedLoop } from "../../loop/hoisted_loop.ts";
import { Uncompilable } from "../../trace/uncompilable.ts";
import type { Value } from "./values.ts";

/** A program under construction. */
export class Builder {
  /** Lowered values, by node. */
  readonly values = new Map<Node, Value>();
  /** Number of readers of each node. */
  readonly uses = new Map<Node, number>();
  readonly slots: Slot[] = [];
  readonly inputs: Input[] = [];
  /** The node of each input. */
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

  /** The slot of a state. */
  slotOf(state: Node): number | undefined {
    const value = this.values.get(state);
    return value?.kind === "sample" ? value.operand.slot : undefined;
  }

  /** The shape of one sample, from the shape of a value with all samples. */
  perSample(shape: Shape): number[] {
    const { batch } = this;
    if (batch === 1) return [...shape];
    if (shape.length === 0 || shape[0] % batch !== 0) {
      throw new Uncompilable(`a value of shape (${shape}) cannot be split into ${batch} samples`);
    }
    return [shape[0] / batch, ...shape.slice(1)];
  }

  /** Adds a slot. A `persistent` slot keeps its values from step to step. */
  newOperand(shape: Shape, dtype: DType, persistent = false): Operand {
    this.slots.push({ size: sizeOf(shape), dtype, persistent });
    return { slot: this.slots.length - 1, dtype, shape, strides: contiguousStrides(shape), offset: 0 };
  }

  /** Adds an input of the program. Samples share it if it has no slot. */
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

  /** The value of a node. Inputs besides the states become views of the batch. */
  value(node: Node): Value {
    const known = this.values.get(node);
    if (known) return known;
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

  /** The first invariant of the loop with the elements of a constant: an earlier constant may be read outside of the loop only. */
  #firstLike(node: Node & { kind: "constant" }): Node {
    const original = node.sameAs ?? node;
    const isLike = (other: Node) => other.kind === "constant" && (other.sameAs ?? other) === original;
    return this.loop.invariants.find(isLike) ?? node;
  }

  /** A view of an input, for one sample. */
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

  /** A view of an input that all samples share. */
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

  /** The value of a node in memory, in the shape of one sample. */
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

  /** The same values, row-major in a slot. */
  contiguous(operand: Operand): Operand {
    const expected = contiguousStrides(operand.shape);
    const fits = operand.shape.every((length, axis) =>
      length === 1 || operand.strides[axis] === expected[axis]
    );
    return fits && operand.slot !== undefined ? { ...operand, strides: expected } : this.copy(operand);
  }

  /** The same values without negative strides, which matrix products cannot read. */
  ascending(operand: Operand): Operand {
    return operand.strides.some((stride) => stride < 0) ? this.copy(operand) : operand;
  }
}
