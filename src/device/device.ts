import {
  deferRelease,
  type DeviceCapture,
  isAllocationDeferred,
  isCapturing,
  noteBuffer,
  noteUse,
} from "./capture.ts";
import type { DType, TypedArray } from "./dtype.ts";
import { chargeMemory, creditMemory, type MemoryAccount } from "./memory_limit.ts";
import type { RecurrenceAxes } from "./recurrence.ts";
import type { ScalarFunction } from "./scalar.ts";
import { forgetBuffer, trackBuffer } from "./scope.ts";

/**
 * A strided window on a device's memory, or a number that stands for all of its elements (`source` is then that number,
 * and no memory is held). `strides` and `offset` count elements; a stride of zero repeats, a negative one reverses.
 *
 * @internal
 */
export interface View {
  readonly source: Buffer | number;
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  readonly offset: number;
  /** Whether it was made of another view of a number: neither has memory that the other could see written to. */
  readonly isDerivedNumber?: boolean;
}

/**
 * A view with memory behind it.
 *
 * @internal
 */
export interface BufferView extends View {
  readonly source: Buffer;
}

/**
 * Operation by which {@linkcode Device.reduce} combines elements.
 *
 * @internal
 */
export type Reduction = "sum" | "max" | "min";

/** Description of a device, for reports and messages. */
export interface DeviceInfo {
  /** `"cpu"` or `"webgpu"`. */
  readonly kind: "cpu" | "webgpu";
  /** The adapter or the processor, in words. */
  readonly description: string;
  /** Whether a GPU's work is done by the processor (llvmpipe, SwiftShader). */
  readonly software: boolean;
  /** What decides the last bits of results, in words, by name: two devices with the same words compute the same bits. */
  readonly arithmetic: Readonly<Record<string, string>>;
}

/**
 * A right matrix (k, n), copied to where products read it quickly.
 *
 * @internal
 */
export interface PreparedMatrix {
  free(): void;
}

/**
 * Memory, and kernels that run on views of it: the interface of both devices. A device knows nothing of gradients. Kernels are
 * queued in order; only {@linkcode read} waits for them. Shapes have been checked when a kernel is called.
 */
export interface Device {
  /** Description for reports and messages. */
  readonly info: DeviceInfo;
  /** The device that kernels are deferred for, if this one defers them: see {@linkcode DeferredKernels}. */
  readonly base?: Device;

  /** Takes memory of `byteLength` bytes (a multiple of four, perhaps zero), of undefined content. */
  allocate(byteLength: number): unknown;
  /** Gives memory back. Kernels queued before still see it. */
  release(memory: unknown, byteLength: number): void;
  /** Puts device words at the start of a buffer, after the kernels queued so far. */
  write(buffer: Buffer, words: TypedArray): void;
  /** The words of contiguous views, when all kernels queued so far are done. */
  read(views: readonly BufferView[]): Promise<TypedArray[]>;
  /** The words at once, where a device can (the CPU). */
  readSync?(view: BufferView): TypedArray;
  /**
   * Keeps the commands that are queued from here on, to be queued again: see {@linkcode DeviceCapture}.
   *
   * @internal
   */
  capture(): DeviceCapture;
  /**
   * Runs a command of the host now, and again whenever commands that are being captured are queued again.
   *
   * @internal
   */
  runOnHost(command: () => void): void;
  /** Waits until all queued kernels are done, and throws the first error among them. */
  synchronize(): Promise<void>;
  /** Frees what is cached, and ends workers. */
  destroy(): void;

