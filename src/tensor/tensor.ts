import { currentDevice } from "../device/current.ts";
import type { Device, KernelDevice, View } from "../device/device.ts";
import type { DType, TypedArray } from "../device/dtype.ts";
import { type Shape, sizeOf } from "../device/shape.ts";
import { numberView } from "../device/view.ts";
import { Symbolic } from "./symbolic.ts";

/** A number, or a tensor that broadcasts. A number takes the type of the tensor that it meets. */
export type TensorLike = Tensor | number;

/** Options of reductions. */
export interface ReduceOptions {
  /**
   * Whether the reduced axes stay, with length one.
   *
   * @default {false}
   */
  keepDims?: boolean;
}

/** Options of norms. */
export interface NormOptions extends ReduceOptions {
  /**
   * p of (sum |x|^p)^(1/p), above 0; `Infinity` is the largest absolute value.
   *
   * @default {2}
   */
  order?: number;
}

/** Options of sorting. */
export interface SortOptions {
  /**
   * Whether the largest element comes first.
   *
   * @default {false}
   */
  descending?: boolean;
}

/** Observes which tensors are made and read, and which memory is assigned. */
interface TensorWatcher {
  created(x: Tensor): void;
  used(x: Tensor, storage: View | Symbolic): void;
  assigned(memory: View["source"]): void;
}

/** The watcher of the innermost running {@linkcode watchTensors}; `undefined` outside. */
export let watcher: TensorWatcher | undefined;

/** Runs `body` with a watcher. */
export function watchTensors<T>(own: TensorWatcher, body: () => T): T {
  const before = watcher;
  watcher = own;
  try {
    return body();
  } finally {
    watcher = before;
  }
}

/**
 * An array of numbers on a device, with a shape and a type. Operations run at once, return new tensors and record their
 * gradients when a function of {@linkcode grad} is running. Reading values is the only step that waits: `await x.data()`.
 *
 * Operands broadcast as in NumPy and must have the same type; plain numbers fit any type. A negative axis or position counts from
 * the end. Operands that do not fit throw a `TypeError` or {@linkcode ShapeError} with the operation, types and shapes.
 *
 * @example
 * ```ts
 * import { tensor } from "@weft/weft";
 *
 * const x = tensor([[1, 2], [3, 4]]);
 * const y = x.matmul(x).add(1).tanh().sum(0);
 * console.log(y.shape, await y.data());
 * ```
 */
export interface Tensor {
  /** Addition, with NumPy's broadcasting, as in all operations on two tensors. */
  add(other: TensorLike): Tensor;
  /** Subtraction. */
  sub(other: TensorLike): Tensor;
  /** Multiplication, element by element. */
  mul(other: TensorLike): Tensor;
  /** Division, element by element. */
  div(other: TensorLike): Tensor;
  /** The larger of two elements; NaN propagates. The gradient flows to the larger operand, half to each of equal operands. */
  maximum(other: TensorLike): Tensor;
  /** The smaller of two elements, with the rules of {@linkcode maximum}. */
  minimum(other: TensorLike): Tensor;
  /**
   * The angle of the points (x, y) in radians, from -pi to pi, where this tensor is y, as C's `atan2`. A zero has a sign. Its
   * gradient at (0, 0) is NaN.
   */
  atan2(x: TensorLike): Tensor;
  /** Power. Exact for whole exponents if the type can represent the result; NaN for other exponents of negative numbers. */
  pow(exponent: TensorLike): Tensor;
  /** Limits elements to a range: `x.maximum(low).minimum(high)`. */
  clip(low: TensorLike, high: TensorLike): Tensor;

