/** Lowering of operations to kernels and views of one sample. */
import type { Reduction } from "../../../device/device.ts";
import { isFloat } from "../../../device/dtype.ts";
import { constant, input as scalarInput } from "../../../device/scalar/scalar.ts";
import {
  broadcastStrides,
  contiguousStrides,
  reshapeStrides,
  type Shape,
  sizeOf,
} from "../../../device/shape.ts";
import type { LoopOperation } from "../../../tensor/primitive.ts";
import type { Elementwise } from "../../../tensor/primitives/elementwise.ts";
import type { Grid } from "../../../tensor/primitives/structural.ts";
import type { OperationNode } from "../../trace/graph.ts";
import type { Operand } from "../program.ts";
import { expressionWith } from "../expressions.ts";
import { Uncompilable } from "../../trace/uncompilable.ts";
import type { Builder } from "./builder.ts";
import { operationOfSums } from "./sums.ts";
import type { Value } from "./values.ts";

/** @throws {Uncompilable} If the operation mixes samples, or has no kernel. */
export function lowerOperation(builder: Builder, node: OperationNode): Value {
  const { primitive, inputs } = node;
  const values = inputs.map((input) => builder.value(input));
  if (values.some((value) => value.kind === "loop sum" || value.kind === "sum over samples")) {
    return operationOfSums(builder, node, values);
  }
  const { name, lower } = primitive;
  if (typeof lower !== "string") throw new Uncompilable(`${name}: ${lower.none}`);
  return rules[lower](builder, node, values, node.params);
}

// deno-lint-ignore no-explicit-any
type Rule = (builder: Builder, node: OperationNode, values: readonly Value[], params: any) => Value;

/** Lowering rules. */
const rules: { readonly [K in LoopOperation]: Rule } = {
  map: (builder, node) => elementwise(builder, node, node.primitive as Elementwise),
  reduce: (builder, node, _, { axes }) => reduce(builder, node, axes),
  matmul: multiply,
  gather: (builder, node, [table]) => gatherRows(builder, node, table),
  reshape,
  permute: (builder, { inputs }, _, { axes }) => permute(builder, builder.sample(inputs[0]), axes),
  broadcastTo: (builder, node, [value]) => broadcast(builder, node, value),
  slice: (builder, node, _, params) => ({ kind: "sample", operand: slice(builder, node, params) }),
  pad: (builder, node, _, params) => ({ kind: "sample", operand: pad(builder, node, params) }),
  concatenate: (builder, node, _, { axis }) => ({
    kind: "sample",
    operand: concatenate(builder, node, axis),
  }),
};

function reshape(builder: Builder, { shape: whole, inputs: [input] }: OperationNode): Value {
  const shape = builder.perSample(whole);
  const operand = builder.sample(input);
  const strides = reshapeStrides(operand.shape, operand.strides, shape);
  if (strides) return { kind: "sample", operand: { ...operand, shape, strides } };
  return { kind: "sample", operand: { ...builder.copy(operand), shape, strides: contiguousStrides(shape) } };
}

function elementwise(builder: Builder, node: OperationNode, { fn }: Elementwise): Value {
  const values = node.inputs.map((input) => builder.value(input));
  const args = values.map((value, i) => ({
    dtype: node.inputs[i].dtype,
    value: value.kind === "literal" ? value.value : undefined,
  }));
  const operands = node.inputs.flatMap((input, i) =>
    values[i].kind === "literal" ? [] : [builder.sample(input)]
  );
  const output = builder.newOperand(builder.perSample(node.shape), node.dtype);
  return { kind: "sample", operand: builder.map(expressionWith(fn, args), operands, output) };
}

function isOverSamples(builder: Builder, { params }: OperationNode): boolean {
  return builder.batch > 1 && (params as { axes: number[] }).axes.includes(0);
}

function broadcast(builder: Builder, node: OperationNode, value: Value): Value {
  const [{ shape: from }] = node.inputs;
  if (value.kind === "input") {
    return {
      ...value,
      shape: node.shape,
      strides: broadcastStrides(value.shape, value.strides, node.shape),
    };
  }
  if (value.kind === "literal") return value;
  const keepsSamples = from.length === node.shape.length && from[0] === node.shape[0];
  if (builder.batch > 1 && !keepsSamples) {
    throw new Uncompilable("a broadcast repeats or moves the sample axis");
  }
  const operand = builder.sample(node.inputs[0]);
  const shape = builder.perSample(node.shape);
  return {
    kind: "sample",
    operand: { ...operand, shape, strides: broadcastStrides(operand.shape, operand.strides, shape) },
  };
}

