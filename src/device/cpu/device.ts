/** The CPU device: WebAssembly SIMD kernels on one shared memory, with worker threads for large kernels. */
import type {
  Buffer,
  BufferView,
  DeviceCapture,
  DeviceInfo,
  KernelDevice,
  PreparedMatrix,
  Reduction,
  View,
} from "../device.ts";
import { platform } from "../../platform/current.ts";
import { bytesPerElement, deviceArray, type TypedArray } from "../dtype.ts";
import type { ScalarFunction } from "../scalar/scalar.ts";
import { sizeOf } from "../shape.ts";
import { refuseReading } from "../capture.ts";
import { Reserve } from "../memory/reserve.ts";
import { addressOf } from "./assembler/address.ts";
import { argReduce } from "./kernels/arg_reduce.ts";
import { argSort } from "./kernels/sort.ts";
import { gather, scatterAdd } from "./kernels/indexing.ts";
import { Kernels } from "./kernels/kernels.ts";
import { Mapper } from "./kernels/map.ts";
import { Multiplier } from "./matmul/multiplier.ts";
import type { Blas } from "./matmul/native.ts";
import { type Block, formatBytes, Memory } from "./runtime/memory.ts";
import { ThreadPool } from "./runtime/thread_pool.ts";
import type { RecurrenceAxes } from "../recurrence.ts";
import { cumulativeSum, linearRecurrence } from "./kernels/recurrence.ts";
import { reduce } from "./kernels/reduce.ts";
import { tridiagonal } from "./kernels/tridiagonal.ts";
import { isMultiplyAddFused } from "./assembler/multiply_add.ts";
import { hasRelaxedSimd } from "./assembler/wasm.ts";

/** Maximum number of threads: the maximum number of tasks of a job. */
const maxThreads = 64;

/**
 * Tensors must be smaller than this number of bytes, because kernels count elements of four bytes or more in
 * 31 bits.
 */
const maxBytes = 2 ** 33;

/** Options of {@linkcode createCpuDevice}. */
export interface CpuOptions {
  /**
   * Number of threads of large kernels, including the main thread. Default: the number of processor threads.
   */
  threads?: number;
  /** A native library for large matrix products. */
  blas?: (memory: Memory, threads: number) => Blas;
  /** Maximum size of the memory in bytes. See {@linkcode Memory}. */
  memory?: number;
  /** Address of the file of a worker, in a browser. Default: workers are started from a text. */
  worker?: string;
  /** The reason that the device has one thread, if more were possible on the machine. */
  whyOneThread?: string;
}

/** Creates a CPU device. */
export function createCpuDevice(options: CpuOptions = {}): CpuDevice {
  return new CpuDevice(options);
}

/** Number of processor threads. */
export function processorThreads(): number {
  return platform.startThread ? Math.min(maxThreads, globalThis.navigator?.hardwareConcurrency ?? 1) : 1;
}

/** See {@linkcode createCpuDevice}. Kernels run at once. */
export class CpuDevice implements KernelDevice {
  readonly kind = "cpu";
  readonly info: DeviceInfo;
  readonly memory: Memory;
  readonly pool: ThreadPool;
  /** Library for large matrix products, if given. */
  readonly blas: Blas | undefined;
  readonly #mapper: Mapper;
  readonly #multiplier: Multiplier;
  readonly #kernels: Kernels;

  constructor({ threads = processorThreads(), blas, memory, worker, whyOneThread }: CpuOptions) {
    if (!(Number.isInteger(threads) && threads >= 1 && threads <= maxThreads)) {
      throw new RangeError(`threads must be a whole number from 1 to ${maxThreads}, got ${threads}`);
    }
    // A single thread needs no shared memory, which is slower where the engine checks addresses by traps.
    const isShared = platform.startThread !== undefined && (threads > 1 || platform.prefersMemory64);
    this.memory = new Memory(memory, isShared);
    this.pool = new ThreadPool(this.memory, threads, worker);
    this.blas = blas?.(this.memory, threads);
    this.#mapper = new Mapper(this.memory, this.pool);
    this.#kernels = new Kernels(this.memory, this.pool);
    this.#multiplier = new Multiplier(this, this.#kernels, this.blas);
    const parts = [
      ...platform.architecture ? [platform.architecture] : [],
      `${threads} ${threads === 1 ? "thread" : "threads"}`,
      `WebAssembly with ${hasRelaxedSimd ? "relaxed " : ""}SIMD`,
      ...this.memory.vectorsPerRegister === 2 ? ["vectors in pairs"] : [],
      ...this.blas ? [`matrix products by ${this.blas.description}`] : [],
    ];
    this.info = {
      kind: "cpu",
      description: parts.join(", "),
      software: false,
      notes: [
        ...whyOneThread === undefined ? [] : [`one thread, because ${whyOneThread}`],
        `${isShared ? "shared memory" : "memory of one thread"} with ${
          this.memory.is64 ? 64 : 32
        }-bit addresses, up to ${formatBytes(this.memory.maximumBytes)}`,
      ],
      arithmetic: {
        device: "cpu",
        vectors: `${128 * this.memory.vectorsPerRegister} bits`,
        "multiply-add": isMultiplyAddFused() ? "rounded once" : "rounded twice",
        // Other products have the same bits for any number of threads.
        "large products": this.blas ? `${this.blas.description} on ${threads} threads` : "Weft",
      },
    };
  }

