/**
 * Turns the graph of a loop's body, written for a batch, into a {@linkcode Program} for one sample. Where samples do not
 * mix, a value of the batch is a block for each sample, one after another: the first axis, divided by the batch.
 */
import type { Reduction } from "../device/device.ts";
import { type DType, isFloat } from "../device/dtype.ts";
import { constant, identity, instantiate, type Scalar } from "../device/scalar.ts";
import {
  broadcastStrides,
  contiguousStrides,
  reshapeStrides,
  sameShape,
  type Shape,
  sizeOf,
} from "../device/shape.ts";
import type { Elementwise } from "../tensor/primitives/elementwise.ts";
import { gather } from "../tensor/primitives/indexing.ts";
import { matmul } from "../tensor/primitives/linear_algebra.ts";
import * as reduction from "../tensor/primitives/reduction.ts";
import * as structural from "../tensor/primitives/structural.ts";
import type { ConstantNode, Node, OperationNode } from "./graph.ts";
import type { Input, Kernel, Operand, Program, Slot } from "./program.ts";
import { Uncompilable } from "./uncompilable.ts";

/** What a loop is made of, for a batch. */
export interface Loop {
  readonly batch: number;
  /** Operations in order. */
  readonly body: readonly OperationNode[];
  readonly state: readonly Node[];
  /** What it is given a row of in every step. */
  readonly rows: readonly Node[];
  /** What it is given besides constants, the same in all steps. */
  readonly fixed: readonly Node[];
  /** The state after a step, in the order of `state`. */
  readonly next: readonly Node[];
  /** What is written out in every step. */
  readonly outputs: readonly Node[];
  /** What is summed over all steps: gradients of constants. */
  readonly sums: readonly Node[];
  /** Inputs that are gradients. */
  readonly cotangents: ReadonlySet<Node>;
  readonly backward: boolean;
}

/** A program, and how to call it. */
export interface Lowered {
  readonly program: Program;
  /** The node behind each of the program's inputs. */
  readonly inputs: readonly Node[];
  /** How each of the loop's sums comes out. */
  readonly sums: readonly Sum[];
  /** Where each of the loop's outputs comes out: by sample, or summed over the samples. */
  readonly outputs: readonly { readonly from: "outputs" | "stepSums"; readonly position: number }[];
}

/** A value summed over the steps: a sum of the program, a total, or something to compute from those after the loop. */
export type Sum =
  | { readonly from: "sum"; readonly position: number; readonly shape: Shape }
  | { readonly from: "total"; readonly position: number; readonly shape: Shape }
  | { readonly from: "after"; readonly node: OperationNode; readonly inputs: readonly (Sum | Node)[] }
  | undefined;

/** Expressions with more operands than this are cut. */
const mostOperands = 12;

/** Leaves of an expression under construction, with what they read. */
type Leaves = Map<Scalar, Operand>;

/** How a node's value is had in the program of one sample. */
type Value =
  /** Each sample has its own; the shape is one sample's. */
  | { readonly kind: "sample"; readonly operand: Operand }
  /** As `sample`, not computed yet: its only reader computes it. */
  | {
    readonly kind: "lazy";
    readonly expression: Scalar;
    readonly leaves: Leaves;
    readonly shape: Shape;
    readonly dtype: DType;
  }
  /** A view of an input, in the batch's shape. Who reads it decides whether samples share it. */
  | {
    readonly kind: "open";
    readonly input: Node;
    readonly shape: Shape;
    readonly strides: readonly number[];
    readonly offset: number;
  }
  | { readonly kind: "literal"; readonly value: number; readonly dtype: DType }
  /** The transpose of a matrix whose rows are the samples. */
  | { readonly kind: "transposed"; readonly of: Operand }
  /** The sum over the samples of what each has; the shape is the sum's. */
  | { readonly kind: "overSamples"; readonly operand: Operand; readonly shape: Shape }
  /** Summed over samples and steps. */
  | { readonly kind: "summed"; readonly sum: NonNullable<Sum> };

/** @throws {Uncompilable} When samples mix, or an operation has no kernel. */
export function lower(loop: Loop): Lowered {
  return new Lowering(loop).run();
}

