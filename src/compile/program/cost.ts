import type { DeviceInfo } from "../../device/device.ts";
import { bytesPerElement } from "../../device/dtype.ts";
import { type Scalar, topological } from "../../device/scalar/scalar.ts";
import { sizeOf } from "../../device/shape.ts";
import { type ByKind, byKind, type Kernel, type Program } from "./program.ts";

const perElement = (scalar: Scalar) => topological(scalar).filter(({ args }) => args.length > 0).length;

const operationsByKind: ByKind<Kernel, [], number> = {
  map: ({ output, expression }) => sizeOf(output.shape) * perElement(expression),
  reduce: ({ shape, expression }) => sizeOf(shape) * (1 + perElement(expression)),
  contract: ({ output, operands: [a] }) => 2 * sizeOf(output.shape) * a.shape.at(-1)!,
  gather: ({ output, operands: [, indices] }) => sizeOf(output.shape) + 2 * sizeOf(indices.shape),
  accumulate: ({ operands: [a, b] }) => 2 * sizeOf(a.shape) * b.shape[1],
};

/** Scalar operations of a kernel, for one sample. */
export function operationsOf(kernel: Kernel): number {
  return byKind(operationsByKind, kernel);
}

const operationsOfPrograms = new WeakMap<Program, number>();

/** Scalar operations of a step of one sample. */
export function operationsOfStep(program: Program): number {
  let sum = operationsOfPrograms.get(program);
  if (sum === undefined) {
    sum = program.kernels.reduce((total, kernel) => total + operationsOf(kernel), 0);
    operationsOfPrograms.set(program, sum);
  }
  return sum;
}

/** Scalar operations of all steps of a batch. */
export function operationsOfLoop(
  { program, batch, steps }: { readonly program: Program; readonly batch: number; readonly steps: number },
): number {
  return operationsOfStep(program) * batch * steps;
}

/** Executors of compiled loops. `fused`: one kernel for many steps of a few samples. `stepped`: a kernel per operation of a step. */
export type ExecutorName = "fused" | "stepped";

/** The executor of a program, and the reason for the choice. */
export interface Choice {
  readonly executor: ExecutorName;
  readonly reason: string;
}

/** Constants of a machine that decide between the executors. */
interface Machine {
  /** Bytes of weights that a cache holds. */
  readonly read: number;
  /** Bytes of weights that a cache holds, if each lane has a copy. */
  readonly copies: number;
  /** Bytes of weight gradients that the cache of a core holds. */
  readonly sums: number;
  /** Scalar operations per second of large matrix products. */
  readonly rate: number;
  /** Seconds to start a kernel. */
  readonly launch: number;
  /** CPU only: samples that one thread computes at a time in a fused loop, and bytes of weights that it reads per second. */
  readonly thread?: { readonly samples: number; readonly bandwidth: number };
}

function machineOf({ kind, software }: Pick<DeviceInfo, "kind" | "software">): Machine {
  // Measured as the sizes at which both executors take the same time. `read` exceeds the cache of a core, because weights are
  // read in order and prefetched.
  if (kind === "cpu") {
    const thread = { samples: 8, bandwidth: 1.2e10 };
    return { read: 2 ** 23, copies: 2 ** 19, sums: 2 ** 22, rate: 5e10, launch: 1e-5, thread };
  }
  if (software) return { read: 2 ** 17, copies: 2 ** 17, sums: 2 ** 17, rate: 3e9, launch: 1e-4 };
  // Not measured. Assumed: the size of a compute unit's cache, and the launch time of a small kernel.
  return { read: 2 ** 18, copies: 2 ** 18, sums: 2 ** 18, rate: 5e12, launch: 8e-6 };
}

/** Lanes of a vector. With a single sample, each lane has a copy of the weights. */
const lanes = 4;

/**
 * Chooses the executor of a program. The fused executor reads all weights in every step for every few samples, which is fast if
 * a cache holds the weights. The stepped executor reads the weights once per step, but it launches a kernel per operation and
 * stores intermediate results in memory.
 */
export function chooseExecutor(
  program: Program,
  batch: number,
  device: Pick<DeviceInfo, "kind" | "software">,
): Choice {
  const machine = machineOf(device);
  const single = batch === 1;
  const weights = weightBytes(program, batch);
  const sums = program.weightGradients.reduce((sum, size) => sum + size, 0) * bytesPerElement(program.dtype);
  const parts = [
    single
      ? { name: "the weights of a step, copied to each lane", bytes: lanes * weights, most: machine.copies }
      : { name: "the weights of a step", bytes: weights, most: machine.read },
    { name: "the gradients of the weights", bytes: sums, most: machine.sums },
  ];
  const large = parts.find(({ bytes, most }) => bytes > most);
  if (!large) {
    const { launch, thread } = machine;
    // The stepped executor would use at least two threads and take half the time.
    const idles = thread && !single && batch <= thread.samples &&
      weights / thread.bandwidth / 2 > program.kernels.length * launch;
    if (idles) {
      return {
        executor: "stepped",
        reason: `in a fused loop, one thread would read ${weights} bytes of weights per step`,
      };
    }
    return { executor: "fused", reason: `the weights of a step, ${weights} bytes, stay in a cache` };
  }
  const seconds = operationsOfStep(program) * batch * (single ? lanes : 1) / machine.rate;
  if (seconds < program.kernels.length * machine.launch) {
    return { executor: "fused", reason: "the kernels of a step would take longer to start than to run" };
  }
  const { name, bytes, most } = large;
  return {
    executor: "stepped",
    reason: `${name}, ${bytes} bytes, exceed the ${most} bytes that a cache holds`,
  };
}

/** Bytes of the matrices that every sample is multiplied by in a step. */
function weightBytes({ inputs, kernels, dtype }: Program, batch: number): number {
  const weights = new Set(kernels.flatMap((kernel) => {
    if (kernel.kind !== "contract") return [];
    return kernel.operands.slice(0, 2).flatMap(({ slot, shared }) => {
      if (shared !== undefined) return [inputs[shared]];
      return batch === 1 ? inputs.filter((input) => input.role === "constant" && input.slot === slot) : [];
    });
  }));
  return bytesPerElement(dtype) * [...weights].reduce((sum, { size }) => sum + size, 0);
}