  /** @throws {RangeError} If there could be more elements than kernels can count. */
  allocate(byteLength: number): Block {
    if (byteLength >= maxBytes && byteLength <= this.memory.maximumBytes) {
      throw new RangeError(
        `a tensor of ${byteLength} bytes is too large: tensors on the CPU must be smaller than 8 GiB; split it along an axis`,
      );
    }
    return this.memory.allocate(byteLength);
  }

  release(memory: unknown): void {
    this.memory.release(memory as Block);
  }

  capture(): DeviceCapture {
    const { memory, pool } = this;
    const [commands, reserve]: [(() => void)[], Reserve<Block>] = [[], new Reserve()];
    return {
      setActive: (isActive) => {
        pool.captured = isActive ? commands : undefined;
        memory.reserve = isActive ? reserve : undefined;
      },
      reserve,
      list: () => commands,
      release: (block) => memory.release(block as Block),
    };
  }

  runOnHost(command: () => void): void {
    this.pool.captured?.push(command);
    command();
  }

  write(buffer: Buffer, words: TypedArray): void {
    const { address } = buffer.memory as Block;
    const Words = words.constructor as typeof Float32Array;
    const values = this.pool.captured ? words.slice() : words;
    this.runOnHost(() =>
      new Words(this.memory.wasm.buffer, address, values.length).set(values as Float32Array)
    );
  }

  /** Writes zeros to a contiguous view. */
  clear(view: BufferView): void {
    const start = addressOf(view);
    const end = start + sizeOf(view.shape) * bytesPerElement(view.dtype);
    this.runOnHost(() => this.memory.u8.fill(0, start, end));
  }

  readSync(view: BufferView): TypedArray {
    refuseReading();
    const { dtype, shape } = view;
    const start = addressOf(view) / bytesPerElement(dtype);
    const copied = new (deviceArray(dtype))(sizeOf(shape));
    copied.set(this.memory.wordsOf(dtype).subarray(start, start + copied.length));
    return copied;
  }

  repeat(count: number, iteration: (index: number) => void): void {
    for (let i = 0; i < count; i++) iteration(i);
  }

  get usedBytes(): number {
    return this.memory.usedBytes;
  }

  // deno-lint-ignore require-await
  async read(views: readonly BufferView[]): Promise<TypedArray[]> {
    return views.map((view) => this.readSync(view));
  }

  async synchronize(): Promise<void> {}

  destroy(): void {
    this.pool.destroy();
  }

  map(fn: ScalarFunction, inputs: readonly View[], output: BufferView): void {
    this.#mapper.run(fn, inputs, output);
  }

  reduce(reduction: Reduction, input: BufferView, output: BufferView): void {
    reduce(this.#kernels, reduction, input, output);
  }

  argReduce(reduction: "max" | "min", input: BufferView, axis: number, output: BufferView): void {
    argReduce(this, this.#kernels, reduction, input, axis, output);
  }

  argSort(input: BufferView, descending: boolean, output: BufferView): void {
    argSort(this, this.memory, input, descending, output);
  }

  cumulativeSum(input: BufferView, axis: number, output: BufferView): void {
    cumulativeSum(this, this.#kernels, input, axis, output);
  }

  linearRecurrence(a: BufferView, b: BufferView, axes: RecurrenceAxes, output: BufferView): void {
    linearRecurrence(this.#kernels, [a, b, output], axes);
  }

  matmul(a: BufferView, b: BufferView, output: BufferView, prepared?: PreparedMatrix): void {
    this.#multiplier.run(a, b, output, prepared);
  }

  prepare(right: BufferView, rows: number): PreparedMatrix | undefined {
    return this.#multiplier.prepare(right, rows);
  }

  gather(input: BufferView, indices: BufferView, output: BufferView): void {
    gather(this.#kernels, input, indices, output);
  }

  scatterAdd(updates: BufferView, indices: BufferView, output: BufferView): void {
    scatterAdd(this.#kernels, updates, indices, output);
  }

  tridiagonal(
    lower: BufferView,
    diagonal: BufferView,
    upper: BufferView,
    rhs: BufferView,
    output: BufferView,
  ): void {
    tridiagonal(this.#kernels, [lower, diagonal, upper, rhs, output]);
  }
}
