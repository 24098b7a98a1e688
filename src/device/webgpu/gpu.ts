/** An open GPU: the context of all kernels in this folder. */
import type { DType } from "../dtype.ts";
import { contiguousStrides, type Shape, sizeOf } from "../shape.ts";
import { type DescribedAdapter, failureHint } from "./adapter.ts";
import { Commands, type Wait } from "./commands.ts";
import { waitForDawn } from "./dawn.ts";
import { Faults } from "./faults.ts";
import { KernelCache, type KernelSource } from "./kernel.ts";
import { BufferPool, type GpuMemory } from "./buffer_pool.ts";
import type { Launch } from "./launch.ts";
import { occupiedOperations, submissionBudget } from "./submission_budget.ts";
import { Recording } from "./recording.ts";

/** A view of GPU memory. */
export interface MemoryView {
  readonly memory: GpuMemory;
  readonly dtype: DType;
  readonly shape: Shape;
  readonly strides: readonly number[];
  readonly offset: number;
}

/** Invocations per workgroup. */
export const workgroupSize = 64;

/** Number of invocations that occupy a GPU. Longer sums are split among up to this many. */
export const parallelism = 65536;

/**
 * Maximum loop iterations of an invocation. llvmpipe silently ends loops after 65,535 iterations, and a
 * dispatch must not occupy a GPU for long. Longer loops are split into several dispatches.
 */
export const maxLoopLength = 32768;

/** Limits that are requested at the maximum of the adapter. */
const raisedLimits = [
  "maxBufferSize",
  "maxStorageBufferBindingSize",
  "maxStorageBuffersPerShaderStage",
  "maxComputeWorkgroupStorageSize",
  "maxComputeInvocationsPerWorkgroup",
  "maxComputeWorkgroupSizeX",
  "maxComputeWorkgroupSizeY",
  "maxComputeWorkgroupSizeZ",
  "maxComputeWorkgroupsPerDimension",
] as const;

/** The source, buffers and parameters of a kernel. */
export interface Dispatch extends Omit<Launch, "kernel"> {
  /** Key of the source. Each key is compiled once. */
  readonly key: string;
  readonly source: () => KernelSource;
}

/** Limits of dispatches and submissions, and features that are not used. */
export interface GpuLimits {
  /** Whether reductions use subgroups, if the adapter has them; true by default. */
  readonly subgroups?: boolean;
  /** Maximum number of workgroups per dispatch. Default: the limit of the adapter. */
  readonly maxWorkgroups?: number;
  /** Maximum operations of a submission. Default: {@linkcode submissionBudget}. */
  readonly budget?: number;
}

/** An open device with its memory, kernels and commands. */
export class Gpu {
  readonly adapter: DescribedAdapter;
  readonly device: GPUDevice;
  /** Maximum number of workgroups per dispatch. */
  readonly maxWorkgroups: number;
  readonly pool: BufferPool;
  readonly kernels: KernelCache;
  readonly commands: Commands;
  /** Number of consecutive invocations that are in one subgroup; 1 if subgroups are not used. */
  subgroupLanes = 1;
  readonly #faults: Faults;
  readonly #wait: Wait;
  /** Records kernels instead of queueing them, while a loop is recorded. */
  #recorded: Launch[] | undefined;

  /** Uses an adapter whose device is open. */
  constructor(
    adapter: DescribedAdapter,
    device: GPUDevice,
    { maxWorkgroups = Infinity, budget = submissionBudget }: GpuLimits = {},
  ) {
    this.adapter = adapter;
    this.device = device;
    this.maxWorkgroups = Math.min(maxWorkgroups, device.limits.maxComputeWorkgroupsPerDimension);
    const faults = this.#faults = new Faults();
    const hint = failureHint(adapter.implementation);
    this.pool = new BufferPool(device);
    const isDawn = adapter.implementation === "dawn";
    const wait = this.#wait = isDawn ? waitForDawn : (promise) => promise;
    this.commands = new Commands(device, this.pool, faults, { hint, wait, budget });
    // Deno's WebGPU has compiled a kernel when `createComputePipelineAsync` returns.
    this.kernels = new KernelCache(device, faults, this.commands.paramsLayout, {
      hint,
      inBackground: isDawn,
    });
    device.addEventListener("uncapturederror", (event) => {
      const { error } = event as GPUUncapturedErrorEvent;
      faults.add(new Error(`WebGPU failed: ${error.message.trim()}\n${hint}`));
    });
    device.lost.then(({ message }) =>
      faults.lose(
        new Error(`the GPU was lost and its tensors with it (${message.trim()}): call init again. ${hint}`),
      )
    );
  }

