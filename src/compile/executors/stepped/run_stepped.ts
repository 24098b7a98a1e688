/**
 * Runs programs kernel by kernel, each for all samples. Bodies with large matrices need it: a fused kernel would read the
 * matrices again for every few samples. Weight gradients are products of matrices with a row per sample and step: a run
 * collects the rows of many steps before it multiplies.
 */
import type { BufferView, KernelDevice } from "../../../device/device.ts";
import { isCapturing } from "../../../device/capture.ts";
import { identity } from "../../../device/scalar/scalar.ts";
import { contiguousStrides, type Shape, sizeOf } from "../../../device/shape.ts";
import { allocateView } from "../../../device/view.ts";
import { Tensor } from "../../../tensor/tensor.ts";
import type { FusedLoops, Run, RunResult } from "../run.ts";
import type { Program } from "../../program/program.ts";
import { Arrays, type Window } from "./arrays.ts";
import { type Instruction, instructionFor } from "./device_calls.ts";
import { ProductRows } from "./product_rows.ts";
import { splitKernels } from "../../program/passes/split_kernels.ts";

/** Limits of a run. */
export interface Bounds {
  /** Maximum operands of an elementwise kernel. With the result, every WebGPU adapter can bind 8 buffers. */
  readonly maxOperands: number;
  /** Limit in bytes for the rows that are collected for weight gradients. */
  readonly productRowBytes: number;
}

export const defaultBounds: Bounds = { maxOperands: 7, productRowBytes: 2 ** 28 };

/** Runs a program. @param hoistFills Moves fills out of the loop. */
export function runStepped(
  device: KernelDevice,
  run: Run,
  hoistFills: FusedLoops["hoistFills"],
  { maxOperands, productRowBytes }: Bounds = defaultBounds,
): RunResult {
  const { batch, steps } = run;
  const { program, fills } = hoistFills(splitKernels(run.program, maxOperands));
  const { dtype, backward } = program;
  const arrays = new Arrays(device, program, run);
  const outputs = program.outputs.map(({ shape, dtype }) =>
    allocateView(device, [steps, batch, sizeOf(shape)], dtype)
  );
  const stepSums = program.stepSums.map(({ shape }) => allocateView(device, [steps, sizeOf(shape)], dtype));
  const productRows = new ProductRows(device, program, arrays, run, productRowBytes);
  for (const fill of fills) instructionFor(device, fill, arrays)(0);
  const instructions = instructionsOf(device, program, arrays, { productRows, outputs, stepSums });
  const { readSync } = device;
  const flags = run.settled !== undefined && readSync && !isCapturing()
    ? arrays.states[run.settled]
    : undefined;
  const ends = flags && (() => device.readSync!(flags).every((flag: number) => flag !== 0));
  for (let start = 0; start < steps; start += productRows.steps) {
    const end = Math.min(steps, start + productRows.steps);
    productRows.begin(backward ? steps - end : start);
    const [first, direction] = backward ? [steps - 1 - start, -1] : [start, 1];
    const step = (iteration: number) => {
      for (const instruction of instructions) instruction(first + direction * iteration);
    };
    if (ends) {
      for (let iteration = 0; iteration < end - start && !ends(); iteration++) step(iteration);
    } else device.repeat(end - start, step);
    productRows.multiply(backward ? steps - start : end);
  }
  arrays.free();
  productRows.free();
  return {
    finals: arrays.states,
    outputs,
    stepSums,
    sums: program.sums.map(({ over }, i) =>
      over === "steps" ? arrays.sums[i] : new Tensor(arrays.sums[i]).sum(0).view as BufferView
    ),
    weightGradients: productRows.weightGradients,
  };
}

/** Calls of a step. */
function instructionsOf(
  device: KernelDevice,
  program: Program,
  arrays: Arrays,
  { productRows, outputs, stepSums }: {
    productRows: ProductRows;
    outputs: readonly BufferView[];
    stepSums: readonly BufferView[];
  },
): Instruction[] {
  const { batch } = arrays;
  const copyInstructions = productRows.instructions;
  const states = program.inputs.filter(({ role }) => role === "state");
  return [
    ...program.kernels.map((kernel) =>
      kernel.kind === "accumulate" ? copyInstructions.shift()! : instructionFor(device, kernel, arrays)
    ),
    ...program.outputs.map((operand, i) =>
      copying(device, arrays.window(operand), rowsOf(outputs[i], [batch, ...operand.shape]))
    ),
    ...program.stepSums.map((operand, i): Instruction => {
      const [source, target] = [arrays.window(operand), rowsOf(stepSums[i], [1, ...operand.shape])];
      return (row) => device.reduce("sum", source(row), target(row));
    }),
    ...program.next.flatMap((operand, i) => {
      if (operand.slot === states[i].slot) return [];
      const shape = [batch, ...operand.shape];
      const state = { ...arrays.states[i], shape, strides: contiguousStrides(shape) };
      return [copying(device, arrays.window(operand), () => state)];
    }),
  ];
}

/** The rows of an array with one row per step, in a shape. */
function rowsOf({ source, dtype, strides: [stride] }: BufferView, shape: Shape): Window {
  const strides = contiguousStrides(shape);
  return (row) => ({ source, dtype, shape, strides, offset: row * stride });
}

function copying(device: KernelDevice, from: Window, to: Window): Instruction {
  return (row) => device.map(identity, [from(row)], to(row));
}
