import { outsideCapture } from "../device/capture.ts";
import { currentDevice } from "../device/current.ts";
import type { Device, View } from "../device/device.ts";
import {
  checkDType,
  type DType,
  isFloat,
  isRepresentable,
  toHostArray,
  type TypedArray,
} from "../device/dtype.ts";
import {
  broadcastShapes,
  formatShape,
  isContiguous,
  normalizeAxes,
  normalizeAxis,
  resolveReshape,
  sameShape,
  type Shape,
  ShapeError,
  sizeOf,
} from "../device/shape.ts";
import { identity } from "../device/scalar.ts";
import { keepBuffer } from "../device/scope.ts";
import { allocateView, copy, hasBuffer, makeContiguous, uploadView } from "../device/view.ts";
import { formatTensor } from "./format.ts";
import { checkWithin, forgetHostValues } from "./host.ts";
import { apply, type Primitive, type TensorSpec } from "./primitive.ts";
import * as elementwise from "./primitives/elementwise.ts";
import * as indexing from "./primitives/indexing.ts";
import { settleChecks } from "./late_checks.ts";
import * as linear from "./primitives/linear_algebra.ts";
import * as reduction from "./primitives/reduction.ts";
import * as structural from "./primitives/structural.ts";

/** A number, or a tensor that broadcasts. A number takes the type of the tensor that it meets. */
export type TensorLike = Tensor | number;

/** Records operations on symbolic tensors instead of computing them. */
export interface Trace {
  /** How many gradient tapes were watching when the trace began. */
  readonly recorderDepth: number;
  apply<P>(primitive: Primitive<P>, inputs: readonly Tensor[], params: P, spec: TensorSpec): Tensor;
  /** A symbol for a tensor from outside. */
  lift(x: Tensor): Tensor;
}

/** Stands for a value that a compiled loop will compute. */
export class Symbolic {
  constructor(readonly trace: Trace, readonly spec: TensorSpec) {}
}

/** Is told of tensors that are made, and of those whose memory is used. */
export interface TensorWatcher {
  made(x: Tensor): void;
  used(x: Tensor, storage: View | Symbolic): void;
  assigned(x: Tensor): void;
}

let watcher: TensorWatcher | undefined;

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

/** Options of reductions. */
export interface ReduceOptions {
  /** Whether the reduced axes stay, with length one. `false` by default. */
  keepDims?: boolean;
}