  /** Opens an adapter. */
  static async open(adapter: DescribedAdapter, { subgroups = true, ...own }: GpuLimits = {}): Promise<Gpu> {
    const { limits, features } = adapter.gpu;
    const requiredLimits = Object.fromEntries(raisedLimits.map((name) => [name, limits[name]]));
    // Timestamps are for profiles.
    const wanted = ["timestamp-query", ...subgroups ? ["subgroups"] : []] as GPUFeatureName[];
    const requiredFeatures = wanted.filter((name) => features.has(name));
    const device = await adapter.gpu.requestDevice({ requiredLimits, requiredFeatures });
    return new Gpu(adapter, device, own);
  }

  /**
   * Waits for all queued commands, and for kernels that are compiled in the background but not queued.
   *
   * @throws {Error} The first error of a command.
   */
  async synchronize(): Promise<void> {
    await this.commands.synchronize();
    await this.#wait(this.kernels.settled());
  }

  /** Whether the device is lost or destroyed. */
  get isLost(): boolean {
    return this.#faults.isLost;
  }

  /** Destroys the device. */
  destroy(): void {
    this.#faults.lose(new Error("this device was destroyed, and its tensors with it: call init again"));
    this.device.destroy();
  }

  /** Queues a kernel of workgroups of {@linkcode workgroupSize}, whose `operations` do not depend on idle invocations. */
  run(kernel: Dispatch): void {
    const operations = occupiedOperations(kernel.operations, kernel.workgroups * workgroupSize);
    this.dispatch({ ...kernel, operations });
  }

  /** Queues a kernel. */
  dispatch({ key, source, ...rest }: Dispatch): void {
    const launch = { kernel: this.kernels.get(key, source), ...rest };
    if (this.#recorded) this.#recorded.push(launch);
    else this.commands.dispatch(launch);
  }

  /** Records the kernels of a loop from its iterations 0 and 1, without queueing them. */
  record(iteration: (index: number) => void): Recording {
    const record = (index: number): Launch[] => {
      const launches: Launch[] = this.#recorded = [];
      try {
        iteration(index);
        return launches;
      } finally {
        this.#recorded = undefined;
      }
    };
    const { result: first, free } = this.pool.deferReleases(() => record(0));
    return new Recording(this.commands, first, record(1), free);
  }

  /**
   * Number of workgroups for a number of invocations. Invocations of a smaller grid process several elements.
   */
  workgroupsFor(invocations: number): number {
    return Math.min(Math.ceil(invocations / workgroupSize), this.maxWorkgroups);
  }

  /**
   * Splits `steps` loop iterations of each invocation into ranges for separate dispatches. With more
   * invocations than a dispatch can start, each invocation runs the loop several times.
   */
  *parts(steps: number, invocations: number): Generator<[first: number, end: number]> {
    const walks = Math.ceil(invocations / (this.maxWorkgroups * workgroupSize));
    const part = Math.max(1, Math.floor(maxLoopLength / walks));
    for (let first = 0; first < steps; first += part) yield [first, Math.min(first + part, steps)];
  }

  /** Allocates a contiguous array. Release it by `gpu.pool.release(view.memory)`. */
  temporary(shape: Shape, dtype: DType): MemoryView {
    this.commands.beginBatch();
    const memory = this.pool.allocate(sizeOf(shape) * 4);
    return { memory, dtype, shape, strides: contiguousStrides(shape), offset: 0 };
  }
}
