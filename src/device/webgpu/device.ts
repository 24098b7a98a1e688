/** The device that runs on a GPU through WebGPU. */
import type {
  Buffer,
  BufferView,
  DeviceCapture,
  DeviceInfo,
  KernelDevice,
  Reduction,
  View,
} from "../device.ts";
import { platform } from "../../platform/current.ts";
import { refuseReading } from "../capture.ts";
import { bytesPerElement, deviceArray, type TypedArray } from "../dtype.ts";
import { identity, type ScalarFunction } from "../scalar/scalar.ts";
import { sizeOf } from "../shape.ts";
import { CommandRecorder } from "./command_recorder.ts";
import { type DescribedAdapter, findAdapter, type Implementation, noAdapterMessage } from "./adapter.ts";
import { type Dispatch, Gpu, type GpuLimits, type MemoryView, workgroupSize } from "./gpu.ts";
import { findSubgroupLanes } from "./subgroups.ts";
import { gather } from "./kernels/gather.ts";
import { storageType } from "./kernel.ts";
import { map } from "./kernels/map.ts";
import { matmul } from "./kernels/matmul.ts";
import { checkNaN, probeNaN } from "./kernels/nan_probe.ts";
import type { GpuMemory } from "./buffer_pool.ts";
import type { Recording } from "./recording.ts";
import type { RecurrenceAxes } from "../recurrence.ts";
import { cumulativeSum, linearRecurrence } from "./kernels/recurrence.ts";
import { argSort } from "./kernels/sort.ts";
import { argReduce, reduce } from "./kernels/reduce.ts";
import { scatterAdd } from "./kernels/scatter_add.ts";
import { tridiagonal } from "./kernels/tridiagonal.ts";

/** Options of {@linkcode createWebGpuDevice}. */
export interface WebGpuOptions extends GpuLimits {
  /** WebGPU implementation: Deno's (`"native"`, default) or Google's Dawn through `npm:webgpu` (`"dawn"`). */
  implementation?: Implementation;
  /** An adapter to use instead of the preferred adapter of the implementation. */
  adapter?: DescribedAdapter;
}

/**
 * Opens a GPU.
 *
 * @throws {Error} If there is no adapter. The message lists packages to install.
 */
export async function createWebGpuDevice(options: WebGpuOptions = {}): Promise<WebGpuDevice> {
  const { implementation = "native" } = options;
  const adapter = options.adapter ?? await findAdapter(implementation);
  if (!adapter) throw new Error(noAdapterMessage(implementation));
  const gpu = await Gpu.open(adapter, options);
  gpu.subgroupLanes = await findSubgroupLanes(gpu, workgroupSize);
  return new WebGpuDevice(gpu, checkNaN(gpu));
}

/** A GPU as a {@linkcode KernelDevice}. */
export class WebGpuDevice implements KernelDevice {
  readonly kind = "webgpu";
  readonly info: DeviceInfo;
  readonly #gpu: Gpu;
  readonly #check: Promise<void>;

  /**
   * Use {@linkcode createWebGpuDevice}.
   *
   * @param check Every wait for the GPU throws its error.
   */
  constructor(gpu: Gpu, check: Promise<void> = Promise.resolve()) {
    this.#gpu = gpu;
    this.#check = check;
    const { description, software, implementation } = gpu.adapter;
    this.info = {
      kind: "webgpu",
      description,
      software,
      arithmetic: {
        device: "webgpu",
        adapter: description,
        // The runtime compiles the kernels.
        ...(implementation === "native" ? { runtime: platform.name } : {}),
      },
    };
  }

  /** The WebGPU implementation. */
  get implementation(): Implementation {
    return this.#gpu.adapter.implementation;
  }

  /** Limits and features of the GPU. */
  get limits(): GPUSupportedLimits {
    return this.#gpu.device.limits;
  }

  /** Whether the GPU was lost or the device destroyed. Its tensors are lost, too. */
  get isLost(): boolean {
    return this.#gpu.isLost;
  }

