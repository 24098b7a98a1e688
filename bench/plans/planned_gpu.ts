/**
 * A GPU that plans but does not compute: while a function runs on another device, it receives every kernel and every loop. It
 * makes the layouts, dispatches and submissions of a machine that is not there.
 */
import { outsideCapture } from "../../src/device/capture.ts";
import {
  type Buffer,
  kernelCalls,
  type KernelDevice,
  type KernelName,
  type View,
} from "../../src/device/device.ts";
import { bytesPerElement } from "../../src/device/dtype.ts";
import { sizeOf } from "../../src/device/shape.ts";
import type { WebGpuDevice } from "../../src/device/webgpu/device.ts";
import { executorFor, nameOf, withExecutors } from "../../src/compile/executors/choose_executor.ts";
import type { LoopLayout } from "../../src/compile/executors/loop_layout.ts";
import type { Executor, Run } from "../../src/compile/executors/run.ts";
import { layoutOf } from "../../src/compile/inspect/describe_run.ts";
import type { Machine } from "./machines.ts";
import type { CommandCounts } from "./null_adapter.ts";
import { openNullGpu } from "./null_gpu.ts";

/** Commands that a GPU received. */
export interface Commands {
  readonly dispatches: number;
  readonly passes: number;
  readonly submissions: number;
}

/** A kernel outside loops. */
export interface PlannedKernel {
  readonly name: string;
  readonly commands: Commands;
  readonly isProduct: boolean;
  /** Scalar operations of a product, elements of another kernel. */
  readonly operations: number;
  /** Bytes of the operands. */
  readonly bytes: number;
}

/** A compiled loop. */
export interface PlannedLoop {
  readonly run: Run;
  readonly isBackward: boolean;
  /** Dispatches of the loop's kernel, without those of products and sums that follow it. */
  readonly loopDispatches: number;
  readonly commands: Commands;
  /** Undefined if the loop is stepped. */
  readonly layout: LoopLayout | undefined;
}

/** All that a GPU received, in order. */
export interface Plan {
  readonly commands: Commands;
  readonly loops: readonly PlannedLoop[];
  readonly kernels: readonly PlannedKernel[];
}

/** Runs `body` on the device, and plans all its work for a machine. */
export function planFor(machine: Machine, device: KernelDevice, body: () => void): Plan {
  const planner = new Planner(machine);
  using _kernels = planner.mirror(device);
  withExecutors((executor, wanted) => planner.executor(executor, wanted), body);
  return planner.finish();
}

class Planner {
  readonly #gpu: WebGpuDevice;
  readonly #counts: CommandCounts;
  readonly #buffers = new WeakMap<Buffer, Buffer>();
  readonly #loops: PlannedLoop[] = [];
  readonly #kernels: PlannedKernel[] = [];
  /** Layouts by program, batch and steps. */
  readonly #layouts = new Map<string, LoopLayout | undefined>();
  /** Whether an executor runs, whose kernels are not mirrored. */
  #isInLoop = false;