/**
 * An array of numbers on a device, with a shape and a type. Operations run at once, return new tensors and record their
 * gradients when a function of {@linkcode grad} is running. Reading values is the only step that waits: `await x.data()`.
 *
 * Operands broadcast as in NumPy and must have one type; plain numbers fit any.
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
   * Where the values are: a view of a device's memory, or a symbol while a loop is traced.
   *
   * @internal
   */
  get storage(): View | Symbolic {
    watcher?.used(this, this.#storage);
    return this.#storage;
  }

  /**
   * The view of a device's memory.
   *
   * @throws {Error} While a loop is traced, when there are no values yet.
   * @internal
   */
  get view(): View {
    if (this.#storage instanceof Symbolic) {
      throw new Error("a tensor inside a traced loop has no values yet: its body cannot read them");
    }
    watcher?.used(this, this.#storage);
    return this.#storage;
  }

  get #spec(): TensorSpec {
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

  /**
   * The values, row-major, once every operation before has run.
   *
   * @returns A typed array of {@linkcode size} elements; a `Uint8Array` of zeros and ones for bool.
   * @throws {Error} On a GPU also what was found to be wrong with values that an operation before could not wait for: times in
   * disorder, a state that diverged.
   */
  async data(): Promise<TypedArray> {
    const { device } = this;
    const [words] = await device.read([makeContiguous(device, this.view)]);
    await settleChecks(device);
    return toHostArray(words, this.dtype);
  }

  /** The values as nested arrays; a number for a scalar. */
  async toArray(): Promise<NestedNumbers> {
    return nest(await this.data(), this.shape);
  }

  /**
   * The only value of a tensor of one element.
   *
   * @throws {ShapeError} If there are more or none.
   */
  async item(): Promise<number> {
    if (this.size !== 1) {
      throw new ShapeError(`item: a tensor of shape ${formatShape(this.shape)} has not one element`);
    }
    return (await this.data())[0];
  }

  /** The same values on another device; itself when it is there already. */
  async to(device: Device): Promise<Tensor> {
    if (this.device === device) return this;
    return new Tensor(uploadView(device, await this.data(), this.shape, this.dtype));
  }

  /**
   * Takes over the values of another tensor, in place: what an optimiser does to a parameter.
   *
   * @param values Same shape and type.
   * @throws {ShapeError} If shape or type differ.
   */
  assign(values: Tensor): void {
    if (!sameShape(values.shape, this.shape) || values.dtype !== this.dtype) {
      throw new ShapeError(
        `assign: ${values.dtype} ${formatShape(values.shape)} to ${this.dtype} ${formatShape(this.shape)}`,
      );
    }
    const { view, device } = this;
    watcher?.assigned(this);
    if (hasBuffer(view) && isContiguous(view.shape, view.strides)) {
      // A view of the same memory may lie in another order.
      const source = values.view.source === view.source ? copy(device, values.view) : values.view;
      device.map(identity, [source], view);
      forgetHostValues(view.source);
    } else {
      const own = outsideCapture(() => allocateView(device, this.shape, this.dtype));
      keepBuffer(own.source);
      device.map(identity, [values.view], own);
      this.#storage = own;
    }
  }

  /** Shape, type and, where they are on the host, values. */
  toString(): string {
    return formatTensor(this);
  }

  /** Text that `console.log` shows. */
  [Symbol.for("Deno.customInspect")](): string {
    return this.toString();
  }

  #with(other: TensorLike, operation: string): Tensor {
    if (other instanceof Tensor) return other;
    if (typeof other !== "number") {
      throw new TypeError(`${operation}: expected a tensor or a number, got ${other}`);
    }
    if (!isRepresentable(other, this.dtype)) {
      throw new TypeError(
        `${operation}: ${other} is no ${this.dtype}, the type of the tensor of shape ${
          formatShape(this.shape)
        }; ` +
          'convert that with .cast("float32") first',
      );
    }
    return scalar(other, this.dtype);
  }

  #binary(primitive: elementwise.Elementwise, other: TensorLike, swap = false): Tensor {
    const operand = this.#with(other, primitive.name);
    if (operand.dtype !== this.dtype) {
      throw new TypeError(
        `${primitive.name}: ${this.dtype} ${formatShape(this.shape)} and ${operand.dtype} ${
          formatShape(operand.shape)
        } ` +
          "differ in type; convert one with .cast(dtype)",
      );
    }
    return applyBroadcast(primitive, swap ? [operand, this] : [this, operand]);
  }

  #unary(primitive: elementwise.Elementwise): Tensor {
    return apply(primitive, [this], undefined);
  }

  /** Addition, with NumPy's broadcasting, as in all operations on two tensors. */
  add(other: TensorLike): Tensor {
    return this.#binary(elementwise.add, other);
  }
  /** Subtraction. */
  sub(other: TensorLike): Tensor {
    return this.#binary(elementwise.sub, other);
  }
  /** Multiplication, element by element. */
  mul(other: TensorLike): Tensor {
    return this.#binary(elementwise.mul, other);
  }
  /** Division, element by element. */
  div(other: TensorLike): Tensor {
    return this.#binary(elementwise.div, other);
  }
  /** The larger of two, element by element. */
  maximum(other: TensorLike): Tensor {
    return this.#binary(elementwise.maximum, other);
  }
  /** The smaller of two, element by element. */
  minimum(other: TensorLike): Tensor {
    return this.#binary(elementwise.minimum, other);
  }
  /** To a power. A negative base takes whole exponents only; others give NaN. */
  pow(exponent: TensorLike): Tensor {
    if (exponent === 0) return this.zerosLike().add(1);
    if (exponent === 1) return this;
    if (exponent === 2) return this.square();
    if (exponent === 0.5) return this.sqrt();
    if (exponent === -1) return scalar(1, this.dtype).div(this);
    return this.#binary(elementwise.pow, exponent);
  }
  /** Between two bounds. */
  clip(low: TensorLike, high: TensorLike): Tensor {
    return this.maximum(low).minimum(high);
  }

  /** The negative. */
  neg(): Tensor {
    return this.#unary(elementwise.neg);
  }
  /** The absolute value. */
  abs(): Tensor {
    return this.#unary(elementwise.abs);
  }
  /** -1, 0 or 1. */
  sign(): Tensor {
    return this.#unary(elementwise.sign);
  }
  /** Down to a whole number. */
  floor(): Tensor {
    return this.#unary(elementwise.floor);
  }
  /** Up to a whole number. */
  ceil(): Tensor {
    return this.#unary(elementwise.ceil);
  }
  /** To the nearest whole number, ties to the even one. */
  round(): Tensor {
    return this.#unary(elementwise.round);
  }
  /** x x. */
  square(): Tensor {
    return this.mul(this);
  }
  /** The square root; NaN below zero. */
  sqrt(): Tensor {
    return this.#unary(elementwise.sqrt);
  }
  /** e to the power of each element. */
  exp(): Tensor {
    return this.#unary(elementwise.exp);
  }
  /** The natural logarithm. */
  log(): Tensor {
    return this.#unary(elementwise.log);
  }
  /** log(1 + x), exact near zero. */
  log1p(): Tensor {
    return this.#unary(elementwise.log1p);
  }
  /** The sine of an angle in radians. */
  sin(): Tensor {
    return this.#unary(elementwise.sin);
  }
  /** The cosine of an angle in radians. */
  cos(): Tensor {
    return this.#unary(elementwise.cos);
  }
  /** The hyperbolic tangent. */
  tanh(): Tensor {
    return this.#unary(elementwise.tanh);
  }
  /** The error function. */
  erf(): Tensor {
    return this.#unary(elementwise.erf);
  }
  /** 1 / (1 + exp(-x)). */
  sigmoid(): Tensor {
    return this.#unary(elementwise.sigmoid);
  }
  /** max(x, 0). */
  relu(): Tensor {
    return this.#unary(elementwise.relu);
  }
  /** log(1 + exp(x)). */
  softplus(): Tensor {
    return this.#unary(elementwise.softplus);
  }
  /** x sigmoid(x), also known as swish. */
  silu(): Tensor {
    return this.mul(this.sigmoid());
  }
  /** x Phi(x) with the exact normal distribution function Phi. */
  gelu(): Tensor {
    return this.mul(this.mul(Math.SQRT1_2).erf().add(1)).mul(0.5);
  }

  /** Whether a < b, element by element, as bool; false where either is NaN. */
  less(other: TensorLike): Tensor {
    return this.#binary(elementwise.less, other);
  }
  /** Whether a <= b, as {@linkcode less}. */
  lessEqual(other: TensorLike): Tensor {
    return this.#binary(elementwise.lessEqual, other);
  }
  /** Whether a > b, as {@linkcode less}. */
  greater(other: TensorLike): Tensor {
    return this.#binary(elementwise.less, other, true);
  }
  /** Whether a >= b, as {@linkcode less}. */
  greaterEqual(other: TensorLike): Tensor {
    return this.#binary(elementwise.lessEqual, other, true);
  }
  /** Whether a = b, as {@linkcode less}. */
  equal(other: TensorLike): Tensor {
    return this.#binary(elementwise.equal, other);
  }
  /** Whether a and b differ, as bool; true where either is NaN. */
  notEqual(other: TensorLike): Tensor {
    return this.equal(other).not();
  }
  /** Whether an element is NaN: a missing observation. */
  isNaN(): Tensor {
    return this.#unary(elementwise.isNaN);
  }
  /** Logical on bool, bitwise on integers. */
  and(other: TensorLike): Tensor {
    return this.#binary(elementwise.and, other);
  }
  /** Logical on bool, bitwise on integers. */
  or(other: TensorLike): Tensor {
    return this.#binary(elementwise.or, other);
  }
  /** Logical on bool, bitwise on integers. */
  xor(other: TensorLike): Tensor {
    return this.#binary(elementwise.xor, other);
  }
  /** Logical on bool, bitwise on integers. */
  not(): Tensor {
    return this.#unary(elementwise.not);
  }

  /**
   * Where this bool tensor is true the elements of `a`, elsewhere those of `b`. No gradient leaks from the side that is
   * not taken.
   */
  where(a: TensorLike, b: TensorLike): Tensor {
    if (this.dtype !== "bool") throw new TypeError(`where: the condition must be bool, got ${this.dtype}`);
    const typed = a instanceof Tensor ? a : b instanceof Tensor ? b : undefined;
    const [x, y] = [a, b].map((x) => typeof x === "number" ? scalar(x, typed?.dtype ?? "float32") : x);
    if (x.dtype !== y.dtype) {
      throw new TypeError(`where: ${x.dtype} and ${y.dtype} differ in type; convert one with .cast(dtype)`);
    }
    return applyBroadcast(elementwise.where, [this, x, y]);
  }

  /** The same values in another type; floats go towards zero to integers. */
  cast(dtype: DType): Tensor {
    checkDType("cast", dtype);
    return dtype === this.dtype ? this : this.#unary(elementwise.cast(dtype));
  }

  /** Zeros of this tensor's shape and type; they take no memory. */
  zerosLike(): Tensor {
    return scalar(0, this.dtype).broadcastTo(this.shape);
  }

  /** The sum along axes, all of them by default. */
  sum(axes?: number | readonly number[], options: ReduceOptions = {}): Tensor {
    return this.#reduce(reduction.sum, axes, options);
  }
  /** The largest element along axes; its gradient is shared among equal ones. */
  max(axes?: number | readonly number[], options: ReduceOptions = {}): Tensor {
    return this.#reduce(reduction.max, axes, options);
  }
  /** The smallest element along axes. */
  min(axes?: number | readonly number[], options: ReduceOptions = {}): Tensor {
    return this.#reduce(reduction.min, axes, options);
  }
  /** The mean along axes, all of them by default. */
  mean(axes?: number | readonly number[], options: ReduceOptions = {}): Tensor {
    const count = normalizeAxes(axes, this.rank, "mean").reduce(
      (product, axis) => product * this.shape[axis],
      1,
    );
    return this.sum(axes, options).div(count);
  }
  /** The mean squared distance from the mean along axes. */
  variance(axes?: number | readonly number[], options: ReduceOptions = {}): Tensor {
    return this.sub(this.mean(axes, { keepDims: true })).square().mean(axes, options);
  }

  #reduce(
    primitive: typeof reduction.sum,
    axes: number | readonly number[] | undefined,
    options: ReduceOptions,
  ): Tensor {
    const list = normalizeAxes(axes, this.rank, primitive.name);
    const reduced = list.length === 0 ? this : apply(primitive, [this], { axes: list });
    return options.keepDims ? reduced.expandDims(list) : reduced;
  }

  /** The position of the first largest element along an axis, int32. */
  argmax(axis = -1): Tensor {
    return apply(reduction.argReduce, [this], {
      reduction: "max",
      axis: normalizeAxis(axis, this.rank, "argmax"),
    });
  }
  /** The position of the first smallest element along an axis, int32. */
  argmin(axis = -1): Tensor {
    return apply(reduction.argReduce, [this], {
      reduction: "min",
      axis: normalizeAxis(axis, this.rank, "argmin"),
    });
  }
  /** Sums of the elements up to and with each one, along an axis. */
  cumsum(axis = 0): Tensor {
    return apply(reduction.cumulativeSum, [this], { axis: normalizeAxis(axis, this.rank, "cumsum") });
  }
  /** log(sum(exp(x))) along axes, without overflow. */
  logsumexp(axes?: number | readonly number[], options: ReduceOptions = {}): Tensor {
    const list = normalizeAxes(axes, this.rank, "logsumexp");
    const max = stopGradient(this.max(list, { keepDims: true }));
    // An infinite maximum is the result; subtracting it from itself would not be a number.
    const largest = max.abs().equal(Infinity).where(0, max);
    const result = this.sub(largest).exp().sum(list, { keepDims: true }).log().add(largest);
    return options.keepDims ? result : result.squeeze(list);
  }
  /** exp(x) / sum(exp(x)) along an axis. */
  softmax(axis = -1): Tensor {
    const powers = this.sub(stopGradient(this.max(axis, { keepDims: true }))).exp();
    return powers.div(powers.sum(axis, { keepDims: true }));
  }
  /** x - logsumexp(x) along an axis. */
  logSoftmax(axis = -1): Tensor {
    return this.sub(this.logsumexp(axis, { keepDims: true }));
  }

  /** The same elements in another shape; one length may be -1. */
  reshape(shape: Shape): Tensor {
    const target = resolveReshape(this.shape, shape);
    return sameShape(target, this.shape) ? this : apply(structural.reshape, [this], { shape: target });
  }
  /** Axes `first` to `last` joined into one. */
  flatten(first = 0, last = -1): Tensor {
    if (this.rank === 0) return this.reshape([1]);
    const [from, to] = [first, last].map((axis) => normalizeAxis(axis, this.rank, "flatten"));
    return this.reshape([
      ...this.shape.slice(0, from),
      sizeOf(this.shape.slice(from, to + 1)),
      ...this.shape.slice(to + 1),
    ]);
  }
  /** Axes in another order. */
  permute(axes: readonly number[]): Tensor {
    const order = axes.map((axis) => normalizeAxis(axis, this.rank, "permute"));
    if (order.length !== this.rank || new Set(order).size !== this.rank) {
      throw new ShapeError(
        `permute: axes [${axes}] do not name each axis of ${formatShape(this.shape)} once`,
      );
    }
    return order.every((axis, i) => axis === i) ? this : apply(structural.permute, [this], { axes: order });
  }
  /** Two axes exchanged, the last two by default. */
  transpose(a = -2, b = -1): Tensor {
    const order = this.shape.map((_, axis) => axis);
    const [i, j] = [a, b].map((axis) => normalizeAxis(axis, this.rank, "transpose"));
    [order[i], order[j]] = [order[j], order[i]];
    return this.permute(order);
  }
  /** The last two axes exchanged, as NumPy's `mT`. */
  get mT(): Tensor {
    return this.transpose();
  }
  /** New axes of length one; positions are those in the result. */
  expandDims(axes: number | readonly number[]): Tensor {
    const count = typeof axes === "number" ? 1 : axes.length;
    const added = normalizeAxes(axes, this.rank + count, "expandDims");
    const rest = [...this.shape];
    return this.reshape(
      Array.from({ length: this.rank + count }, (_, axis) => added.includes(axis) ? 1 : rest.shift()!),
    );
  }
  /** Axes of length one removed, all of them by default. */
  squeeze(axes?: number | readonly number[]): Tensor {
    const removed = axes === undefined
      ? this.shape.flatMap((length, axis) => length === 1 ? [axis] : [])
      : normalizeAxes(axes, this.rank, "squeeze");
    const long = removed.find((axis) => this.shape[axis] !== 1);
    if (long !== undefined) {
      throw new ShapeError(`squeeze: axis ${long} of ${formatShape(this.shape)} is not one long`);
    }
    return this.reshape(this.shape.filter((_, axis) => !removed.includes(axis)));
  }
  /** Repeated along axes of length one, and along new ones in front, up to a shape. */
  broadcastTo(shape: Shape): Tensor {
    return sameShape(shape, this.shape) ? this : apply(structural.broadcastTo, [this], { shape });
  }

  /**
   * Elements `start` to `end` (without it) along an axis, every `step`th. Negative positions count from the end. A
   * negative step walks down from `start`, by default the last.
   */
  slice(axis: number, start?: number, end?: number, step = 1): Tensor {
    const along = normalizeAxis(axis, this.rank, "slice");
    if (!Number.isInteger(step) || step === 0) {
      throw new ShapeError(`slice: step ${step} is not a whole number but zero`);
    }
    const bad = [start, end].find((position) => position !== undefined && !Number.isInteger(position));
    if (bad !== undefined) throw new ShapeError(`slice: position ${bad} is not a whole number`);
    const length = this.shape[along];
    const [low, high] = step > 0 ? [0, length] : [-1, length - 1];
    const clamp = (position: number) =>
      Math.min(high, Math.max(low, position < 0 ? position + length : position));
    const from = start === undefined ? step > 0 ? 0 : length - 1 : clamp(start);
    const to = end === undefined ? step > 0 ? length : -1 : clamp(end);
    const count = Math.max(0, Math.ceil((to - from) / step));
    if (count === length && step === 1) return this;
    return apply(structural.slice, [this], {
      shape: this.shape.map((own, i) => i === along ? count : own),
      starts: this.shape.map((_, i) => i === along && count > 0 ? from : 0),
      steps: this.shape.map((_, i) => i === along ? step : 1),
    });
  }
  /** One position of an axis, which disappears. Negative positions count from the end. */
  at(axis: number, position: number): Tensor {
    const along = normalizeAxis(axis, this.rank, "at");
    const from = position < 0 ? position + this.shape[along] : position;
    if (!Number.isInteger(position) || from < 0 || from >= this.shape[along]) {
      throw new ShapeError(`at: position ${position} is outside axis ${axis} of ${formatShape(this.shape)}`);
    }
    return this.slice(along, from, from + 1).squeeze(along);
  }
  /** Back to front along an axis. */
  flip(axis: number): Tensor {
    return this.slice(axis, undefined, undefined, -1);
  }
  /** A border of one value: elements before and after on each axis. */
  pad(widths: readonly (readonly [before: number, after: number])[], value = 0): Tensor {
    if (
      widths.length !== this.rank || widths.flat().some((width) => !(Number.isInteger(width) && width >= 0))
    ) {
      throw new ShapeError(`pad: widths ${JSON.stringify(widths)} for a tensor of ${this.rank} axes`);
    }
    const grid = {
      shape: this.shape.map((length, axis) => length + widths[axis][0] + widths[axis][1]),
      starts: widths.map(([before]) => before),
      steps: widths.map(() => 1),
    };
    const padded = apply(structural.pad, [this], grid);
    if (value === 0) return padded;
    const inside = apply(structural.pad, [scalar(1, "bool").broadcastTo(this.shape)], grid);
    return inside.where(padded, value);
  }

  /**
   * Elements at `indices` (int32, any shape) along an axis; the axis is replaced by the indices' shape. An index outside
   * gives NaN. Integers and bool have none: there it is refused, or, in a compiled loop and on a GPU that computed the
   * indices, gives zero.
   *
   * @throws {RangeError} If an index into integers or bool is outside the axis.
   */
  gather(indices: Tensor, axis = 0): Tensor {
    const along = normalizeAxis(axis, this.rank, "gather");
    if (!isFloat(this.dtype)) this.#hasWithin("gather", indices, along);
    const [outer, inner] = [this.shape.slice(0, along), this.shape.slice(along + 1)];
    const rows = this.reshape([sizeOf(outer), this.shape[along], sizeOf(inner)]);
    return apply(indexing.gather, [rows, indices.flatten()], undefined)
      .reshape([...outer, ...indices.shape, ...inner]);
  }
  /** Whether the host has seen that all indices are positions on an axis. */
  #hasWithin(operation: string, indices: Tensor, axis: number): boolean {
    const what = `the positions on axis ${axis} of ${formatShape(this.shape)}`;
    return checkWithin(operation, "indices", indices, [0, this.shape[axis] - 1], what);
  }
  /**
   * This tensor with `updates` added at `indices` (int32, one axis) along an axis; updates at one index add up. An index
   * outside is refused, or, in a compiled loop and on a GPU that computed the indices, makes all elements NaN; integers
   * have none, and stay without that update.
   *
   * @throws {RangeError} If an index is outside the axis.
   */
  scatterAdd(indices: Tensor, updates: Tensor, axis = 0): Tensor {
    const along = normalizeAxis(axis, this.rank, "scatterAdd");
    const [outer, inner] = [this.shape.slice(0, along), this.shape.slice(along + 1)];
    const expected = [...outer, indices.size, ...inner];
    if (!sameShape(updates.shape, expected)) {
      throw new ShapeError(
        `scatterAdd: updates of shape ${formatShape(updates.shape)}, expected ${formatShape(expected)}`,
      );
    }
    const known = this.#hasWithin("scatterAdd", indices, along);
    const rows = updates.reshape([sizeOf(outer), indices.size, sizeOf(inner)]);
    const added = apply(indexing.scatterAdd, [rows, indices.flatten()], { size: this.shape[along] });
    const result = this.add(added.reshape(this.shape));
    if (known || !isFloat(this.dtype)) return result;
    const isInside = indices.greaterEqual(0).and(indices.less(this.shape[along]));
    return result.add(isInside.where(scalar(0, this.dtype), NaN).sum());
  }

  /**
   * The matrix product, as NumPy's `matmul`: (..., m, k) x (..., k, n) with leading axes that broadcast; a tensor of one
   * axis is a row on the left and a column on the right.
   */
  matmul(other: Tensor): Tensor {
    if (this.rank === 0 || other.rank === 0) throw new ShapeError("matmul: a scalar has no rows or columns");
    if (this.rank === 1) return this.expandDims(0).matmul(other).squeeze(other.rank === 1 ? 0 : -2);
    if (other.rank === 1) return this.matmul(other.expandDims(1)).squeeze(-1);
    const [m, k, n] = [...this.shape.slice(-2), other.shape.at(-1)!];
    if (k !== other.shape.at(-2)) {
      throw new ShapeError(
        `matmul: shapes ${formatShape(this.shape)} and ${formatShape(other.shape)} do not fit together: ` +
          `${k} columns on the left, ${other.shape.at(-2)} rows on the right`,
      );
    }
    if (other.rank === 2) {
      // One product for all leading axes, which is also one product for the gradient of the matrix on the right.
      return apply(linear.matmul, [this.reshape([sizeOf(this.shape.slice(0, -1)), k]), other], undefined)
        .reshape([...this.shape.slice(0, -1), n]);
    }
    const batch = broadcastShapes([this.shape.slice(0, -2), other.shape.slice(0, -2)], "matmul");
    const [a, b] = liftTogether([this, other]);
    return apply(
      linear.matmul,
      [a.broadcastTo([...batch, m, k]), b.broadcastTo([...batch, other.shape.at(-2)!, n])],
      undefined,
    );
  }
}