  /** output[i] = fn(inputs[0][i], inputs[1][i], ...) for views of one shape; any view may be strided. */
  map(fn: ScalarFunction, inputs: readonly View[], output: BufferView): void;
  /** Combines along the axes on which `output` has length one and `input` has not; the ranks are equal. */
  reduce(reduction: Reduction, input: BufferView, output: BufferView): void;
  /** The int32 position of the first largest (smallest) element along one axis, of length one in `output`. */
  argReduce(reduction: "max" | "min", input: BufferView, axis: number, output: BufferView): void;
  /** Sums of the elements up to and with each one, along an axis. */
  cumulativeSum(input: BufferView, axis: number, output: BufferView): void;
  /**
   * output[0] = b[0], output[i] = a[i - 1] output[i - 1] + b[i] along an axis: b and output of one shape, a of that shape but for
   * the axis, which is one shorter; an axis of a of length one repeats. float32 or float64, complex where there are parts.
   */
  linearRecurrence(a: BufferView, b: BufferView, axes: RecurrenceAxes, output: BufferView): void;
  /**
   * (..., m, k) x (..., k, n) into a contiguous (..., m, n): equal batch axes, float32 or float64, any strides.
   *
   * @param prepared What {@linkcode prepare} has made of b, if it has.
   */
  matmul(a: BufferView, b: BufferView, output: BufferView, prepared?: PreparedMatrix): void;
  /** Copies a matrix (k, n) to where many products of so many rows read it more quickly, if that pays. */
  prepare?(right: BufferView, rows: number): PreparedMatrix | undefined;
  /**
   * output[o, i, :] = input[o, indices[i], :] for contiguous (outer, size, inner), (count), (outer, count, inner).
   * An index outside gives NaN, or zero for integers.
   */
  gather(input: BufferView, indices: BufferView, output: BufferView): void;
  /** output[o, indices[i], :] += updates[o, i, :], in the order of i; contiguous. An index outside adds nothing. */
  scatterAdd(updates: BufferView, indices: BufferView, output: BufferView): void;
  /**
   * Solves T x = rhs for tridiagonal T. Shapes: lower, diagonal and upper (systems or 1, n), rhs and output
   * (systems, n), all strided at will; lower[:, 0] and upper[:, n - 1] are not read. A row whose diagonal is zero is no
   * equation: its x is zero, and the rows on both sides of it are neighbours.
   */
  tridiagonal(
    lower: BufferView,
    diagonal: BufferView,
    upper: BufferView,
    rhs: BufferView,
    output: BufferView,
  ): void;
}

let buffersMade = 0;

/** Number of buffers made so far: the serial of the next one. */
export function nextSerial(): number {
  return buffersMade;
}

/**
 * A piece of a device's memory. It is freed by the scope it was made in, or when nothing refers to it any more.
 *
 * @internal
 */
export class Buffer {
  readonly device: Device;
  readonly byteLength: number;
  /** Number of buffers made before it. */
  readonly serial: number = buffersMade++;
  /** Whether the garbage collector is to free it, since no scope does. */
  isLeftToCollector = false;
  /** Undefined until the first use, if allocation is deferred. */
  #memory: unknown;
  /** The account that counts the memory. */
  #account: MemoryAccount | undefined;
  #isFreed = false;

  constructor(device: Device, byteLength: number) {
    this.device = device.base ?? device;
    this.byteLength = byteLength;
    noteBuffer(this);
    if (!isAllocationDeferred()) this.#memory = this.#allocate();
    trackBuffer(this);
  }

  /** The device's handle: an address on the CPU, a `GPUBuffer` on a GPU. */
  get memory(): unknown {
    if (this.#isFreed) {
      throw new Error(
        "this tensor was freed when the scope that made it ended (grad, valueAndGrad, jit and scope free what they do not " +
          "return): return the tensor from the function, or wrap it in keep(...)",
      );
    }
    noteUse(this);
    return this.#memory ??= this.#allocate();
  }

  #allocate(): unknown {
    this.#account = chargeMemory(this.byteLength);
    return this.device.allocate(this.byteLength);
  }

  /** Whether the memory has been given back. */
  get freed(): boolean {
    return this.#isFreed;
  }

  /** Gives the memory back, as soon as no deferred kernel needs it; a second call does nothing. */
  free(): void {
    if (this.#isFreed) return;
    this.#isFreed = true;
    if (this.isLeftToCollector) forgetBuffer(this);
    if (!deferRelease(this)) this.release();
  }

  /** Makes the memory of a freed buffer accessible to the deferred kernels that still use it. */
  reopen(): void {
    this.#isFreed = false;
  }

  /** Gives the memory back at once. */
  release(): void {
    this.#isFreed = true;
    if (this.#memory !== undefined) this.device.release(this.#memory, this.byteLength);
    this.#memory = undefined;
    if (this.#account) creditMemory(this.#account, this.byteLength, isCapturing());
    this.#account = undefined;
  }
}
