/** Kernels of a program as calls of a device's kernels for all samples. */
import { collapse } from "../../../device/collapse.ts";
import type { BufferView, KernelDevice } from "../../../device/device.ts";
import type { ScalarFunction } from "../../../device/scalar/scalar.ts";
import { makeContiguous, transposed } from "../../../device/view.ts";
import {
  type AccumulateKernel,
  type ByKind,
  byKind,
  type ContractKernel,
  type GatherKernel,
  type Kernel,
} from "../../program/program.ts";
import type { Arrays, Window } from "./arrays.ts";

/** A device call in a step. It receives the row of the step in inputs and outputs. */
export type Instruction = (row: number) => void;

type OutputKernel = Exclude<Kernel, AccumulateKernel>;

const calls: ByKind<OutputKernel, [device: KernelDevice, arrays: Arrays, output: Window], Instruction> = {
  map: ({ operands, expression }, device, arrays, output) => {
    const fn: ScalarFunction = { name: "loop", build: () => expression };
    const windows = operands.map((operand) => arrays.window(operand));
    return (row) => device.map(fn, windows.map((window) => window(row)), output(row));
  },
  reduce: ({ operands, reduction }, device, arrays, output) => {
    const [source] = operands.map((operand) => arrays.window(operand));
    return (row) => device.reduce(reduction, source(row), output(row));
  },
  contract: contraction,
  gather: gathering,
};

/** The call for a kernel, after `splitKernels`. */
export function instructionFor(device: KernelDevice, kernel: OutputKernel, arrays: Arrays): Instruction {
  return byKind(calls, kernel, device, arrays, arrays.window(kernel.output));
}

/** A matrix product. If all samples are multiplied by the same matrix, one large product. */
function contraction(
  kernel: ContractKernel,
  device: KernelDevice,
  arrays: Arrays,
  output: Window,
): Instruction {
  let [a, b, target] = [...kernel.operands.map((operand) => arrays.window(operand)), output];
  const [rows, columns] = kernel.output.shape.slice(-2);
  // Devices are faster for a row times the transposed matrix than for a matrix times a column.
  const transposes = columns === 1 && rows > 1;
  if (transposes) {
    [a, b, target] = [b, a, target].map((window): Window => (row) => transposed(window(row)));
  }
  const first = joinedRows(a(0), b(0));
  if (!first) return (row) => device.matmul(a(row), b(row), target(row));
  const matrix = (view: BufferView) => ({
    ...view,
    shape: view.shape.slice(-2),
    strides: view.strides.slice(-2),
  });
  const prepared = transposes ? undefined : arrays.prepare(kernel.operands[1], matrix(b(0)), first.shape[0]);
  return (row) => {
    const [right, result] = [matrix(b(row)), target(row)];
    const joined = joinedRows(a(row), b(row))!;
    const [m, n] = [joined.shape[0], right.shape[1]];
    device.matmul(joined, right, { ...result, shape: [m, n], strides: [n, 1] }, prepared);
  };
}

/** Rows of a table, for all samples at once. */
function gathering(
  kernel: GatherKernel,
  device: KernelDevice,
  arrays: Arrays,
  output: Window,
): Instruction {
  const [table, indices] = kernel.operands.map((operand) => arrays.window(operand));
  const [rows, columns] = kernel.operands[0].shape;
  const count = arrays.batch * kernel.operands[1].shape[0];
  return (row) => {
    const [one, own] = [table(row), indices(row)];
    const source = makeContiguous(device, { ...one, shape: [1, rows, columns] });
    const at = makeContiguous(device, own);
    device.gather(source, { ...at, shape: [count], strides: [1] }, {
      ...output(row),
      shape: [1, count, columns],
      strides: [count * columns, columns, 1],
    });
    if (source.source !== one.source) source.source.free();
    if (at.source !== own.source) at.source.free();
  };
}

/** The left matrices as one matrix. Returns undefined if their rows have different distances or the right matrices differ. */
function joinedRows(left: BufferView, right: BufferView): BufferView | undefined {
  const rank = left.shape.length;
  const isOne = right.strides.slice(0, -2).every((stride, axis) => stride === 0 || right.shape[axis] === 1);
  if (!isOne) return undefined;
  const { shape, strides: [[stride]] } = collapse(left.shape.slice(0, -1), [left.strides.slice(0, -1)]);
  if (shape.length > 1) return undefined;
  return { ...left, shape: [shape[0], left.shape[rank - 1]], strides: [stride, left.strides[rank - 1]] };
}