/** Numbers nested to a tensor's shape. */
export type NestedNumbers = number | NestedNumbers[];

function nest(values: TypedArray, [length, ...rest]: Shape): NestedNumbers {
  if (length === undefined) return values[0];
  const stride = sizeOf(rest);
  return Array.from({ length }, (_, i) => nest(values.subarray(i * stride, (i + 1) * stride), rest));
}

/** A number as a tensor of no axes; it takes no memory. */
export function scalar(value: number, dtype: DType = "float32"): Tensor {
  if (typeof value !== "number") {
    throw new TypeError(`scalar: expected a number, got ${typeof value} ${value}`);
  }
  checkDType("scalar", dtype);
  if (!isRepresentable(value, dtype)) throw new TypeError(`scalar: ${value} is no ${dtype}`);
  return new Tensor({ source: value, dtype, shape: [], strides: [], offset: 0 });
}

/** Applies an elementwise primitive to operands that broadcast together. */
export function applyBroadcast(primitive: elementwise.Elementwise, operands: readonly Tensor[]): Tensor {
  const shape = broadcastShapes(operands.map((x) => x.shape), primitive.name);
  return apply(primitive, liftTogether(operands).map((x) => x.broadcastTo(shape)), undefined);
}

/**
 * In a trace, makes symbols of the tensors that come from outside, so that how they broadcast is part of the loop: a bias
 * then stays a vector in it and in its gradient.
 */
function liftTogether(operands: readonly Tensor[]): readonly Tensor[] {
  const symbolic = operands.find((x) => x.storage instanceof Symbolic);
  if (!symbolic) return operands;
  const { trace } = symbolic.storage as Symbolic;
  return operands.map((x) => x.storage instanceof Symbolic ? x : trace.lift(x));
}

/** The same values, through which no gradient flows. */
export function stopGradient(x: Tensor): Tensor {
  return apply(elementwise.stopGradient, [x], undefined);
}