class Lowering {
  readonly #loop: Loop;
  readonly #values = new Map<Node, Value>();
  readonly #uses = new Map<Node, number>();
  readonly #slots: Slot[] = [];
  readonly #inputs: Input[] = [];
  readonly #inputNodes: Node[] = [];
  /** Constants by their memory. */
  readonly #windows = new Map<unknown, ConstantNode[]>();
  readonly #inputAt = new Map<Node, { sample?: number; shared?: number }>();
  readonly #kernels: Kernel[] = [];
  readonly #sums: { slot: number; over: "steps" | "steps and samples" }[] = [];
  readonly #totals: number[] = [];
  readonly #rows: ReadonlySet<Node>;

  constructor(loop: Loop) {
    this.#loop = loop;
    this.#rows = new Set(loop.rows);
    const readers = [
      ...loop.body.flatMap((node) => node.inputs),
      ...loop.next,
      ...loop.outputs,
      ...loop.sums,
    ];
    for (const node of readers) this.#uses.set(node, (this.#uses.get(node) ?? 0) + 1);
  }

  run(): Lowered {
    const { body, state, next, outputs, sums, backward } = this.#loop;
    const dtype = state[0].dtype;
    if (dtype !== "float32" && dtype !== "float64") {
      throw new Uncompilable(`the state is ${dtype}, not a float`);
    }
    for (const node of state) {
      const operand = this.#newOperand(this.#perSample(node.shape), node.dtype, true);
      this.#addInput(node, "state", operand.slot);
      this.#values.set(node, { kind: "sample", operand });
    }
    for (const node of body) this.#values.set(node, this.#operation(node));
    const nextOperands = next.map((node, i) => {
      const operand = this.#contiguous(this.#sample(node));
      // States move one after another, so that one may not come from the place of another.
      const isMoved = state.some((other, j) => j !== i && this.#slotOf(other) === operand.slot);
      return isMoved ? this.#copy(operand) : operand;
    });
    const outputOperands: Operand[] = [];
    const stepSums: Operand[] = [];
    const places = outputs.map((node) => {
      const value = this.#value(node);
      if (value.kind === "overSamples") {
        return { from: "stepSums" as const, position: stepSums.push(this.#contiguous(value.operand)) - 1 };
      }
      return {
        from: "outputs" as const,
        position: outputOperands.push(this.#contiguous(this.#sample(node))) - 1,
      };
    });
    const summed = sums.map((node) => this.#sum(node));
    return {
      program: {
        dtype,
        slots: this.#slots,
        inputs: this.#inputs,
        kernels: this.#kernels,
        next: nextOperands,
        outputs: outputOperands,
        stepSums,
        sums: this.#sums,
        totals: this.#totals,
        backward,
      },
      inputs: this.#inputNodes,
      sums: summed,
      outputs: places,
    };
  }

  #slotOf(state: Node): number | undefined {
    const value = this.#values.get(state);
    return value?.kind === "sample" ? value.operand.slot : undefined;
  }

  #perSample(shape: Shape): number[] {
    const { batch } = this.#loop;
    if (batch === 1) return [...shape];
    if (shape.length === 0 || shape[0] % batch !== 0) {
      throw new Uncompilable("a value of the batch has no axis for the samples");
    }
    return [shape[0] / batch, ...shape.slice(1)];
  }

  #newOperand(shape: Shape, dtype: DType, persistent = false): Operand {
    this.#slots.push({ size: sizeOf(shape), dtype, persistent });
    return { slot: this.#slots.length - 1, dtype, shape, strides: contiguousStrides(shape), offset: 0 };
  }

  #addInput(node: Node, role: Input["role"], slot: number | undefined): number {
    const size = slot === undefined ? sizeOf(node.shape) : sizeOf(node.shape) / this.#loop.batch;
    const padding = this.#loop.cotangents.has(node) ? "zero" : "repeat";
    this.#inputs.push({ role, dtype: node.dtype, size, slot, padding });
    this.#inputNodes.push(node);
    return this.#inputs.length - 1;
  }

  #roleOf(node: Node): "row" | "constant" {
    return this.#rows.has(node) ? "row" : "constant";
  }

  /** A node's value; inputs that are not state stay open. */
  #value(node: Node): Value {
    const known = this.#values.get(node);
    if (known) return known;
    if (node.kind === "literal") return { kind: "literal", value: node.value, dtype: node.dtype };
    if (node.kind === "operation" && !this.#rows.has(node) && !this.#loop.fixed.includes(node)) {
      throw new Error("an operation is read before it is lowered");
    }
    return {
      kind: "open",
      input: this.#sameWindow(node),
      shape: node.shape,
      strides: contiguousStrides(node.shape),
      offset: 0,
    };
  }