  /** The negative. */
  neg(): Tensor;
  /** The absolute value, with a gradient of 0 at 0. */
  abs(): Tensor;
  /** -1, 0 or 1; NaN propagates. */
  sign(): Tensor;
  /** Rounds down to a whole number. */
  floor(): Tensor;
  /** Rounds up to a whole number. */
  ceil(): Tensor;
  /** Rounds to the nearest whole number, ties to even. */
  round(): Tensor;
  /** x². */
  square(): Tensor;
  /** The square root; NaN below zero. */
  sqrt(): Tensor;
  /** e to the power of each element. GPUs may give 0 for float32 results below 2^-126. */
  exp(): Tensor;
  /** The natural logarithm. */
  log(): Tensor;
  /** log(1 + x), exact near zero. */
  log1p(): Tensor;
  /** The sine of an angle in radians. In float32, angles above 2e7 give any number from -1 to 1. */
  sin(): Tensor;
  /** The cosine of an angle in radians. In float32, angles above 2e7 give any number from -1 to 1. */
  cos(): Tensor;
  /** The hyperbolic tangent. */
  tanh(): Tensor;
  /** The error function. */
  erf(): Tensor;
  /** 1 / (1 + exp(-x)). */
  sigmoid(): Tensor;
  /** max(x, 0), with a gradient of 0 at 0. */
  relu(): Tensor;
  /** log(1 + exp(x)). */
  softplus(): Tensor;
  /** x sigmoid(x), also known as swish. */
  silu(): Tensor;
  /** x Phi(x) with the exact normal distribution function Phi; 0 at minus infinity. */
  gelu(): Tensor;

  /** Whether a < b, element by element, as bool; false where either is NaN. */
  less(other: TensorLike): Tensor;
  /** Whether a <= b, as {@linkcode less}. */
  lessEqual(other: TensorLike): Tensor;
  /** Whether a > b, as {@linkcode less}. */
  greater(other: TensorLike): Tensor;
  /** Whether a >= b, as {@linkcode less}. */
  greaterEqual(other: TensorLike): Tensor;
  /** Whether a = b, as {@linkcode less}. */
  equal(other: TensorLike): Tensor;
  /** Whether a and b differ, as bool; true where either is NaN. */
  notEqual(other: TensorLike): Tensor;
  /** Whether an element is NaN: a missing observation. */
  isNaN(): Tensor;
  /** Whether an element is neither infinite nor NaN; true for integers. */
  isFinite(): Tensor;
  /** Logical on bool, bitwise on integers. */
  and(other: TensorLike): Tensor;
  /** Logical on bool, bitwise on integers. */
  or(other: TensorLike): Tensor;
  /** Logical on bool, bitwise on integers. */
  xor(other: TensorLike): Tensor;
  /** Logical on bool, bitwise on integers. */
  not(): Tensor;

  /**
   * The elements of `a` where this bool tensor is true, elsewhere those of `b`. The operand that is not selected has a gradient
   * of zero. If the operand was computed with an infinite slope, as that of `sqrt` at zero, the gradient there is 0 * Infinity =
   * NaN.
   */
  where(a: TensorLike, b: TensorLike): Tensor;
  /**
   * Converts to another type. Floats round towards zero to integers. NaN, infinities and numbers out of range give an arbitrary
   * integer, which differs between devices. All values except zero are true, NaN too.
   */
  cast(dtype: DType): Tensor;
  /** Zeros of the same shape and type; they take no memory. */
  zerosLike(): Tensor;

