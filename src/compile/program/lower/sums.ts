/** Sums over samples and steps: gradients of loop-invariant values. */
import { add as addition, input } from "../../../device/scalar/scalar.ts";
import { sameShape, type Shape, sizeOf } from "../../../device/shape.ts";
import type { Node, OperationNode } from "../../trace/graph.ts";
import type { AccumulateKernel, Kernel, Operand } from "../program.ts";
import { Uncompilable } from "../../trace/uncompilable.ts";
import type { Builder } from "./builder.ts";
import type { Sum, Value } from "./values.ts";

/** An operation on sums over the samples. Gradients are linear, so the operation can run after the sum over the steps. */
export function operationOfSums(builder: Builder, node: OperationNode, values: readonly Value[]): Value {
  const [first, second] = values;
  const isAdd = node.primitive.name === "add";
  if (node.primitive.lower === "reshape") {
    if (first.kind === "sum over samples") return { ...first, shape: node.shape };
    const { sum } = first as Value & { kind: "loop sum" };
    if (sum.from !== "after the loop") return { kind: "loop sum", sum: { ...sum, shape: node.shape } };
  }
  if (
    node.primitive.lower === "permute" && first.kind === "loop sum" &&
    tryTransposeGradient(builder, node, first.sum)
  ) {
    return { kind: "loop sum", sum: { ...first.sum, shape: node.shape } as NonNullable<Sum> };
  }
  if (isAdd && first.kind === "sum over samples" && second.kind === "sum over samples") {
    const [a, b] = [first, second].map(({ operand }) => flat(builder, operand));
    return { ...first, operand: add(builder, a, b, builder.newOperand(a.shape, a.dtype)) };
  }
  if (
    isAdd && first.kind === "loop sum" && second.kind === "loop sum" &&
    tryMergeGradients(builder, node, first.sum, second.sum)
  ) {
    return first;
  }
  const inputs = values.map((value, i) => {
    if (value.kind === "loop sum") return value.sum;
    if (value.kind === "sum over samples") {
      return addSum(builder, value.operand, "steps and samples", value.shape);
    }
    const { kind } = node.inputs[i];
    if (kind === "constant" || kind === "literal") return node.inputs[i];
    throw new Uncompilable("a gradient summed over the samples is combined with a value of a single step");
  });
  return { kind: "loop sum", sum: { from: "after the loop", node, inputs } };
}

/** Adds two weight gradients in the same memory, if nothing else reads them. */
function tryMergeGradients(
  builder: Builder,
  { inputs }: OperationNode,
  first: NonNullable<Sum>,
  second: NonNullable<Sum>,
): boolean {
  if (
    first.from !== "weight gradient" || second.from !== "weight gradient" ||
    inputs.some((input) => builder.uses.get(input) !== 1)
  ) {
    return false;
  }
  const [into, from] = [first.position, second.position];
  if (
    builder.weightGradients[into] !== builder.weightGradients[from] ||
    from !== builder.weightGradients.length - 1
  ) return false;
  builder.kernels.forEach((kernel, i) => {
    if (kernel.kind === "accumulate" && kernel.gradient === from) {
      builder.kernels[i] = { ...kernel, gradient: into };
    }
  });
  builder.weightGradients.pop();
  return true;
}

/** Transposes a weight gradient by exchanging the factors of its products, if nothing else reads it. */
function tryTransposeGradient(
  builder: Builder,
  { inputs: [input], params }: OperationNode,
  sum: NonNullable<Sum>,
): boolean {
  const { axes } = params as { axes: readonly number[] };
  if (sum.from !== "weight gradient" || axes[0] === 0 || builder.uses.get(input) !== 1) return false;
  const isOfSum = (kernel: Kernel): kernel is AccumulateKernel =>
    kernel.kind === "accumulate" && kernel.gradient === sum.position;
  const isMatrix = builder.kernels.filter(isOfSum).every(({ operands: [a, b] }) =>
    sameShape([a.shape[1], b.shape[1]], sum.shape)
  );
  if (!isMatrix) return false;
  builder.kernels.forEach((kernel, i) => {
    if (isOfSum(kernel)) {
      builder.kernels[i] = { ...kernel, operands: [kernel.operands[1], kernel.operands[0]] };
    }
  });
  return true;
}

/** The result of the program that holds the sum of a node over the steps. */
export function sumOf(builder: Builder, node: Node): Sum {
  const value = builder.value(node);
  if (value.kind === "loop sum") return value.sum;
  if (value.kind === "sum over samples") {
    return addSum(builder, value.operand, "steps and samples", value.shape);
  }
  if (value.kind === "literal" && value.value === 0) return undefined;
  return addSum(builder, builder.contiguous(builder.sample(node)), "steps", node.shape);
}

/** Sums an operand over the steps. */
function addSum(
  builder: Builder,
  operand: Operand,
  over: "steps" | "steps and samples",
  shape: Shape,
): NonNullable<Sum> {
  const sum = builder.newOperand(operand.shape, operand.dtype, true);
  builder.sums.push({ slot: sum.slot!, over });
  add(builder, sum, operand, sum);
  return { from: "sum", position: builder.sums.length - 1, shape };
}

function add(builder: Builder, a: Operand, b: Operand, output: Operand): Operand {
  return builder.map(addition(input(0, a.dtype), input(1, a.dtype)), [a, b], output);
}

/** The same values with one axis. */
function flat(builder: Builder, operand: Operand): Operand {
  const { shape, ...rest } = builder.contiguous(operand);
  return { ...rest, shape: [sizeOf(shape)], strides: [1] };
}