  /**
   * Numbers of compiled kernels, submitted batches and waits for the GPU, the most operations of a batch, bytes
   * uploaded so far, and bytes of memory: in use, and including idle memory.
   */
  get statistics(): {
    kernels: number;
    batches: number;
    mostOperations: number;
    waits: number;
    uploaded: number;
    bytes: { used: number; total: number };
  } {
    const { kernels: { compiled }, commands: { submitted, mostOperations, waits, uploaded }, pool } =
      this.#gpu;
    return { kernels: compiled, batches: submitted, mostOperations, waits, uploaded, bytes: pool.bytes };
  }

  /**
   * Queues a custom kernel.
   *
   * @param kernel The buffers are `memoryOf` of views. A buffer that is written must not have a second
   * binding. A kernel of more operations than a submission may have must read `params.first_workgroup`.
   */
  dispatch(kernel: Dispatch): void {
    this.#gpu.dispatch(kernel);
  }

  /** Records the kernels of a loop's iteration, without queueing them. See {@linkcode repeat}. */
  record(iteration: (index: number) => void): Recording {
    return this.#gpu.record(iteration);
  }

  repeat(count: number, iteration: (index: number) => void): void {
    const recording = this.record(iteration);
    for (let i = 0; i < count; i++) recording.play(i);
    recording.free();
  }

  get usedBytes(): number {
    return this.#gpu.pool.bytes.used;
  }

  /** Submits the queued commands. */
  submit(): void {
    this.#gpu.commands.flush();
  }

  runOnHost(command: () => void): void {
    this.#gpu.commands.captured?.add(command);
    command();
  }

  /**
   * Makes the GPU write timestamps of the start and end of passes from now on.
   *
   * @param timestamps Called at the start of each pass: returns where the pass writes its timestamps.
   * @internal
   */
  timePasses(timestamps: (() => GPUComputePassTimestampWrites | undefined) | undefined): void {
    this.#gpu.commands.timePasses(timestamps);
  }

  /** The WebGPU device. */
  get gpuDevice(): GPUDevice {
    return this.#gpu.device;
  }

  /** Copies a contiguous view to another buffer, from word `offset` on. */
  copy({ source, shape, offset: start }: BufferView, target: Buffer, offset: number): void {
    const region = { memory: memoryOf(source), offset: start * 4, size: sizeOf(shape) * 4 };
    this.#gpu.commands.copy(region, memoryOf(target), offset * 4);
  }

  capture(): DeviceCapture {
    const { commands, pool } = this.#gpu;
    const captured = new CommandRecorder(commands);
    const { reserve } = captured;
    return {
      setActive: (isActive) => {
        commands.captured = isActive ? captured : undefined;
        pool.reserve = isActive ? reserve : undefined;
      },
      reserve,
      list: () => captured.list(),
      release: (memory) => pool.release(memory as GpuMemory),
    };
  }

  allocate(byteLength: number): GpuMemory {
    this.#gpu.commands.beginBatch();
    return this.#gpu.pool.allocate(byteLength);
  }

  release(memory: unknown): void {
    this.#gpu.pool.release(memory as GpuMemory);
  }

  write(buffer: Buffer, words: TypedArray): void {
    if (words instanceof Float64Array) storageType("float64");
    // WebGPU does not accept shared memory.
    const unshared = words.buffer instanceof ArrayBuffer ? words : words.slice();
    const bytes = new Uint8Array(unshared.buffer as ArrayBuffer, unshared.byteOffset, unshared.byteLength);
    this.#gpu.commands.write(memoryOf(buffer), bytes);
  }

  async read(views: readonly BufferView[]): Promise<TypedArray[]> {
    refuseReading();
    const regions = views.map(({ source, shape, offset, dtype }) => {
      const bytes = bytesPerElement(dtype);
      return { memory: memoryOf(source), offset: offset * bytes, size: sizeOf(shape) * bytes };
    });
    const copies = await this.#gpu.commands.read(regions);
    await this.#check;
    return copies.map((copy, i) => new (deviceArray(views[i].dtype))(copy));
  }

  async synchronize(): Promise<void> {
    await this.#gpu.synchronize();
    await this.#check;
  }