  /** The sum along axes, all of them by default. */
  sum(axes?: number | readonly number[], options?: ReduceOptions): Tensor;
  /** The largest element along axes; NaN propagates. Equal largest elements share the gradient. */
  max(axes?: number | readonly number[], options?: ReduceOptions): Tensor;
  /** The smallest element along axes, with the rules of {@linkcode max}. */
  min(axes?: number | readonly number[], options?: ReduceOptions): Tensor;
  /** The mean along axes, all of them by default. */
  mean(axes?: number | readonly number[], options?: ReduceOptions): Tensor;
  /** The mean squared distance from the mean along axes. */
  variance(axes?: number | readonly number[], options?: ReduceOptions): Tensor;
  /** The standard deviation along axes: the root of {@linkcode variance}. Its gradient at 0 is not finite. */
  std(axes?: number | readonly number[], options?: ReduceOptions): Tensor;
  /** The product along axes, all of them by default; 1 if there are no elements. Its gradient is exact at zeros. */
  prod(axes?: number | readonly number[], options?: ReduceOptions): Tensor;
  /** Whether an element along axes is not zero, as bool; NaN is not zero. False if there are no elements. */
  any(axes?: number | readonly number[], options?: ReduceOptions): Tensor;
  /** Whether no element along axes is zero, as bool. True if there are no elements. */
  all(axes?: number | readonly number[], options?: ReduceOptions): Tensor;
  /** The vector norm along axes, all of them by default: (sum |x|^p)^(1/p). Its gradient at 0 is 0 for p >= 1. */
  norm(axes?: number | readonly number[], options?: NormOptions): Tensor;
  /** The position of the first largest element along an axis, the last by default; int32. */
  argmax(axis?: number): Tensor;
  /** The position of the first smallest element along an axis, the last by default; int32. */
  argmin(axis?: number): Tensor;
  /** Sorts the elements along an axis, the last by default. Stable; NaN counts as the largest element. */
  sort(axis?: number, options?: SortOptions): Tensor;
  /** The positions of the elements of {@linkcode sort}; int32. */
  argsort(axis?: number, options?: SortOptions): Tensor;
  /** Cumulative sums along an axis, the last by default. */
  cumsum(axis?: number): Tensor;
  /** log(sum(exp(x))) along axes, without overflow. */
  logsumexp(axes?: number | readonly number[], options?: ReduceOptions): Tensor;
  /** exp(x) / sum(exp(x)) along an axis, the last by default. */
  softmax(axis?: number): Tensor;
  /** x - logsumexp(x) along an axis, the last by default. */
  logSoftmax(axis?: number): Tensor;

  /** The same elements in another shape; one length may be -1 and is computed. */
  reshape(shape: Shape): Tensor;
  /** Joins axes `first` to `last` into one axis; all axes by default. */
  flatten(first?: number, last?: number): Tensor;
  /** Reorders axes. */
  permute(axes: readonly number[]): Tensor;
  /** Exchanges two axes, the last two by default. */
  transpose(a?: number, b?: number): Tensor;
  /** Inserts axes of length one at positions of the result. */
  expandDims(axes: number | readonly number[]): Tensor;
  /** Removes axes of length one, all of them by default. */
  squeeze(axes?: number | readonly number[]): Tensor;
  /** Repeats elements along axes of length one and along new leading axes, up to a shape. */
  broadcastTo(shape: Shape): Tensor;
  /**
   * Elements `start` to `end` (excluded) along an axis, in steps of `step`; all by default. With a negative step, `start` is the
   * last element by default.
   */
  slice(axis: number, start?: number, end?: number, step?: number): Tensor;
  /** The elements at one position of an axis, without the axis, as PyTorch's `select`: `x.select(1, 0)` is NumPy's `x[:, 0]`. */
  select(axis: number, position: number): Tensor;
  /** Copies beside each other, as NumPy's `tile`: a number of copies for each axis, the last axes first if there are fewer. */
  tile(repeats: number | readonly number[]): Tensor;
  /** Reverses the order of elements along an axis. */
  flip(axis: number): Tensor;
  /** Adds a border of one value, 0 by default. Each axis has a number of elements before and after. */
  pad(widths: readonly (readonly [before: number, after: number])[], value?: number): Tensor;

  /**
   * Elements at `indices` (int32, any shape) along an axis, the first by default, as NumPy's `take`: the shape of the
   * indices replaces the axis. An index out of range gives NaN. For integers and bool it throws; in compiled loops, and for
   * indices computed on a GPU, it gives zero.
   *
   * @throws {RangeError} If an index into integers or bool is outside the axis.
   */
  take(indices: Tensor, axis?: number): Tensor;
  /**
   * This tensor with `updates` added at `indices` (int32, one axis) along an axis, the first by default; updates at the same
   * index add up. An index out of range throws. In compiled loops, and for indices computed on a GPU, it makes all elements NaN;
   * for integers the update is ignored.
   *
   * @throws {RangeError} If an index is outside the axis.
   */
  scatterAdd(indices: Tensor, updates: Tensor, axis?: number): Tensor;
  /**
   * The matrix product, as NumPy's `matmul`: (..., m, k) x (..., k, n) with leading axes that broadcast; a tensor of one
   * axis is a row on the left and a column on the right.
   */
  matmul(other: Tensor): Tensor;

