/** Sums over samples and steps: gradients of constants. */
import { add as addition, input } from "../../../device/scalar.ts";
import { sameShape, type Shape, sizeOf } from "../../../device/shape.ts";
import type { Node, OperationNode } from "../../trace/graph.ts";
import type { AccumulateKernel, Kernel, Operand } from "../program.ts";
import { Uncompilable } from "../../trace/uncompilable.ts";
import type { Builder } from "./builder.ts";
import type { Sum, Value } from "./values.ts";

/** An operation on sums over the samples. It is linear, as all gradients are, and so can wait for the sum. */
export function operationOfSums(builder: Builder, node: OperationNode, values: readonly Value[]): Value {
  const [first, second] = values;
  const isAdd = node.primitive.name === "add";
  if (node.primitive.lower === "reshape") {
    if (first.kind === "overSamples") return { ...first, shape: node.shape };
    const { sum } = first as Value & { kind: "summed" };
    if (sum.from !== "after") return { kind: "summed", sum: { ...sum, shape: node.shape } };
  }
  if (
    node.primitive.lower === "permute" && first.kind === "summed" &&
    exchangeFactors(builder, node, first.sum)
  ) {
    return { kind: "summed", sum: { ...first.sum, shape: node.shape } as NonNullable<Sum> };
  }
  if (isAdd && first.kind === "overSamples" && second.kind === "overSamples") {
    const [a, b] = [first, second].map(({ operand }) => flat(builder, operand));
    return { ...first, operand: add(builder, a, b, builder.newOperand(a.shape, a.dtype)) };
  }
  if (
    isAdd && first.kind === "summed" && second.kind === "summed" &&
    merge(builder, node, first.sum, second.sum)
  ) {
    return first;
  }
  const inputs = values.map((value, i) => {
    if (value.kind === "summed") return value.sum;
    if (value.kind === "overSamples") return addSum(builder, value.operand, "steps and samples", value.shape);
    const { kind } = node.inputs[i];
    if (kind === "constant" || kind === "literal") return node.inputs[i];
    throw new Uncompilable("a gradient that is summed over the batch meets a value of one step");
  });
  return { kind: "summed", sum: { from: "after", node, inputs } };
}

/** Makes the second gradient of weights be added into the first, if nobody else reads either. */
function merge(
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

/** Makes a gradient of weights its transpose, the product of its factors the other way round, if nobody else reads it. */
function exchangeFactors(
  builder: Builder,
  { inputs: [input], params }: OperationNode,
  sum: NonNullable<Sum>,
): boolean {
  const { axes } = params as { axes: readonly number[] };
  if (sum.from !== "weight gradient" || axes[0] === 0 || builder.uses.get(input) !== 1) return false;
  const isOfSum = (kernel: Kernel): kernel is AccumulateKernel =>
    kernel.kind === "accumulate" && kernel.gradient === sum.position;
  const isMatrix = builder.kernels.filter(isOfSum).every(({ a, b }) =>
    sameShape([a.shape[1], b.shape[1]], sum.shape)
  );
  if (!isMatrix) return false;
  builder.kernels.forEach((kernel, i) => {
    if (isOfSum(kernel)) builder.kernels[i] = { ...kernel, a: kernel.b, b: kernel.a };
  });
  return true;
}

/** The place in the results of a sum of the loop. */
export function sumOf(builder: Builder, node: Node): Sum {
  const value = builder.value(node);
  if (value.kind === "summed") return value.sum;
  if (value.kind === "overSamples") return addSum(builder, value.operand, "steps and samples", value.shape);
  if (value.kind === "literal" && value.value === 0) return undefined;
  return addSum(builder, builder.contiguous(builder.sample(node)), "steps", node.shape);
}

/** Sums an operand up over the steps. */
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
  const expression = addition(input(0, a.dtype), input(1, a.dtype));
  builder.kernels.push({ kind: "map", expression, operands: [a, b], output });
  return output;
}

/** The same values along one axis. */
function flat(builder: Builder, operand: Operand): Operand {
  const { shape, ...rest } = builder.contiguous(operand);
  return { ...rest, shape: [sizeOf(shape)], strides: [1] };
}
