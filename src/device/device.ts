import type { DType, TypedArray } from "./dtype.ts";
import type { RecurrenceAxes } from "./recurrence.ts";
import type { ScalarFunction } from "./scalar.ts";

/**
 * A part of a device's memory. A scope frees its buffers at its end; the garbage collector frees buffers outside any scope.
 *
 * @internal
 */
export interface Buffer {
  readonly device: Device;
  readonly byteLength: number;
  /** Number of buffers created before. */
  readonly serial: number;
  /** Whether the garbage collector frees the buffer. */
  isLeftToCollector: boolean;
  /**
   * The device's handle: a block on the CPU, a buffer of the pool on a GPU.
   *
   * @throws {Error} If the buffer was freed.
   */
  readonly memory: unknown;
  /** Whether the buffer was freed. */
  readonly freed: boolean;
  /** Releases the memory after the last deferred kernel that uses the buffer. Repeated calls do nothing. */
  free(): void;
  /** Makes the memory of a freed buffer accessible to the deferred kernels that still use it. */
  reopen(): void;
  /** Releases the memory at once. */
  release(): void;
}

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
 * Commands of a device to be queued again with the memory of the first time.
 *
 * @internal
 */
export interface CapturedCommands {
  /** Queues all commands in order. */
  play(): void;
  /** Releases the memory of the commands. They must not be played afterwards. */
  free(): void;
}

/**
 * The part of a capture that a device does.
 *
 * @internal
 */
export interface DeviceCapture {
  /** Stops capturing. Commands and allocations until {@linkcode resume} do not belong to the capture. */
  pause(): void;
  resume(): void;
  /** @param results Memory of buffers that outlive the capture: the commands do not release it. */
  end(results: readonly unknown[]): CapturedCommands;
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
 * Kernels of a device. They are queued in order. Callers have checked the shapes.
 *
 * @internal
 */
export interface DeviceKernels {
  /** output[i] = fn(inputs[0][i], inputs[1][i], ...) for views of one shape; any view may be strided. */
  map(fn: ScalarFunction, inputs: readonly View[], output: BufferView): void;
  /** Combines along the axes on which `output` has length one and `input` has not; the ranks are equal. */
  reduce(reduction: Reduction, input: BufferView, output: BufferView): void;
  /** The int32 position of the first largest (smallest) element along one axis, of length one in `output`. */
  argReduce(reduction: "max" | "min", input: BufferView, axis: number, output: BufferView): void;
  /**
   * The int32 positions that sort the rows of contiguous (rows, length). Equal elements stay in order, also if descending, and
   * NaN counts as the largest.
   */
  argSort(input: BufferView, descending: boolean, output: BufferView): void;
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

/**
 * Memory, and kernels that run on views of it: the interface of both devices. A device knows nothing of gradients. Only
 * {@linkcode read} and {@linkcode synchronize} wait for queued kernels.
 */
export interface Device extends DeviceKernels {
  /** Kind of device, the same as `info.kind`. It selects the executor of compiled loops. */
  readonly kind: DeviceInfo["kind"];
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
  /**
   * Runs the iterations 0 to `count - 1` of a loop. They must queue the same kernels, with parameters that change by a constant
   * from iteration to iteration. A GPU calls `iteration` for the first two and repeats their commands.
   *
   * @param operations Scalar operations of an iteration: a GPU submits long loops in parts.
   * @internal
   */
  repeat(count: number, iteration: (index: number) => void, operations: number): void;
  /** Bytes of memory in use by buffers. */
  readonly usedBytes: number;
  /** Waits until all queued kernels are done, and throws the first error among them. */
  synchronize(): Promise<void>;
  /** Frees what is cached, and ends workers. */
  destroy(): void;
}
