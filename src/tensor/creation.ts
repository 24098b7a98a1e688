import { kernelDevice } from "../device/capture.ts";
import { describe } from "../device/describe.ts";
import { checkTensor } from "./checks.ts";
import { checkOptions, namesOf } from "../device/options.ts";
import { currentDevice } from "../device/current.ts";
import { checkDType, deviceArray, type DType, isRepresentable, type TypedArray } from "../device/dtype.ts";
import * as s from "../device/scalar/scalar.ts";
import { checkedShape, formatShape, type Shape, ShapeError, sizeOf } from "../device/shape.ts";
import { allocateView, uploadView } from "../device/view.ts";
import { cacheHostValues } from "./host.ts";
import "./methods/install.ts";
import { numberTensor, Tensor, type TensorLike } from "./tensor.ts";

/** A number as a tensor of no axes; it takes no memory. */
export function scalar(value: number, dtype: DType = "float32"): Tensor {
  if (typeof value !== "number") {
    throw new TypeError(`scalar: expected a number, got ${describe(value)}`);
  }
  checkDType("scalar", dtype);
  if (!isRepresentable(value, dtype)) throw new TypeError(`scalar: ${value} is not a valid ${dtype}`);
  return numberTensor(value, dtype);
}

/** Options of functions that create tensors. */
export interface TensorOptions {
  /**
   * Type of the elements.
   *
   * @default {"float32"}
   */
  dtype?: DType;
}

export const tensorOptionNames = namesOf<TensorOptions>()("dtype?");
const ownOptionNames = namesOf<TensorOptions & { shape?: Shape }>()(tensorOptionNames, "shape?");
/** Options of {@linkcode arange}. */
export interface ArangeOptions extends TensorOptions {
  /**
   * First value.
   *
   * @default {0}
   */
  start?: number;
  /**
   * Difference of neighbours.
   *
   * @default {1}
   */
  step?: number;
}

const rangeOptionNames = namesOf<ArangeOptions>()(tensorOptionNames, "start? step?");

/** Nested arrays of equal lengths, a number, or a typed array. */
export type TensorData = number | boolean | TypedArray | readonly TensorData[];

/**
 * A tensor from nested arrays or a typed array; NaN is a missing observation.
 *
 * @example
 * ```ts
 * import { tensor } from "@weft/weft";
 *
 * tensor([[1, 2, 3], [4, 5, 6]]).shape; // (2, 3)
 * tensor(new Float64Array(6), { shape: [2, 3], dtype: "float64" });
 * ```
 *
 * @param data Numbers, nested to any depth; booleans make a bool tensor.
 * @param options `shape` gives flat data a shape; `dtype` is `"float32"` by default, `"bool"` for booleans.
 * @throws {ShapeError} If rows differ in length, or the shape has another number of elements.
 * @throws {TypeError} If an integer type cannot represent a value: a fraction, NaN, or out of range.
 */
export function tensor(data: TensorData, options: TensorOptions & { shape?: Shape } = {}): Tensor {
  checkOptions("tensor", options, ownOptionNames);
  const { values, shape } = readNested(data);
  const isBoolean = typeof values[0] === "boolean" &&
    Array.prototype.every.call(values, (value) => typeof value === "boolean");
  const dtype = options.dtype ?? (isBoolean ? "bool" : "float32");
  const target = checkedShape("tensor", options.shape ?? shape);
  checkDType("tensor", dtype);
  if (sizeOf(target) !== values.length) {
    throw new ShapeError(`tensor: ${values.length} values do not fill shape ${formatShape(target)}`);
  }
  if ((dtype === "int32" || dtype === "uint32") && !(values instanceof deviceArray(dtype))) {
    const wrong = Array.prototype.findIndex.call(values, (value) => !isRepresentable(Number(value), dtype));
    if (wrong >= 0) {
      throw new TypeError(`tensor: value ${values[wrong]} (index ${wrong}) is not a valid ${dtype}`);
    }
  }
  const result = new Tensor(uploadView(currentDevice(), values as ArrayLike<number>, target, dtype));
  cacheHostValues(result, values as ArrayLike<number>);
  return result;
}

function readNested(data: TensorData): { values: ArrayLike<number | boolean>; shape: number[] } {
  if (ArrayBuffer.isView(data)) {
    if (data instanceof BigInt64Array || data instanceof BigUint64Array || data instanceof DataView) {
      throw new TypeError(
        `tensor: ${
          data[Symbol.toStringTag]
        } is not supported; convert the data, for example with Float64Array.from(data, Number)`,
      );
    }
    return { values: data, shape: [data.length] };
  }
  const shape: number[] = [];
  for (let level: TensorData = data; Array.isArray(level); level = level[0]) shape.push(level.length);
  const values: (number | boolean)[] = [];
  const visit = (node: TensorData, axis: number, path: string) => {
    if (axis === shape.length) {
      if (typeof node !== "number" && typeof node !== "boolean") {
        throw new ShapeError(
          `tensor: expected a number ${path === "" ? "or arrays of them" : `at [${path}]`}, got ${
            node === null ? "null" : Array.isArray(node) ? "an array" : typeof node
          }`,
        );
      }
      values.push(node);
    } else if (!Array.isArray(node) || node.length !== shape[axis]) {
      const actual = Array.isArray(node) ? `${node.length} values` : `${node}`;
      throw new ShapeError(`tensor: expected ${shape[axis]} values at [${path}], got ${actual}`);
    } else node.forEach((child, i) => visit(child, axis + 1, path === "" ? `${i}` : `${path}, ${i}`));
  };
  visit(data, 0, "");
  return { values, shape };
}

