/**
 * Runs programs on the CPU, on all threads. The division into tasks, and so the order of every sum, depends only on the run:
 * results are bit-identical for any number of threads.
 */
import { addressOf } from "../../../device/cpu/assembler/address.ts";
import type { CpuDevice } from "../../../device/cpu/device.ts";
import type { Block } from "../../../device/cpu/runtime/memory.ts";
import { Executable, newModule } from "../../../device/cpu/runtime/executable.ts";
import type { BufferView } from "../../../device/device.ts";
import { bytesPerElement } from "../../../device/dtype.ts";
import { LruCache } from "../../../device/lru_cache.ts";
import { sizeOf } from "../../../device/shape.ts";
import { allocateView, makeContiguous } from "../../../device/view.ts";
import { Tensor } from "../../../tensor/tensor.ts";
import { operationsOfLoop } from "../../program/cost.ts";
import { identityOf } from "../../program/identity.ts";
import type { Run, RunResult } from "../run.ts";
import type { Operand, Program } from "../../program/program.ts";
import { emitWasm, runWords, type WasmLoop } from "./emit_wasm.ts";

interface Compiled extends WasmLoop {
  readonly executable: Executable;
  /** Memory for the descriptor of a run. */
  readonly descriptor: Block;
}

/** Minimum operations per task, a few hundred microseconds: shorter tasks take less time than waking a thread. */
const operationsPerTask = 2 ** 22;
/** Each task has separate sums, which need memory and are added at the end. */
const maxTasks = 16;

/** Maximum compiled programs per device. A program contains the values of numbers, so each new value makes a new program. */
const maxCompiled = 512;

const compiled = new WeakMap<CpuDevice, LruCache<string, Compiled>>();

function compile(device: CpuDevice, { program, settled }: Run, vectors: number): Compiled {
  let programs = compiled.get(device);
  if (!programs) compiled.set(device, programs = new LruCache(maxCompiled));
  return programs.getOrMake(`${identityOf(program)} ${vectors} ${settled}`, () => {
    const loop = emitWasm(newModule(device.memory), program, vectors, settled);
    const executable = new Executable(device.memory, loop.module);
    const descriptor = executable.allocate(descriptorLength(program));
    return { ...loop, executable, descriptor };
  });
}

/** Bytes of a descriptor, with the addresses of inputs, final states, outputs and sums. */
function descriptorLength({ inputs, outputs, sums }: Program): number {
  return 4 * (runWords.addresses + 2 * inputs.length + outputs.length + sums.length);
}

/**
 * The number of tasks, and of vectors per tile. Tiles of two vectors are faster. They are chosen if the samples, divided among
 * at most two tasks, fill more than one vector per task.
 */
function partition(run: Run): { worth: number; vectors: number } {
  const { batch, program } = run;
  const lanes = program.dtype === "float32" ? 4 : 2;
  const worth = Math.max(1, Math.min(maxTasks, Math.ceil(operationsOfLoop(run) / operationsPerTask)));
  return { worth, vectors: Math.ceil(batch / Math.min(2, worth)) > lanes ? 2 : 1 };
}

/** Runs a program on the CPU device's threads. */
export function runOnCpu(device: CpuDevice, run: Run): RunResult {
  const { program, batch, steps } = run;
  const inputs = run.inputs.map((view) => makeContiguous(device, view));
  const { dtype } = program;
  const { worth, vectors } = partition(run);
  const loop = compile(device, run, vectors);
  const tasks = Math.max(1, Math.min(worth, Math.ceil(batch / loop.samples)));
  const elementsOf = (operand: Operand) => sizeOf(operand.shape);
  const finals = program.inputs.flatMap((input) =>
    input.role === "state" ? [allocateView(device, [batch, input.size], dtype)] : []
  );
  const outputs = program.outputs.map((operand) =>
    allocateView(device, [steps, batch, elementsOf(operand)], dtype)
  );
  const perSample = program.sums.map(({ slot, over }) =>
    over === "steps" ? allocateView(device, [batch, program.slots[slot].size], dtype) : undefined
  );
  const partial = loop.gradientBytes / bytesPerElement(dtype);
  const gradients = zeroed(device, [tasks, partial], dtype);
  const stepSizes = program.stepSums.map(elementsOf);
  const stepSize = stepSizes.reduce((sum, size) => sum + size, 0);
  const stepSums = zeroed(device, [tasks, steps, stepSize], dtype);
  const scratch = device.memory.allocate(tasks * loop.scratchBytes);
  const addresses = [...inputs, ...finals, ...outputs, ...perSample].map((view) =>
    view ? addressOf(view) / 4 : 0
  );
  const descriptor = device.pool.describe(loop.descriptor.address, descriptorLength(program));
  const description = device.memory.u32.subarray(descriptor / 4);
  description[runWords.batch] = batch;
  description[runWords.steps] = steps;
  description[runWords.tasks] = tasks;
  description[runWords.scratch] = scratch.address / 4;
  description[runWords.weightGradients] = addressOf(gradients) / 4;
  description[runWords.stepSums] = addressOf(stepSums) / 4;
  description.set(addresses, runWords.addresses);
  try {
    device.pool.run(loop.executable, "run", tasks, descriptor);
  } finally {
    device.memory.release(scratch);
  }

  const overTasks = (view: BufferView) =>
    sizeOf(view.shape) > 0 ? new Tensor(view).sum(0).view as BufferView : view;
  const all = overTasks(gradients);
  const allSteps = overTasks(stepSums);
  const window = (offset: number, shape: number[], strides: number[]): BufferView => ({
    ...all,
    offset,
    shape,
    strides,
  });
  return {
    finals,
    outputs,
    stepSums: stepSizes.map((size, i) => {
      const offset = stepSizes.slice(0, i).reduce((sum, own) => sum + own, 0);
      return { ...allSteps, offset, shape: [steps, size], strides: [stepSize, 1] };
    }),
    sums: program.sums.map(({ slot }, i) =>
      perSample[i] ?? window(loop.sums[i]!, [program.slots[slot].size], [1])
    ),
    weightGradients: loop.weightGradients.map(({ offset, rows, columns, stride }) =>
      window(offset, [rows, columns], [stride, 1])
    ),
  };
}

function zeroed(device: CpuDevice, shape: number[], dtype: "float32" | "float64"): BufferView {
  const view = allocateView(device, shape, dtype);
  device.clear(view);
  return view;
}
