import type { Reserve } from "./memory/reserve.ts";
import type { DType, TypedArray } from "./dtype.ts";
import type { RecurrenceAxes } from "./recurrence.ts";
import { identity, type ScalarFunction } from "./scalar/scalar.ts";
import { formatShape } from "./shape.ts";

/**
 * A part of a device's memory. A scope frees its buffers at its end; the garbage collector frees buffers
 * outside any scope.
 *
 * @internal
 */
export interface Buffer {
  readonly device: KernelDevice;
  readonly byteLength: number;
  /** Number of buffers created before. */
  readonly serial: number;
  /** Whether the garbage collector frees the buffer. */
  isLeftToCollector: boolean;
  /** Whether a call of a model made the buffer and did not return it. The end of the next call frees it unless it is used before. */
  isUnreturned: boolean;
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
 * A strided view of a device's memory, or a number that all elements have. A number is stored in `source` and
 * needs no memory. `strides` and `offset` count elements; a stride of zero repeats elements, a negative
 * stride reverses them.
 *
 * @internal
 */
export interface View {
  readonly source: Buffer | number;
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  readonly offset: number;
  /**
   * Whether the view was derived from another view of a number. Both have no memory, so neither sees writes
   * to the other.
   */
  readonly isDerivedNumber?: boolean;
}

/**
 * A view of a buffer.
 *
 * @internal
 */
export interface BufferView extends View {
  readonly source: Buffer;
}

/**
 * Operation of {@linkcode DeviceKernels.reduce}.
 *
 * @internal
 */
export type Reduction = "sum" | "max" | "min";

/** Description of a device, for reports and messages. */
export interface DeviceInfo {
  /** `"cpu"` or `"webgpu"`. */
  readonly kind: "cpu" | "webgpu";
  /** Name of the GPU adapter, or properties of the CPU. */
  readonly description: string;
  /** Whether the CPU emulates the GPU (llvmpipe, SwiftShader). */
  readonly software: boolean;
  /** Further properties for a person, and what the device does without, with the reason: for example one thread in a page. */
  readonly notes?: readonly string[];
  /**
   * Properties that determine the rounding of results. Devices with equal properties compute the same bits.
   */
  readonly arithmetic: Readonly<Record<string, string>>;
}

/**
 * Captured commands of a device. They use the same memory in each replay.
 *
 * @internal
 */
export interface CapturedCommands {
  /** Queues all commands in order. */
  play(): void;
  /** Releases the memory of the commands. They must not be queued afterwards. */
  free(): void;
}

/**
 * A capture on one device.
 *
 * @internal
 */
export interface DeviceCapture {
  /** Makes the device send commands and memory to the capture, or stops this. */
  setActive(isActive: boolean): void;
  readonly reserve: Reserve<unknown>;
  /** Captured commands. */
  list(): readonly (() => void)[];
  /** Returns memory of the reserve to the device. */
  release(memory: unknown): void;
}

/**
 * A right matrix (k, n) in the memory layout of the product kernels.
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
  /** output[i] = fn(inputs[0][i], inputs[1][i], ...). All views have one shape and arbitrary strides. */
  map(fn: ScalarFunction, inputs: readonly View[], output: BufferView): void;
  /** Reduces the axes that have length one in `output`. Input and output have the same rank. */
  reduce(reduction: Reduction, input: BufferView, output: BufferView): void;
  /**
   * The int32 position of the first largest (smallest) element along an axis. The axis has length one in
   * `output`.
   */
  argReduce(reduction: "max" | "min", input: BufferView, axis: number, output: BufferView): void;
  /**
   * The int32 positions that sort the rows of a contiguous (rows, length). The sort is stable in both directions,
   * and NaN counts as the largest.
   */
  argSort(input: BufferView, descending: boolean, output: BufferView): void;
  /** Cumulative sums along an axis. */
  cumulativeSum(input: BufferView, axis: number, output: BufferView): void;
  /**
   * output[0] = b[0], output[i] = a[i - 1] output[i - 1] + b[i] along an axis. The shape of b is that of the
   * output; a is one shorter along the axis, and its axes of length one are broadcast. Types: float32 or
   * float64; complex if `axes.parts` is set.
   */
  linearRecurrence(a: BufferView, b: BufferView, axes: RecurrenceAxes, output: BufferView): void;
  /**
   * (..., m, k) x (..., k, n) into a contiguous (..., m, n). Batch axes are equal, strides arbitrary, types
   * float32 or float64.
   *
   * @param prepared The matrix b, prepared by {@linkcode prepare}.
   */
  matmul(a: BufferView, b: BufferView, output: BufferView, prepared?: PreparedMatrix): void;
  /**
   * Adds the product of (m, k) and (k, n), with arbitrary strides, to a contiguous (m, n), which shares no memory with them. Only
   * a GPU has this method, because it sums the parts of long products anyway.
   */
  addMatmul?(a: BufferView, b: BufferView, output: BufferView): void;
  /**
   * Copies a matrix (k, n) to a layout that makes products with `rows` rows faster. Returns undefined if
   * products would not be faster.
   */
  prepare?(right: BufferView, rows: number): PreparedMatrix | undefined;
  /**
   * output[o, i, :] = input[o, indices[i], :]. Contiguous shapes (outer, size, inner), (count), (outer,
   * count, inner). Indices out of range give NaN, or zero for integers.
   */
  gather(input: BufferView, indices: BufferView, output: BufferView): void;
  /**
   * output[o, indices[i], :] += updates[o, i, :], in the order of i. All views are contiguous. Indices out of
   * range are ignored.
   */
  scatterAdd(updates: BufferView, indices: BufferView, output: BufferView): void;
  /**
   * Solves T x = rhs for tridiagonal T. Shapes: lower, diagonal and upper (systems or 1, n), rhs and output
   * (systems, n), all with arbitrary strides. lower[:, 0] and upper[:, n - 1] are not read. A row with a zero
   * diagonal is skipped: its x is zero, and the rows before and after it become neighbours.
   */
  tridiagonal(
    lower: BufferView,
    diagonal: BufferView,
    upper: BufferView,
    rhs: BufferView,
    output: BufferView,
  ): void;
}

