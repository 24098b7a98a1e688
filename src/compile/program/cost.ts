import type { DeviceInfo } from "../../device/device.ts";
import { bytesPerElement } from "../../device/dtype.ts";
import { type Scalar, topological } from "../../device/scalar.ts";
import { sizeOf } from "../../device/shape.ts";
import type { Program } from "./program.ts";

/** Cost of a step of one sample. */
export interface Cost {
  /** Scalar operations. */
  readonly operations: number;
  /** Bytes that are read from the rows and written to the outputs. */
  readonly traffic: number;
}

/** An estimate of one sample's step. */
export function costOf(program: Program): Cost {
  const bytes = bytesPerElement(program.dtype);
  const perElement = (scalar: Scalar) => topological(scalar).filter(({ args }) => args.length > 0).length;
  const operations = program.kernels.map((kernel) => {
    switch (kernel.kind) {
      case "map":
        return sizeOf(kernel.output.shape) * perElement(kernel.expression);
      case "reduce":
        return sizeOf(kernel.shape) * (1 + perElement(kernel.expression));
      case "contract":
        return 2 * sizeOf(kernel.output.shape) * kernel.a.shape.at(-1)!;
      case "gather":
        return sizeOf(kernel.output.shape) + 2 * sizeOf(kernel.indices.shape);
      case "accumulate":
        return 2 * sizeOf(kernel.a.shape) * kernel.b.shape[1];
    }
  });
  const rows = program.inputs.filter(({ role, slot }) => role === "row" && slot !== undefined);
  const elements = [...rows.map(({ size }) => size), ...program.outputs.map(({ shape }) => sizeOf(shape))];
  const sum = (values: number[]) => values.reduce((total, value) => total + value, 0);
  return { operations: sum(operations), traffic: sum(elements) * bytes };
}

/** Executors of compiled loops: one kernel with many steps of a few samples, or kernels of one step with all samples. */
export type ExecutorName = "fused" | "stepped";

/** An executor for a program, and the reason in words. */
export interface Choice {
  readonly executor: ExecutorName;
  readonly reason: string;
}

/** Figures of a machine that decide between the executors. */
interface Machine {
  /** Bytes of weights that are read again and again at no cost. */
  readonly read: number;
  /** The same of copies for each lane. */
  readonly copies: number;
  /** Bytes of weights' gradients that each core adds to. */
  readonly sums: number;
  /** Scalar operations of large matrix products, a second. */
  readonly rate: number;
  /** Seconds that the start of a kernel takes. */
  readonly launch: number;
  /** Of a processor: samples that one thread takes through a fused loop at a time, and bytes of weights that it reads a second. */
  readonly thread?: { readonly samples: number; readonly bandwidth: number };
}

function machineOf({ kind, software }: Pick<DeviceInfo, "kind" | "software">): Machine {
  // Measured where both executors take equally long. Weights are read in order, and so ahead, from beyond a core's cache;
  // their gradients are added to once a step.
  if (kind === "cpu") {
    const thread = { samples: 8, bandwidth: 1.2e10 };
    return { read: 2 ** 23, copies: 2 ** 19, sums: 2 ** 22, rate: 5e10, launch: 1e-5, thread };
  }
  if (software) return { read: 2 ** 17, copies: 2 ** 17, sums: 2 ** 17, rate: 3e9, launch: 1e-4 };
  // Not measured: the caches of a compute unit, and the start of a small kernel.
  return { read: 2 ** 18, copies: 2 ** 18, sums: 2 ** 18, rate: 5e12, launch: 8e-6 };
}

/** Lanes of a vector, each of which works on a copy of the weights where there is a single sample. */
const lanes = 4;

/**
 * Chooses the executor for a program. Fused, every few samples read all weights in every step, which is nothing while a
 * cache holds them. Stepped, they are read once a step, by products large enough to hide it; but each kernel has to be
 * started, and its result goes through memory.
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
      ? { name: "the weights of a step, for each lane", bytes: lanes * weights, most: machine.copies }
      : { name: "the weights of a step", bytes: weights, most: machine.read },
    { name: "the gradients of the weights", bytes: sums, most: machine.sums },
  ];
  const large = parts.find(({ bytes, most }) => bytes > most);
  if (!large) {
    const { launch, thread } = machine;
    // Two threads at least would take half as long.
    const idles = thread && !single && batch <= thread.samples &&
      weights / thread.bandwidth / 2 > program.kernels.length * launch;
    if (idles) {
      return {
        executor: "stepped",
        reason: `fused, one thread would read ${weights} bytes of weights a step`,
      };
    }
    return { executor: "fused", reason: `the weights of a step, ${weights} bytes, stay in a cache` };
  }
  const seconds = costOf(program).operations * batch * (single ? lanes : 1) / machine.rate;
  if (seconds < program.kernels.length * machine.launch) {
    return { executor: "fused", reason: "the kernels of a step would take longer to start than to run" };
  }
  const { name, bytes, most } = large;
  return {
    executor: "stepped",
    reason: `${name}, ${bytes} bytes, are more than the ${most} that a cache serves`,
  };
}

/** Bytes of the matrices that every sample multiplies by in a step. */
function weightBytes({ inputs, kernels, dtype }: Program, batch: number): number {
  const weights = new Set(kernels.flatMap((kernel) => {
    if (kernel.kind !== "contract") return [];
    return [kernel.a, kernel.b].flatMap(({ slot, shared }) => {
      if (shared !== undefined) return [inputs[shared]];
      return batch === 1 ? inputs.filter((input) => input.role === "constant" && input.slot === slot) : [];
    });
  }));
  return bytesPerElement(dtype) * [...weights].reduce((sum, { size }) => sum + size, 0);
}