  /** The first node with the same elements of the same memory: every stage of a solve transposes its weights anew. */
  #sameWindow(node: Node): Node {
    if (node.kind !== "constant") return node;
    const { source, offset, shape, strides } = node.tensor.view;
    const known = this.#windows.get(source) ?? [];
    const same = known.find(({ tensor: { view } }) =>
      view.dtype === node.dtype && view.offset === offset && sameShape(view.shape, shape) &&
      sameShape(view.strides, strides)
    );
    if (!same) this.#windows.set(source, [...known, node]);
    return same ?? node;
  }

  /** A view of an open input as each sample sees it. */
  #openAsSample({ input, shape, strides, offset }: Value & { kind: "open" }): Operand {
    const { batch } = this.#loop;
    const own = this.#perSample(shape);
    if (batch > 1 && strides[0] === 0) {
      return this.#sharedOperand(input, own, strides, offset);
    }
    const block = sizeOf(input.shape) / batch;
    if (!Number.isInteger(block) || batch > 1 && (strides[0] * own[0] !== block || offset >= block)) {
      throw new Uncompilable(`an input of shape (${input.shape}) cannot be told apart into ${batch} samples`);
    }
    const at = this.#inputAt.get(input) ?? {};
    if (at.sample === undefined) {
      const slot = this.#newOperand([block], input.dtype, true).slot!;
      at.sample = this.#addInput(input, this.#roleOf(input), slot);
      this.#inputAt.set(input, at);
    }
    return { slot: this.#inputs[at.sample].slot, dtype: input.dtype, shape: own, strides, offset };
  }

  #sharedOperand(input: Node, shape: Shape, strides: readonly number[], offset: number): Operand {
    const at = this.#inputAt.get(input) ?? {};
    at.shared ??= this.#addInput(input, this.#roleOf(input), undefined);
    this.#inputAt.set(input, at);
    return { shared: at.shared, dtype: input.dtype, shape, strides, offset };
  }

  /** A node's value in memory, one sample's shape. */
  #sample(node: Node): Operand {
    const value = this.#value(node);
    switch (value.kind) {
      case "sample":
        return value.operand;
      case "lazy":
        return this.#materialize(value);
      case "open":
        return this.#openAsSample(value);
      case "literal": {
        const shape = this.#perSample(node.shape);
        const output = this.#newOperand(shape, node.dtype);
        this.#kernels.push({
          kind: "map",
          expression: constant(value.value, node.dtype),
          operands: [],
          output,
        });
        return output;
      }
    }
    throw new Uncompilable("a value mixes the samples of a batch");
  }

  #materialize({ expression, leaves, shape, dtype }: Value & { kind: "lazy" }): Operand {
    const output = this.#newOperand(shape, dtype);
    this.#kernels.push({ kind: "map", ...number(expression, leaves), output });
    return output;
  }

  #copy(operand: Operand, output = this.#newOperand(operand.shape, operand.dtype)): Operand {
    const expression = instantiate(identity, [operand.dtype]);
    this.#kernels.push({ kind: "map", expression, operands: [operand], output });
    return output;
  }

  /** The same values without gaps, in a slot. */
  #contiguous(operand: Operand): Operand {
    const expected = contiguousStrides(operand.shape);
    const fits = operand.shape.every((length, axis) =>
      length === 1 || operand.strides[axis] === expected[axis]
    );
    return fits && operand.slot !== undefined ? { ...operand, strides: expected } : this.#copy(operand);
  }

  /** The same values, none of whose axes runs backwards: what matrix products read. */
  #ascending(operand: Operand): Operand {
    return operand.strides.some((stride) => stride < 0) ? this.#copy(operand) : operand;
  }

  /** A node's value as a leaf or a piece of an expression. */
  #expression(node: Node, leaves: Leaves): Scalar {
    const value = this.#value(node);
    if (value.kind === "literal") return constant(value.value, value.dtype);
    if (value.kind === "lazy") {
      for (const [leaf, operand] of value.leaves) leaves.set(leaf, operand);
      return value.expression;
    }
    const operand = this.#sample(node);
    for (const [leaf, known] of leaves) if (known === operand) return leaf;
    const leaf: Scalar = { op: "input", type: operand.dtype, args: [], value: -1 };
    leaves.set(leaf, operand);
    return leaf;
  }

  #operation(node: OperationNode): Value {
    const { primitive, inputs } = node;
    const values = inputs.map((input) => this.#value(input));
    if (values.some((value) => value.kind === "summed" || value.kind === "overSamples")) {
      return this.#ofSums(node, values);
    }
    // deno-lint-ignore no-explicit-any
    const params = node.params as any;
    if ("fn" in primitive) return this.#elementwise(node, primitive as Elementwise);
    switch (primitive) {
      case structural.broadcastTo:
        return this.#broadcast(node, values[0]);
      case structural.reshape: {
        const shape = this.#perSample(node.shape);
        const operand = this.#sample(inputs[0]);
        const strides = reshapeStrides(operand.shape, operand.strides, shape);
        if (strides) return { kind: "sample", operand: { ...operand, shape, strides } };
        return {
          kind: "sample",
          operand: { ...this.#copy(operand), shape, strides: contiguousStrides(shape) },
        };
      }
      case structural.permute:
        return this.#permute(this.#sample(inputs[0]), params.axes);
      case structural.slice:
      case structural.embed:
        return { kind: "sample", operand: this.#grid(node, params) };
      case structural.concatenate:
        return { kind: "sample", operand: this.#concatenate(node, params.axis) };
      case reduction.sum:
      case reduction.max:
      case reduction.min:
        return this.#reduce(node, params.axes);
      case matmul:
        return this.#matmul(node, values);
      case gather:
        return this.#gather(node, values[0]);
    }
    throw new Uncompilable(`${primitive.name} has no kernel inside a loop`);
  }

  #elementwise(node: OperationNode, { fn }: Elementwise): Value {
    const leaves: Leaves = new Map();
    const expression = fn.build(...node.inputs.map((input) => this.#expression(input, leaves)));
    const value = {
      kind: "lazy",
      expression,
      leaves,
      shape: this.#perSample(node.shape),
      dtype: node.dtype,
    } as const;
    if (this.#uses.get(node) === 1 && leaves.size <= mostOperands && this.#readerFuses(node)) return value;
    return { kind: "sample", operand: this.#materialize(value) };
  }

  /** Whether the only reader of a node computes it along the way. */
  #readerFuses(node: Node): boolean {
    const reader = this.#loop.body.find((other) => other.inputs.includes(node));
    return reader !== undefined &&
      ("fn" in reader.primitive || isReduction(reader) && !this.#overSamples(reader));
  }

  #overSamples({ params }: OperationNode): boolean {
    return this.#loop.batch > 1 && (params as { axes: number[] }).axes.includes(0);
  }

  #broadcast(node: OperationNode, value: Value): Value {
    const [{ shape: from }] = node.inputs;
    if (value.kind === "open") {
      return {
        ...value,
        shape: node.shape,
        strides: broadcastStrides(value.shape, value.strides, node.shape),
      };
    }
    if (value.kind === "literal") return value;
    const keepsSamples = from.length === node.shape.length && from[0] === node.shape[0];
    if (this.#loop.batch > 1 && !keepsSamples) {
      throw new Uncompilable("a sample's value is spread over the batch");
    }
    const operand = this.#sample(node.inputs[0]);
    const shape = this.#perSample(node.shape);
    return {
      kind: "sample",
      operand: { ...operand, shape, strides: broadcastStrides(operand.shape, operand.strides, shape) },
    };
  }

  #permute(operand: Operand, axes: readonly number[]): Value {
    if (this.#loop.batch > 1 && axes[0] !== 0) {
      if (axes.length === 2) return { kind: "transposed", of: operand };
      throw new Uncompilable("the axis of the samples is moved");
    }
    return {
      kind: "sample",
      operand: {
        ...operand,
        shape: axes.map((axis) => operand.shape[axis]),
        strides: axes.map((axis) => operand.strides[axis]),
      },
    };
  }

  #grid(node: OperationNode, { starts, steps }: structural.Grid): Operand {
    const input = this.#sample(node.inputs[0]);
    const whole = node.primitive === structural.slice ? node.inputs[0].shape : node.shape;
    const part = node.primitive === structural.slice ? node.shape : node.inputs[0].shape;
    if (this.#loop.batch > 1 && (starts[0] !== 0 || steps[0] !== 1 || whole[0] !== part[0])) {
      throw new Uncompilable("a slice takes some samples and leaves others");
    }
    const window = (operand: Operand, shape: Shape): Operand => ({
      ...operand,
      shape,
      strides: operand.strides.map((stride, axis) => stride * steps[axis]),
      offset: operand.strides.reduce(
        (offset, stride, axis) => offset + stride * starts[axis],
        operand.offset,
      ),
    });
    if (node.primitive === structural.slice) return window(input, this.#perSample(node.shape));
    const output = this.#newOperand(this.#perSample(node.shape), node.dtype);
    this.#kernels.push({ kind: "map", expression: constant(0, node.dtype), operands: [], output });
    this.#copy(input, window(output, input.shape));
    return output;
  }

  #concatenate(node: OperationNode, axis: number): Operand {
    if (this.#loop.batch > 1 && axis === 0) throw new Uncompilable("samples are put beside each other");
    const output = this.#newOperand(this.#perSample(node.shape), node.dtype);
    let start = 0;
    for (const input of node.inputs) {
      const operand = this.#sample(input);
      this.#copy(operand, { ...output, shape: operand.shape, offset: start * output.strides[axis] });
      start += operand.shape[axis];
    }
    return output;
  }

  #reduce(node: OperationNode, axes: readonly number[]): Value {
    const [input] = node.inputs;
    const over = node.primitive.name as Reduction;
    const reduced = (shape: Shape, along: readonly number[]) =>
      shape.map((length, axis) => along.includes(axis) ? 1 : length);
    const perSample = (leaves: Leaves, expression: Scalar, shape: Shape): Operand => {
      const output = this.#newOperand(reduced(shape, axes), node.dtype);
      this.#kernels.push({
        kind: "reduce",
        reduction: over,
        axes,
        shape,
        ...number(expression, leaves),
        output,
      });
      return output;
    };
    const leaves: Leaves = new Map();
    const expression = this.#expression(input, leaves);
    const shape = this.#perSample(input.shape);
    if (!this.#overSamples(node)) {
      const output = perSample(leaves, expression, shape);
      const own = this.#perSample(node.shape);
      return { kind: "sample", operand: { ...output, shape: own, strides: contiguousStrides(own) } };
    }
    if (over !== "sum") throw new Uncompilable(`${over} over the samples of a batch`);
    const isWhole = axes.length === 1 && shape[0] === 1;
    const operand = isWhole ? this.#sample(input) : perSample(leaves, expression, shape);
    return { kind: "overSamples", operand, shape: node.shape };
  }

  /** Rows of a table that samples share; the axis of the samples is among the positions. */
  #gather(node: OperationNode, table: Value): Value {
    const [outer, rows, columns] = node.inputs[0].shape;
    if (outer !== 1 || table.kind !== "open" || !isFloat(node.dtype)) {
      throw new Uncompilable(
        "gather, from a table that is not the same for all samples and steps, or of integers",
      );
    }
    const [, ...strides] = table.strides;
    const indices = this.#contiguous(this.#sample(node.inputs[1]));
    const output = this.#newOperand([...indices.shape, columns], node.dtype);
    const shared = this.#sharedOperand(table.input, [rows, columns], strides, table.offset);
    this.#kernels.push({ kind: "gather", table: shared, indices, output });
    if (this.#loop.batch > 1) return { kind: "sample", operand: output };
    return {
      kind: "sample",
      operand: { ...output, shape: node.shape, strides: contiguousStrides(node.shape) },
    };
  }

  #addSum(operand: Operand, over: "steps" | "steps and samples", shape: Shape): NonNullable<Sum> {
    const sum = this.#newOperand(operand.shape, operand.dtype, true);
    this.#sums.push({ slot: sum.slot!, over });
    this.#add(sum, operand, sum);
    return { from: "sum", position: this.#sums.length - 1, shape };
  }

  #add(a: Operand, b: Operand, output: Operand): Operand {
    const [x, y] = [0, 1].map((value): Scalar => ({ op: "input", type: a.dtype, args: [], value }));
    this.#kernels.push({
      kind: "map",
      expression: { op: "add", type: a.dtype, args: [x, y] },
      operands: [a, b],
      output,
    });
    return output;
  }

  #matmul(node: OperationNode, [a, b]: readonly Value[]): Value {
    const { batch } = this.#loop;
    if (!isFloat(node.dtype)) throw new Uncompilable("a matrix product of integers");
    if (batch > 1 && node.shape.length === 2) {
      if (a.kind === "transposed") {
        const total = this.#totals.push(sizeOf(node.shape)) - 1;
        const b = this.#ascending(this.#sample(node.inputs[1]));
        this.#kernels.push({ kind: "accumulate", a: this.#ascending(a.of), b, total });
        return { kind: "summed", sum: { from: "total", position: total, shape: node.shape } };
      }
      if (b.kind !== "open") throw new Uncompilable("a matrix product sums over the samples of a batch");
      return this.#contract(
        this.#sample(node.inputs[0]),
        this.#sharedOperand(b.input, b.shape, b.strides, b.offset),
        node,
      );
    }
    return this.#contract(this.#sample(node.inputs[0]), this.#sample(node.inputs[1]), node);
  }

  #contract(a: Operand, b: Operand, node: OperationNode): Value {
    const output = this.#newOperand(this.#perSample(node.shape), node.dtype);
    this.#kernels.push({ kind: "contract", a: this.#ascending(a), b: this.#ascending(b), output });
    return { kind: "sample", operand: output };
  }

  /** An operation on sums over the samples. It is linear, as all gradients are, and so can wait for the sum. */
  #ofSums(node: OperationNode, values: readonly Value[]): Value {
    const [first, second] = values;
    const isAdd = node.primitive.name === "add";
    if (node.primitive === structural.reshape) {
      if (first.kind === "overSamples") return { ...first, shape: node.shape };
      const { sum } = first as Value & { kind: "summed" };
      if (sum.from !== "after") return { kind: "summed", sum: { ...sum, shape: node.shape } };
    }
    if (isAdd && first.kind === "overSamples" && second.kind === "overSamples") {
      const [a, b] = [first, second].map(({ operand }) => this.#flat(operand));
      return { ...first, operand: this.#add(a, b, this.#newOperand(a.shape, a.dtype)) };
    }
    if (
      isAdd && first.kind === "summed" && second.kind === "summed" && this.#merge(node, first.sum, second.sum)
    ) {
      return first;
    }
    const inputs = values.map((value, i) => {
      if (value.kind === "summed") return value.sum;
      if (value.kind === "overSamples") return this.#addSum(value.operand, "steps and samples", value.shape);
      const { kind } = node.inputs[i];
      if (kind === "constant" || kind === "literal") return node.inputs[i];
      throw new Uncompilable("a gradient that is summed over the batch meets a value of one step");
    });
    return { kind: "summed", sum: { from: "after", node, inputs } };
  }

  /** The same values along one axis. */
  #flat(operand: Operand): Operand {
    const { shape, ...rest } = this.#contiguous(operand);
    return { ...rest, shape: [sizeOf(shape)], strides: [1] };
  }

  /** Makes the second total be added into the first, if nobody else reads either. */
  #merge({ inputs }: OperationNode, first: NonNullable<Sum>, second: NonNullable<Sum>): boolean {
    if (
      first.from !== "total" || second.from !== "total" || inputs.some((input) => this.#uses.get(input) !== 1)
    ) {
      return false;
    }
    const [into, from] = [first.position, second.position];
    if (this.#totals[into] !== this.#totals[from] || from !== this.#totals.length - 1) return false;
    this.#kernels.forEach((kernel, i) => {
      if (kernel.kind === "accumulate" && kernel.total === from) {
        this.#kernels[i] = { ...kernel, total: into };
      }
    });
    this.#totals.pop();
    return true;
  }

  #sum(node: Node): Sum {
    const value = this.#value(node);
    if (value.kind === "summed") return value.sum;
    if (value.kind === "overSamples") return this.#addSum(value.operand, "steps and samples", value.shape);
    if (value.kind === "literal" && value.value === 0) return undefined;
    return this.#addSum(this.#contiguous(this.#sample(node)), "steps", node.shape);
  }
}

function isReduction(node: OperationNode): boolean {
  return [reduction.sum, reduction.max, reduction.min].some((primitive) => primitive === node.primitive);
}

/** Gives the leaves of an expression their positions. */
function number(root: Scalar, leaves: Leaves): { expression: Scalar; operands: Operand[] } {
  const operands: Operand[] = [];
  const done = new Map<Scalar, Scalar>();
  const visit = (scalar: Scalar): Scalar => {
    let copy = done.get(scalar);
    if (copy) return copy;
    const operand = leaves.get(scalar);
    if (operand) copy = { ...scalar, value: operands.push(operand) - 1 };
    else copy = scalar.args.length === 0 ? scalar : { ...scalar, args: scalar.args.map(visit) };
    done.set(scalar, copy);
    return copy;
  };
  return { expression: visit(root), operands };
}