/** A method of {@linkcode DeviceKernels} that queues a kernel. */
export type KernelName = Exclude<keyof DeviceKernels, "prepare" | "addMatmul">;

/** The operands of a kernel, which kernels that run later keep, and its name in profiles. */
interface KernelCall<A extends unknown[]> {
  /** The views that the kernel reads, and its output. */
  readonly operands: (...args: A) => readonly [reads: readonly View[], output: BufferView];
  readonly span: (...args: A) => { readonly kind: "kernel" | "product" | "copy"; readonly name: string };
}

function spanOf(name: string) {
  return (input: View) => ({ kind: "kernel", name: `${name} of ${formatShape(input.shape)}` }) as const;
}

/** Operands and names of all kernels. */
export const kernelCalls: { readonly [K in KernelName]: KernelCall<Parameters<DeviceKernels[K]>> } = {
  map: {
    operands: (_fn, inputs, output) => [inputs, output],
    span: (fn, _inputs, { shape }) =>
      fn === identity
        ? { kind: "copy", name: formatShape(shape) }
        : { kind: "kernel", name: `${fn.name} ${formatShape(shape)}` },
  },
  reduce: {
    operands: (_reduction, input, output) => [[input], output],
    span: (reduction, input, output) => ({
      kind: "kernel",
      name: `${reduction} of ${formatShape(input.shape)} to ${formatShape(output.shape)}`,
    }),
  },
  argReduce: {
    operands: (_reduction, input, _axis, output) => [[input], output],
    span: (reduction, input) => spanOf(`position of the ${reduction}`)(input),
  },
  argSort: { operands: (input, _descending, output) => [[input], output], span: spanOf("sort") },
  cumulativeSum: { operands: (input, _axis, output) => [[input], output], span: spanOf("cumulative sum") },
  linearRecurrence: {
    operands: (a, b, _axes, output) => [[a, b], output],
    span: (_a, b) => spanOf("linear recurrence")(b),
  },
  matmul: {
    operands: (a, b, output) => [[a, b], output],
    span: (a, b) => ({ kind: "product", name: `${matrixText(a)} x ${matrixText(b)}` }),
  },
  gather: { operands: (input, indices, output) => [[input, indices], output], span: spanOf("gather") },
  scatterAdd: {
    operands: (updates, indices, output) => [[updates, indices, output], output],
    span: spanOf("scatter-add"),
  },
  tridiagonal: {
    operands: (lower, diagonal, upper, rhs, output) => [[lower, diagonal, upper, rhs], output],
    span: (_lower, diagonal) => spanOf("tridiagonal solve")(diagonal),
  },
};

function matrixText({ shape, strides }: View): string {
  const [rows, columns] = strides.slice(-2);
  const isTransposed = shape.length > 1 && rows === 1 && columns !== 1;
  return `${formatShape(shape)}${isTransposed ? " transposed" : ""}`;
}

/** A CPU or a GPU that holds tensors: the result of `init`. */
export interface Device {
  /** Kind of device, the same as `info.kind`. */
  readonly kind: DeviceInfo["kind"];
  /** Description for reports and messages. */
  readonly info: DeviceInfo;
  /** Bytes of memory in use by tensors. */
  readonly usedBytes: number;
  /**
   * Waits for all queued operations.
   *
   * @throws {Error} The first error of an operation.
   */
  synchronize(): Promise<void>;
  /** Releases caches and stops worker threads. */
  destroy(): void;
}

/**
 * Memory, and kernels on views of memory: the common interface of both devices. A device knows nothing of
 * gradients. Only {@linkcode read} and {@linkcode synchronize} wait for queued kernels.
 *
 * @internal
 */
export interface KernelDevice extends Device, DeviceKernels {
  /** The underlying device, if this device defers kernels: see {@linkcode DeferredKernels}. */
  readonly base?: KernelDevice;

  /** Allocates `byteLength` bytes of undefined content, a multiple of four or zero. */
  allocate(byteLength: number): unknown;
  /** Releases memory. Kernels that were queued before may still use it. */
  release(memory: unknown, byteLength: number): void;
  /** Writes words to the start of a buffer, after the kernels queued so far. */
  write(buffer: Buffer, words: TypedArray): void;
  /** Reads contiguous views after all kernels queued so far. */
  read(views: readonly BufferView[]): Promise<TypedArray[]>;
  /** Reads a contiguous view immediately. Only the CPU device can. */
  readSync?(view: BufferView): TypedArray;
  /**
   * A capture of commands, not active yet.
   *
   * @internal
   */
  capture(): DeviceCapture;
  /**
   * Calls a function of the host now, and in each replay of the commands that are being captured.
   *
   * @internal
   */
  runOnHost(command: () => void): void;
  /**
   * Runs the iterations 0 to `count - 1` of a loop. They must queue the same kernels, with parameters that change by a constant
   * from iteration to iteration. A GPU calls `iteration` for the first two and repeats their commands.
   *
   * @internal
   */
  repeat(count: number, iteration: (index: number) => void): void;
}