  constructor(machine: Machine) {
    ({ device: this.#gpu, counts: this.#counts } = openNullGpu(machine));
  }

  finish(): Plan {
    this.#gpu.submit();
    return { commands: this.#count(), loops: this.#loops, kernels: this.#kernels };
  }

  /** Queues each kernel of a device on the GPU too, until the result is disposed. */
  mirror(device: KernelDevice): Disposable {
    const methods = device as unknown as Record<string, (...args: unknown[]) => unknown>;
    const names = Object.keys(kernelCalls) as KernelName[];
    for (const name of names) {
      const run = methods[name];
      methods[name] = (...args) => {
        run.apply(device, args);
        if (!this.#isInLoop) this.#plan(name, args);
      };
    }
    return {
      [Symbol.dispose]() {
        for (const name of names) delete methods[name];
      },
    };
  }

  #plan(name: KernelName, args: unknown[]): void {
    const { operands, span } = kernelCalls[name] as {
      operands: (...args: unknown[]) => readonly [readonly View[], View];
      span: (...args: unknown[]) => { kind: string; name: string };
    };
    const [reads, output] = operands(...args);
    const views = [...new Set([...reads, output])];
    const before = this.#count();
    const queue = this.#gpu[name] as (...args: unknown[]) => void;
    outsideCapture(() => queue.apply(this.#gpu, args.map((arg) => this.#own(arg))));
    const { kind, name: text } = span(...args);
    const isProduct = name === "matmul";
    const elements = sizeOf(output.shape);
    this.#kernels.push({
      name: `${kind}: ${text}`,
      commands: difference(this.#count(), before),
      isProduct,
      operations: isProduct ? 2 * elements * reads[0].shape.at(-1)! : elements,
      bytes: views.reduce((sum, view) => sum + bytesOf(view), 0),
    });
  }

  /** An executor that runs loops on the device of `real`, and plans them for the GPU. */
  executor(real: Executor, wanted: "fused" | "stepped" | undefined): Executor {
    const planning = executorFor(this.#gpu, wanted);
    const execute = (run: Run) => {
      const before = this.#isInLoop;
      this.#isInLoop = true;
      try {
        outsideCapture(() => this.#planLoop(planning, run));
        return real(run);
      } finally {
        this.#isInLoop = before;
      }
    };
    const { keepsProducts, evaluateHoisted, splitSamples, memory, constantMemory } = planning;
    const limits = { keepsProducts, evaluateHoisted, splitSamples, memory, constantMemory };
    return Object.assign(execute, real, limits);
  }

  #planLoop(planning: Executor, run: Run): void {
    const planned = { ...run, inputs: run.inputs.map((view) => this.#own(view)) };
    const [before, dispatches] = [this.#count(), this.#counts.dispatches.get("loop") ?? 0];
    planning(planned);
    this.#loops.push({
      run: planned,
      isBackward: run.program.backward,
      loopDispatches: (this.#counts.dispatches.get("loop") ?? 0) - dispatches,
      commands: difference(this.#count(), before),
      layout: this.#layoutOf(planning, planned),
    });
  }

  #layoutOf(planning: Executor, run: Run): LoopLayout | undefined {
    const key = `${nameOf(run)} ${run.steps}`;
    if (!this.#layouts.has(key)) this.#layouts.set(key, layoutOf(planning, run));
    return this.#layouts.get(key);
  }

  #count(): Commands {
    const { dispatches, passes, submissions } = this.#counts;
    return {
      dispatches: [...dispatches.values()].reduce((sum, count) => sum + count, 0),
      passes,
      submissions,
    };
  }

  /** An argument of a kernel, with buffers of the GPU. */
  #own<T>(arg: T): T {
    if (Array.isArray(arg)) return arg.map((item) => this.#own(item)) as T;
    const source = (arg as { source?: unknown } | undefined)?.source;
    if (typeof source !== "object" || source === null) return arg;
    return { ...arg, source: this.#bufferFor(source as Buffer) };
  }

  #bufferFor(buffer: Buffer): Buffer {
    let own = this.#buffers.get(buffer);
    if (!own) this.#buffers.set(buffer, own = plannedBuffer(this.#gpu, buffer));
    return own;
  }
}

/** A buffer that no scope and no capture knows. */
function plannedBuffer(device: KernelDevice, { byteLength, serial }: Buffer): Buffer {
  const nothing = () => {};
  const memory = device.allocate(byteLength);
  const isLeftToCollector = false;
  return {
    device,
    byteLength,
    serial,
    memory,
    isLeftToCollector,
    isUnreturned: false,
    freed: false,
    free: nothing,
    reopen: nothing,
    release: nothing,
  };
}

/** Bytes of the elements of a view, each counted once. */
function bytesOf({ source, shape, strides, dtype }: View): number {
  if (typeof source === "number") return 0;
  return bytesPerElement(dtype) * sizeOf(shape.filter((_, axis) => strides[axis] !== 0));
}

function difference(after: Commands, before: Commands): Commands {
  return {
    dispatches: after.dispatches - before.dispatches,
    passes: after.passes - before.passes,
    submissions: after.submissions - before.submissions,
  };
}