  /**
   * The values in row-major order. Waits for all earlier operations.
   *
   * @returns A typed array of {@linkcode size} elements; a `Uint8Array` of zeros and ones for bool.
   * @throws {Error} On a GPU also the errors of checks that earlier operations started: times that do not increase, a state that
   * diverged.
   */
  data(): Promise<TypedArray>;
  /** The values as nested arrays; a number for a scalar. */
  toArray(): Promise<NestedNumbers>;
  /**
   * The only value of a tensor of one element.
   *
   * @throws {ShapeError} If the tensor does not have exactly one element.
   */
  item(): Promise<number>;
  /** A copy on another device; the tensor itself if it is on the device. */
  to(device: Device): Promise<Tensor>;
  /**
   * Overwrites the values in place, as optimizers do with parameters. Views share memory: the tensor that this tensor was made
   * from by `select`, `slice`, `flip`, `permute`, `transpose`, `squeeze` or `expandDims` changes too, and also by `reshape` or
   * `flatten` if these did not reorder elements.
   *
   * @param values Same shape, type and device.
   * @throws {ShapeError | Error} If shape or type differ, a broadcast view's elements share memory, or this is a view of `zeros`,
   * `ones` or `full`, which have no memory; in the body of a compiled loop, or if a gradient being recorded reads the values.
   */
  assign(values: Tensor): void;
  /** Shape, type and, if the host can read them without waiting, values. */
  toString(): string;
  /** As {@linkcode toString} in a template string. @throws {TypeError} For operators, as in `x + 1` and `x > 0`. */
  [Symbol.toPrimitive](hint: string): string;
}

/** Shape, type and memory of a tensor. The methods are defined in `methods/`. */
export class Tensor {
  #storage: View | Symbolic;

  /**
   * Use {@linkcode tensor}, {@linkcode zeros} and the other constructors.
   *
   * @internal
   */
  constructor(storage: View | Symbolic) {
    this.#storage = storage;
    watcher?.created(this);
  }

  /**
   * Where the values are: a view of the memory of a device, or a symbol of a trace.
   *
   * @internal
   */
  get storage(): View | Symbolic {
    watcher?.used(this, this.#storage);
    return this.#storage;
  }

  /** Replaces the memory. Assigning to a tensor without memory allocates memory. @internal */
  set storage(view: View) {
    this.#storage = view;
  }

  /**
   * The view of a device's memory.
   *
   * @throws {NoValuesError} For symbols without values, such as tensors in the body of a compiled loop.
   * @internal
   */
  get view(): View {
    if (this.#storage instanceof Symbolic) return this.#storage.view;
    watcher?.used(this, this.#storage);
    return this.#storage;
  }

  get #spec(): Pick<View, "shape" | "dtype"> {
    return this.#storage instanceof Symbolic ? this.#storage.spec : this.#storage;
  }

  /** Lengths of the axes, outermost first. */
  get shape(): Shape {
    return this.#spec.shape;
  }

  /** The type of the elements. */
  get dtype(): DType {
    return this.#spec.dtype;
  }

  /** The number of axes. */
  get rank(): number {
    return this.shape.length;
  }

  /** The number of elements. */
  get size(): number {
    return sizeOf(this.shape);
  }

  /** The device that holds the values. */
  get device(): Device {
    return this.memoryDevice;
  }

  /** {@linkcode device} with access to its memory and kernels. @internal */
  get memoryDevice(): KernelDevice {
    const { source } = this.view;
    return typeof source === "number" ? currentDevice() : source.device;
  }

  /** The last two axes exchanged, as NumPy's `mT`. */
  get mT(): Tensor {
    return this.transpose();
  }

  /** Text that `console.log` shows. */
  [Symbol.for("Deno.customInspect")](): string {
    return this.toString();
  }
}

/** Numbers nested to a tensor's shape. */
export type NestedNumbers = number | NestedNumbers[];

/** A number as a tensor of no axes. It takes no memory. The type must be able to represent the number. */
export function numberTensor(value: number, dtype: DType): Tensor {
  // As in a cast, all values except zero are true, NaN too.
  return new Tensor(numberView(dtype === "bool" ? Number(value !== 0) : value, [], dtype));
}