function permute(builder: Builder, operand: Operand, axes: readonly number[]): Value {
  if (builder.batch > 1 && axes[0] !== 0) {
    if (axes.length === 2) return { kind: "transposed", of: operand };
    throw new Uncompilable("a transpose moves the sample axis");
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

/** The elements of an operand on a grid. @throws {Uncompilable} If the grid omits samples. */
function window(
  builder: Builder,
  operand: Operand,
  { starts, steps }: Grid,
  [whole, part]: readonly [whole: Shape, part: Shape],
): Operand {
  if (builder.batch > 1 && (starts[0] !== 0 || steps[0] !== 1 || whole[0] !== part[0])) {
    throw new Uncompilable("a slice omits some samples");
  }
  return {
    ...operand,
    shape: builder.perSample(part),
    strides: operand.strides.map((stride, axis) => stride * steps[axis]),
    offset: operand.strides.reduce(
      (offset, stride, axis) => offset + stride * starts[axis],
      operand.offset,
    ),
  };
}

function slice(builder: Builder, { inputs: [input], shape }: OperationNode, grid: Grid): Operand {
  return window(builder, builder.sample(input), grid, [input.shape, shape]);
}

function pad(builder: Builder, { inputs: [input], shape, dtype }: OperationNode, grid: Grid): Operand {
  const operand = builder.sample(input);
  const output = builder.newOperand(builder.perSample(shape), dtype);
  const target = window(builder, output, grid, [shape, input.shape]);
  builder.map(constant(0, dtype), [], output);
  builder.copy(operand, target);
  return output;
}

function concatenate(builder: Builder, node: OperationNode, axis: number): Operand {
  if (builder.batch > 1 && axis === 0) throw new Uncompilable("a concatenation along the sample axis");
  const output = builder.newOperand(builder.perSample(node.shape), node.dtype);
  let start = 0;
  for (const input of node.inputs) {
    const operand = builder.sample(input);
    builder.copy(operand, { ...output, shape: operand.shape, offset: start * output.strides[axis] });
    start += operand.shape[axis];
  }
  return output;
}

function reduce(builder: Builder, node: OperationNode, axes: readonly number[]): Value {
  const [input] = node.inputs;
  const over = node.primitive.name as Reduction;
  if (node.dtype === "uint32") throw new Uncompilable(`${over} of uint32`);
  const reduced = (shape: Shape, along: readonly number[]) =>
    shape.map((length, axis) => along.includes(axis) ? 1 : length);
  const operand = builder.sample(input);
  const { shape } = operand;
  const reducePerSample = (): Operand => {
    const output = builder.newOperand(reduced(shape, axes), node.dtype);
    builder.kernels.push({
      kind: "reduce",
      reduction: over,
      axes,
      shape,
      expression: scalarInput(0, operand.dtype),
      operands: [operand],
      output,
    });
    return output;
  };
  if (!isOverSamples(builder, node)) {
    const output = reducePerSample();
    const own = builder.perSample(node.shape);
    return { kind: "sample", operand: { ...output, shape: own, strides: contiguousStrides(own) } };
  }
  // Other values than gradients are not zero in the padding lanes of a tile, and not linear in the sums over the steps.
  if (over !== "sum" || !builder.loop.gradients.has(node)) {
    throw new Uncompilable(`${over} over the samples of a batch`);
  }
  const isWhole = axes.length === 1 && shape[0] === 1;
  return { kind: "sum over samples", operand: isWhole ? operand : reducePerSample(), shape: node.shape };
}

/** Rows of a table that the samples share. The first axis of the indices is the batch. */
function gatherRows(builder: Builder, node: OperationNode, table: Value): Value {
  const [outer, rows, columns] = node.inputs[0].shape;
  if (outer !== 1 || table.kind !== "input" || !isFloat(node.dtype)) {
    throw new Uncompilable(
      "gather needs a table of floats that is the same for all samples and steps",
    );
  }
  const [, ...strides] = table.strides;
  const indices = builder.contiguous(builder.sample(node.inputs[1]));
  const output = builder.newOperand([...indices.shape, columns], node.dtype);
  const shared = builder.sharedOperand(table.input, [rows, columns], strides, table.offset);
  builder.kernels.push({ kind: "gather", operands: [shared, indices], output });
  if (builder.batch > 1) return { kind: "sample", operand: output };
  return {
    kind: "sample",
    operand: { ...output, shape: node.shape, strides: contiguousStrides(node.shape) },
  };
}

function multiply(builder: Builder, node: OperationNode, [a, b]: readonly Value[]): Value {
  const { batch } = builder;
  if (!isFloat(node.dtype)) throw new Uncompilable("matrix products of integers are not supported");
  if (batch > 1 && node.shape.length === 2) {
    if (a.kind === "transposed") {
      if (!builder.loop.gradients.has(node)) {
        throw new Uncompilable("a matrix product sums over the samples of a batch");
      }
      const gradient = builder.weightGradients.push(sizeOf(node.shape)) - 1;
      // Accumulating kernels read slots only.
      const [of, by] = [a.of, builder.sample(node.inputs[1])].map((factor) =>
        builder.ascending(factor.slot === undefined ? builder.copy(factor) : factor)
      );
      builder.kernels.push({ kind: "accumulate", operands: [of, by], gradient });
      return {
        kind: "loop sum",
        sum: { from: "weight gradient", position: gradient, shape: node.shape },
      };
    }
    if (b.kind !== "input") throw new Uncompilable("a matrix product sums over the samples of a batch");
    return contract(
      builder,
      builder.sample(node.inputs[0]),
      builder.sharedOperand(b.input, b.shape, b.strides, b.offset),
      node,
    );
  }
  const factors = node.inputs.map((input) => builder.sample(input));
  return contract(builder, factors[0], factors[1], node);
}

function contract(builder: Builder, a: Operand, b: Operand, node: OperationNode): Value {
  const output = builder.newOperand(builder.perSample(node.shape), node.dtype);
  builder.kernels.push({ kind: "contract", operands: [builder.ascending(a), builder.ascending(b)], output });
  return { kind: "sample", operand: output };
}