/**
 * A tensor with the same value in each element. It takes no memory until it is assigned.
 *
 * @throws {ShapeError} If a length is not a whole number of at least 0.
 */
export function full(shape: Shape, value: number, options: TensorOptions = {}): Tensor {
  return filled("full", shape, value, options);
}

function filled(operation: string, shape: Shape, value: number, options: TensorOptions): Tensor {
  checkOptions(operation, options, tensorOptionNames);
  checkedShape(operation, shape);
  return scalar(value, options.dtype).broadcastTo(shape);
}

/** A tensor of zeros. It takes no memory until it is assigned. */
export function zeros(shape: Shape, options: TensorOptions = {}): Tensor {
  return filled("zeros", shape, 0, options);
}

/** A tensor of ones. It takes no memory until it is assigned. */
export function ones(shape: Shape, options: TensorOptions = {}): Tensor {
  return filled("ones", shape, 1, options);
}

/**
 * 0, 1, ... size - 1, or from `start` in steps of `step`.
 *
 * @throws {ShapeError} If `size` is not a whole number of at least 0.
 * @throws {RangeError} If `start` or `step` is infinite or NaN.
 * @throws {TypeError} If an integer type cannot represent `start` or `step`.
 */
export function arange(
  size: number,
  options: ArangeOptions = {},
): Tensor {
  checkOptions("arange", options, rangeOptionNames);
  const { start = 0, step = 1, dtype = "float32" } = options;
  checkFinite("arange", { start, step });
  const build = (first: s.Scalar, by: s.Scalar) => s.add(s.mul(s.convert(s.index(), dtype), by), first);
  return generate([size], dtype, "arange", build, [start, step]);
}

/**
 * `count` equally spaced values from `start` to `end`, both included. A single value is `start`.
 *
 * @throws {ShapeError} If `count` is not a whole number of at least 0.
 * @throws {RangeError} If `start` or `end` is infinite or NaN.
 * @throws {TypeError} If an integer type cannot represent a value.
 */
export function linspace(start: number, end: number, count: number, options: TensorOptions = {}): Tensor {
  checkOptions("linspace", options, tensorOptionNames);
  checkedShape("linspace", [count]);
  checkFinite("linspace", { start, end });
  // Computed on the host in float64, so that the last value is exactly `end`, and solvers can use the values as times.
  const at = (i: number) => i > 0 && i === count - 1 ? end : start + (end - start) * (i / (count - 1 || 1));
  return tensor(Float64Array.from({ length: count }, (_, i) => at(i)), options);
}

/**
 * The identity matrix.
 *
 * @throws {ShapeError} If `size` is not a whole number of at least 0.
 */
export function eye(size: number, options: TensorOptions = {}): Tensor {
  checkOptions("eye", options, tensorOptionNames);
  const { dtype = "float32" } = options;
  checkedShape("eye", [size]);
  return arange(size, { dtype: "int32" }).expandDims(1).equal(arange(size, { dtype: "int32" })).cast(dtype);
}

/**
 * Ones at labels, zeros elsewhere, along a new last axis, as PyTorch's `one_hot`.
 *
 * @example
 * ```ts
 * import { oneHot, tensor } from "@weft/weft";
 *
 * oneHot(tensor([0, 2], { dtype: "int32" }), 3); // [[1, 0, 0], [0, 0, 1]]
 * ```
 *
 * @param labels int32 `(...)`, from 0. Labels outside of the classes give zeros.
 * @param classes The number of classes, the length of the new axis.
 * @throws {TypeError} If the labels are not int32.
 */
export function oneHot(labels: Tensor, classes: number, options: TensorOptions = {}): Tensor {
  checkTensor("oneHot: labels", labels);
  checkOptions("oneHot", options, tensorOptionNames);
  checkedShape("oneHot", [classes]);
  if (labels.dtype !== "int32") throw new TypeError(`oneHot: the labels are ${labels.dtype}, expected int32`);
  const { dtype = "float32" } = options;
  return labels.expandDims(-1).equal(arange(classes, { dtype: "int32" })).cast(dtype);
}

/** Rejects infinite numbers and NaN. */
export function checkFinite(operation: string, numbers: Readonly<Record<string, number>>): void {
  const wrong = Object.keys(numbers).find((name) => !Number.isFinite(numbers[name]));
  if (wrong) {
    throw new RangeError(`${operation}: ${wrong} is ${describe(numbers[wrong])}, expected a finite number`);
  }
}

/** Makes a tensor by evaluating a scalar function of the position of an element and of some numbers. */
export function generate(
  shape: Shape,
  dtype: DType,
  name: string,
  build: (...numbers: s.Scalar[]) => s.Scalar,
  numbers: readonly TensorLike[],
  numbersType: DType = dtype,
): Tensor {
  const own = checkedShape(name, shape);
  checkDType(name, dtype);
  const device = kernelDevice(currentDevice());
  const output = allocateView(device, own, dtype);
  const inputs = numbers.map((number) =>
    (typeof number === "number" ? scalar(number, numbersType) : number).broadcastTo(shape).view
  );
  device.map({ name: `${name} ${dtype}`, build }, inputs, output);
  return new Tensor(output);
}
