/**
 * Runs programs one kernel of a step at a time, each for all samples: what a body with large matrices needs, which a
 * workgroup or a tile of a few samples would read again and again. Gradients of weights are products of matrices with a row
 * for each sample and step: a run writes those rows down and multiplies when there are enough of them.
 */
import type { BufferView, Device } from "../../device/device.ts";
import { identity } from "../../device/scalar.ts";
import { contiguousStrides, type Shape, sizeOf } from "../../device/shape.ts";
import { allocateView } from "../../device/view.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { WebGpuDevice } from "../../device/webgpu/device.ts";
import { costOf } from "../cost.ts";
import type { Run, RunResult } from "../executor.ts";
import type { Program } from "../program.ts";
import { Arrays, type Window } from "./arrays.ts";
import { type Instruction, instructionFor } from "./kernels.ts";
import { Log } from "./log.ts";
import { simplify } from "./simplify.ts";

/** What a run is held to. */
export interface Bounds {
  /** Operands of an elementwise kernel. With its result, they are as many as any adapter binds. */
  readonly mostOperands: number;
  /** Bytes of the rows that are kept for the gradients of weights. */
  readonly logBytes: number;
}

const usual: Bounds = { mostOperands: 7, logBytes: 2 ** 26 };

/** Scalar operations that a GPU is given at once: less than half a second's work for the slowest. */
const operationsPerSubmission = 2 ** 36;

/** Runs a program. */
export function runStepped(device: Device, run: Run, { mostOperands, logBytes }: Bounds = usual): RunResult {
  const { batch, steps } = run;
  const program = simplify(run.program, mostOperands);
  const { dtype, backward } = program;
  const arrays = new Arrays(device, program, run);
  const outputs = program.outputs.map(({ shape, dtype }) =>
    allocateView(device, [steps, batch, sizeOf(shape)], dtype)
  );
  const stepSums = program.stepSums.map(({ shape }) => allocateView(device, [steps, sizeOf(shape)], dtype));
  const log = new Log(device, program, arrays, run, logBytes);
  const instructions = instructionsOf(device, program, arrays, { log, outputs, stepSums });
  for (let start = 0; start < steps; start += log.steps) {
    const end = Math.min(steps, start + log.steps);
    log.begin(backward ? steps - end : start);
    const [first, direction] = backward ? [steps - 1 - start, -1] : [start, 1];
    const step = (turn: number) => {
      for (const instruction of instructions) instruction(first + direction * turn);
    };
    repeat(device, end - start, costOf(program).operations * batch, step);
    log.multiply(backward ? steps - start : end);
  }
  arrays.free();
  log.free();
  return {
    finals: arrays.states,
    outputs,
    stepSums,
    sums: program.sums.map(({ over }, i) =>
      over === "steps" ? arrays.sums[i] : new Tensor(arrays.sums[i]).sum(0).view as BufferView
    ),
    totals: log.totals,
  };
}

/** How a program is run, in words. */
export function describeStepped(run: Run): string {
  const { kernels, outputs, stepSums, next } = simplify(run.program, usual.mostOperands);
  return `${kernels.length} kernels and ${
    outputs.length + stepSums.length + next.length
  } copies and sums a step, ` +
    "each for all samples";
}

/** Takes so many turns of a loop, each of so many scalar operations. */
function repeat(device: Device, turns: number, operations: number, turn: (index: number) => void): void {
  if (!(device instanceof WebGpuDevice)) {
    for (let i = 0; i < turns; i++) turn(i);
    return;
  }
  const recording = device.record(turn);
  const atOnce = Math.max(1, Math.floor(operationsPerSubmission / operations));
  for (let i = 0; i < turns; i++) {
    recording.play(i);
    if ((i + 1) % atOnce === 0) device.submit();
  }
  recording.free();
}

/** What a step does. */
function instructionsOf(
  device: Device,
  program: Program,
  arrays: Arrays,
  { log, outputs, stepSums }: { log: Log; outputs: readonly BufferView[]; stepSums: readonly BufferView[] },
): Instruction[] {
  const { batch } = arrays;
  const logged = log.instructions;
  const states = program.inputs.filter(({ role }) => role === "state");
  return [
    ...program.kernels.map((kernel) =>
      kernel.kind === "accumulate" ? logged.shift()! : instructionFor(device, kernel, arrays)
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
      const { source, dtype, offset } = arrays.states[i];
      const shape = [batch, ...operand.shape];
      const state = { source, dtype, shape, strides: contiguousStrides(shape), offset };
      return [copying(device, arrays.window(operand), () => state)];
    }),
  ];
}

/** The rows of an array with one for each step, in a shape. */
function rowsOf({ source, dtype, strides: [stride] }: BufferView, shape: Shape): Window {
  const strides = contiguousStrides(shape);
  return (row) => ({ source, dtype, shape, strides, offset: row * stride });
}

function copying(device: Device, from: Window, to: Window): Instruction {
  return (row) => device.map(identity, [from(row)], to(row));
}
