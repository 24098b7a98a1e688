import { currentDevice } from "../device/current.ts";
import type { Device, View } from "../device/device.ts";
import type { DType, TypedArray } from "../device/dtype.ts";
import { type Shape, sizeOf } from "../device/shape.ts";
import { numberView } from "../device/view.ts";
import { Symbolic } from "./symbolic.ts";

/** A number, or a tensor that broadcasts. A number takes the type of the tensor that it meets. */
export type TensorLike = Tensor | number;

/** Options of reductions. */
export interface ReduceOptions {
  /** Whether the reduced axes stay, with length one. `false` by default. */
  keepDims?: boolean;
}

/** Options of norms. */
export interface NormOptions extends ReduceOptions {
  /** p of (sum |x|^p)^(1/p), above 0; `Infinity` is the largest absolute value. 2 by default. */
  order?: number;
}

/** Options of sorting. */
export interface SortOptions {
  /** Whether the largest element comes first. `false` by default. */
  descending?: boolean;
}

/** An observer of tensors that are made or read, and of memory that is assigned to. */
interface TensorWatcher {
  made(x: Tensor): void;
  used(x: Tensor, storage: View | Symbolic): void;
  assigned(memory: View["source"]): void;
}

/** The present watcher. */
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
 * Operands broadcast as in NumPy and must have one type; plain numbers fit any. A negative axis or position counts from the end.
 * Operands that do not fit are refused with a `TypeError` or {@linkcode ShapeError} that names the operation, types and shapes.
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
  /** The larger of two, NaN if either is. The gradient flows to the result's operand, half to each of equal ones. */
  maximum(other: TensorLike): Tensor;
  /** The smaller of two, with the rules of {@linkcode maximum}. */
  minimum(other: TensorLike): Tensor;
  /**
   * The angle of the points (x, y) in radians, from -pi to pi, where this tensor is y, as C's `atan2`. A zero has a sign. Its
   * gradient at (0, 0) is NaN.
   */
  atan2(x: TensorLike): Tensor;
  /** To a power, exactly for whole exponents where the type holds the result; NaN for other exponents of negative numbers. */
  pow(exponent: TensorLike): Tensor;
  /** Between two bounds: `x.maximum(low).minimum(high)`. */
  clip(low: TensorLike, high: TensorLike): Tensor;

  /** The negative. */
  neg(): Tensor;
  /** The absolute value, with a gradient of 0 at 0. */
  abs(): Tensor;
  /** -1, 0 or 1; NaN of NaN. */
  sign(): Tensor;
  /** Down to a whole number. */
  floor(): Tensor;
  /** Up to a whole number. */
  ceil(): Tensor;
  /** To the nearest whole number, ties to the even one. */
  round(): Tensor;
  /** x x. */
  square(): Tensor;
  /** The square root; NaN below zero. */
  sqrt(): Tensor;
  /** e to the power of each element. GPUs may give 0 for float32 results below 2^-126. */
  exp(): Tensor;
  /** The natural logarithm. */
  log(): Tensor;
  /** log(1 + x), exact near zero. */
  log1p(): Tensor;
  /** The sine of an angle in radians, in float32 of angles up to 2e7: beyond, any number from -1 to 1. */
  sin(): Tensor;
  /** The cosine of an angle in radians, with the range of {@linkcode sin}. */
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
  /** x Phi(x) with the exact normal distribution function Phi. */
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
   * The elements of `a` where this bool tensor is true, elsewhere those of `b`. The other side gets a gradient of zero, which
   * stays zero where its slope is finite; an infinite slope, as that of `sqrt` at zero, makes it NaN.
   */
  where(a: TensorLike, b: TensorLike): Tensor;
  /**
   * The same values in another type. Floats go towards zero to integers; what an integer type does not hold (NaN, infinities,
   * numbers out of its range) gives any integer, not the same on each device. Everything but zero is true, NaN too.
   */
  cast(dtype: DType): Tensor;
  /** Zeros of this tensor's shape and type; they take no memory. */
  zerosLike(): Tensor;

  /** The sum along axes, all of them by default. */
  sum(axes?: number | readonly number[], options?: ReduceOptions): Tensor;
  /** The largest element along axes, NaN if there is one; the gradient is shared among equal ones. */
  max(axes?: number | readonly number[], options?: ReduceOptions): Tensor;
  /** The smallest element along axes, with the rules of {@linkcode max}. */
  min(axes?: number | readonly number[], options?: ReduceOptions): Tensor;
  /** The mean along axes, all of them by default. */
  mean(axes?: number | readonly number[], options?: ReduceOptions): Tensor;
  /** The mean squared distance from the mean along axes. */
  variance(axes?: number | readonly number[], options?: ReduceOptions): Tensor;
  /** The standard deviation along axes: the root of {@linkcode variance}. Its gradient at 0 is not finite. */
  std(axes?: number | readonly number[], options?: ReduceOptions): Tensor;
  /** The product along axes, all of them by default; of no elements 1. Its gradient is exact at zeros. */
  prod(axes?: number | readonly number[], options?: ReduceOptions): Tensor;
  /** Whether an element along axes is not zero, as bool; NaN is not zero. False of no elements. */
  any(axes?: number | readonly number[], options?: ReduceOptions): Tensor;
  /** Whether no element along axes is zero, as bool. True of no elements. */
  all(axes?: number | readonly number[], options?: ReduceOptions): Tensor;
  /** The vector norm along axes, all of them by default: (sum |x|^p)^(1/p). Its gradient at 0 is 0 for p >= 1. */
  norm(axes?: number | readonly number[], options?: NormOptions): Tensor;
  /** The position of the first largest element along an axis, the last by default; int32. */
  argmax(axis?: number): Tensor;
  /** The position of the first smallest element along an axis, the last by default; int32. */
  argmin(axis?: number): Tensor;
  /** The elements in order along an axis, the last by default; equal ones stay in order, and NaN counts as the largest. */
  sort(axis?: number, options?: SortOptions): Tensor;
  /** The positions of the elements of {@linkcode sort}; int32. */
  argsort(axis?: number, options?: SortOptions): Tensor;
  /** Sums of the elements up to and with each one, along an axis, the last by default. */
  cumsum(axis?: number): Tensor;
  /** log(sum(exp(x))) along axes, without overflow. */
  logsumexp(axes?: number | readonly number[], options?: ReduceOptions): Tensor;
  /** exp(x) / sum(exp(x)) along an axis, the last by default. */
  softmax(axis?: number): Tensor;
  /** x - logsumexp(x) along an axis, the last by default. */
  logSoftmax(axis?: number): Tensor;

  /** The same elements in another shape; one length may be -1. */
  reshape(shape: Shape): Tensor;
  /** Axes `first` to `last` joined into one, all of them by default. */
  flatten(first?: number, last?: number): Tensor;
  /** Axes in another order. */
  permute(axes: readonly number[]): Tensor;
  /** Two axes exchanged, the last two by default. */
  transpose(a?: number, b?: number): Tensor;
  /** New axes of length one; positions are those in the result. */
  expandDims(axes: number | readonly number[]): Tensor;
  /** Axes of length one removed, all of them by default. */
  squeeze(axes?: number | readonly number[]): Tensor;
  /** Repeated along axes of length one, and along new ones in front, up to a shape. */
  broadcastTo(shape: Shape): Tensor;
  /**
   * Elements `start` to `end` (without it) along an axis, every `step`th, all by default. A negative
   * step goes down from `start`, by default the last.
   */
  slice(axis: number, start?: number, end?: number, step?: number): Tensor;
  /** One position of an axis, which disappears, as PyTorch's `select`; `x.select(1, 0)` is NumPy's `x[:, 0]`. */
  select(axis: number, position: number): Tensor;
  /** Copies beside each other, as NumPy's `tile`: a number of copies for each axis, the last axes first if there are fewer. */
  tile(repeats: number | readonly number[]): Tensor;
  /** Back to front along an axis. */
  flip(axis: number): Tensor;
  /** A border of one value, 0 by default: numbers of elements before and after on each axis. */
  pad(widths: readonly (readonly [before: number, after: number])[], value?: number): Tensor;

  /**
   * Elements at `indices` (int32, any shape) along an axis, the first by default, as NumPy's `take`: the indices' shape
   * replaces the axis. An index outside gives NaN. For integers and bool it throws, or, in a compiled loop and on a GPU that
   * computed the indices, gives zero.
   *
   * @throws {RangeError} If an index into integers or bool is outside the axis.
   */
  take(indices: Tensor, axis?: number): Tensor;
  /**
   * This tensor with `updates` added at `indices` (int32, one axis) along an axis, the first by default; updates at one index
   * add up. An index outside is refused, or, in a compiled loop and on a GPU that computed the indices, makes all elements
   * NaN; integers have none, and stay without that update.
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
   * The values, row-major, once every operation before has run.
   *
   * @returns A typed array of {@linkcode size} elements; a `Uint8Array` of zeros and ones for bool.
   * @throws {Error} On a GPU also what was found to be wrong with values that an operation before could not wait for: times in
   * disorder, a state that diverged.
   */
  data(): Promise<TypedArray>;
  /** The values as nested arrays; a number for a scalar. */
  toArray(): Promise<NestedNumbers>;
  /**
   * The only value of a tensor of one element.
   *
   * @throws {ShapeError} If there are more or none.
   */
  item(): Promise<number>;
  /** The same values on another device; itself when it is there already. */
  to(device: Device): Promise<Tensor>;
  /**
   * Takes over the values of another tensor, in place: what an optimiser does to a parameter. Views write through: the tensor
   * that this one was made of by `select`, `slice`, `flip`, `permute`, `transpose`, `squeeze` or `expandDims` changes too, and by
   * `reshape` or `flatten` where those did not have to reorder elements.
   *
   * @param values Same shape, type and device.
   * @throws {ShapeError | Error} If shape or type differ, a broadcast view's elements share memory, or this is a view of `zeros`,
   * `ones` or `full`, which have no memory; in a compiled loop's body, or if a gradient under way needs the values.
   */
  assign(values: Tensor): void;
  /** Shape, type and, where they are on the host, values. */
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
    watcher?.made(this);
  }

  /**
   * The place of the values: a view of a device's memory, or a symbol while a loop is traced.
   *
   * @internal
   */
  get storage(): View | Symbolic {
    watcher?.used(this, this.#storage);
    return this.#storage;
  }

  /** Other memory: assigning to a tensor without memory allocates some. @internal */
  set storage(view: View) {
    this.#storage = view;
  }

  /**
   * The view of a device's memory.
   *
   * @throws {Error} While a loop is traced, when there are no values yet.
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

/** A number that a type holds, as a tensor of no axes. It takes no memory. */
export function numberTensor(value: number, dtype: DType): Tensor {
  // As in a cast, everything but zero is true, NaN too.
  return new Tensor(numberView(dtype === "bool" ? Number(value !== 0) : value, [], dtype));
}