  /** Returns the operations that lose NaN on this GPU. Empty if all preserve NaN. */
  probeNaN(): Promise<string[]> {
    return probeNaN(this.#gpu);
  }

  destroy(): void {
    this.#gpu.destroy();
  }

  map(fn: ScalarFunction, inputs: readonly View[], output: BufferView): void {
    const operands = inputs.map((input) =>
      typeof input.source === "number"
        ? { value: input.source, dtype: input.dtype }
        : memoryViewOf(input as BufferView)
    );
    map(this.#gpu, fn, operands, memoryViewOf(output));
  }

  reduce(reduction: Reduction, input: BufferView, output: BufferView): void {
    this.#withoutAliasing([input], output, (source, target) => reduce(this.#gpu, reduction, source, target));
  }

  argReduce(reduction: "max" | "min", input: BufferView, axis: number, output: BufferView): void {
    this.#withoutAliasing(
      [input],
      output,
      (source, target) => argReduce(this.#gpu, reduction, source, axis, target),
    );
  }

  argSort(input: BufferView, descending: boolean, output: BufferView): void {
    this.#withoutAliasing(
      [input],
      output,
      (source, target) => argSort(this.#gpu, source, descending, target),
    );
  }

  cumulativeSum(input: BufferView, axis: number, output: BufferView): void {
    this.#withoutAliasing(
      [input],
      output,
      (source, target) => cumulativeSum(this.#gpu, source, axis, target),
    );
  }

  linearRecurrence(a: BufferView, b: BufferView, axes: RecurrenceAxes, output: BufferView): void {
    this.#withoutAliasing(
      [a, b],
      output,
      (factors, terms, target) => linearRecurrence(this.#gpu, factors, terms, axes, target),
    );
  }

  matmul(a: BufferView, b: BufferView, output: BufferView): void {
    this.#withoutAliasing([a, b], output, (left, right, target) => matmul(this.#gpu, left, right, target));
  }

  addMatmul(a: BufferView, b: BufferView, output: BufferView): void {
    const [left, right, target] = [a, b, output].map(memoryViewOf);
    matmul(this.#gpu, left, right, target, { adds: true });
  }

  gather(input: BufferView, indices: BufferView, output: BufferView): void {
    this.#withoutAliasing(
      [input, indices],
      output,
      (source, at, target) => gather(this.#gpu, source, at, target),
    );
  }

  scatterAdd(updates: BufferView, indices: BufferView, output: BufferView): void {
    this.#withoutAliasing(
      [updates, indices],
      output,
      (source, at, target) => scatterAdd(this.#gpu, source, at, target),
    );
  }

  tridiagonal(
    lower: BufferView,
    diagonal: BufferView,
    upper: BufferView,
    rhs: BufferView,
    output: BufferView,
  ): void {
    this.#withoutAliasing(
      [lower, diagonal, upper, rhs],
      output,
      (...operands) => tridiagonal(this.#gpu, operands),
    );
  }

  /**
   * Runs a kernel whose inputs may share memory with its output. WebGPU does not allow this, so such inputs
   * are copied.
   */
  #withoutAliasing(
    inputs: readonly BufferView[],
    output: BufferView,
    run: (...operands: MemoryView[]) => void,
  ): void {
    const target = memoryViewOf(output);
    const copies: MemoryView[] = [];
    const sources = inputs.map((input) => {
      const source = memoryViewOf(input);
      if (source.memory !== target.memory) return source;
      const copy = this.#gpu.temporary(source.shape, source.dtype);
      copies.push(copy);
      map(this.#gpu, identity, [source], copy);
      return copy;
    });
    run(...sources, target);
    for (const copy of copies) this.#gpu.pool.release(copy.memory);
  }
}

/** The GPU memory of a buffer. */
export function memoryOf(buffer: Buffer): GpuMemory {
  return buffer.memory as GpuMemory;
}

function memoryViewOf({ source, dtype, shape, strides, offset }: BufferView): MemoryView {
  return { memory: memoryOf(source), dtype, shape, strides, offset };
}
