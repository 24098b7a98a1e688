/** Tolerances of the error of a step, for all elements of a state or for each. */
import { describe } from "../../device/describe.ts";
import { contiguousStrides, formatShape, ShapeError } from "../../device/shape.ts";
import { tensor } from "../../tensor/creation.ts";
import { peekHostValues } from "../../tensor/host.ts";
import { Tensor, type TensorLike } from "../../tensor/tensor.ts";

/**
 * A tolerance: a positive number, or numbers for the elements of a state. For a state that is a tensor, a vector or a tensor that
 * broadcasts against it. For a tree, the structure of the state with a tolerance for each tensor.
 */
export type Tolerance = number | Tensor | ArrayLike<number> | readonly Tolerance[] | {
  readonly [name: string]: Tolerance;
};

/** A tolerance for all elements, or one for each element of the packed state, row-major. */
export type PackedTolerance = number | Float64Array;

/** Tolerances of the error of a step: `atol + rtol |y|` in the root mean square over all elements. */
export interface Tolerances {
  readonly rtol: PackedTolerance;
  readonly atol: PackedTolerance;
}

/** The layout of a packed state. */
interface Layout {
  readonly y0: Tensor;
  readonly leaves: readonly (readonly [path: string, shape: readonly number[]])[];
  readonly locate: (
    position: number,
  ) => { readonly leaf: string; readonly sample: number; readonly index: readonly number[] };
}

/** A tolerance that broadcasts against a state. */
export function toleranceFor(tolerance: PackedTolerance, { shape, dtype }: Tensor): TensorLike {
  return typeof tolerance === "number" ? tolerance : tensor(tolerance, { shape, dtype });
}

/** The tolerance of an element of the packed state. */
export function toleranceOf(tolerance: PackedTolerance, position: number): number {
  return typeof tolerance === "number" ? tolerance : tolerance[position];
}

/**
 * Packs a tolerance as the state.
 *
 * @param name The name of the option, for messages.
 * @throws {RangeError} If a tolerance is not a positive, finite number.
 * @throws {ShapeError} If a tensor does not broadcast against the state.
 * @throws {TypeError} If the structure is not that of the state, or a tensor has no values yet.
 */
export function packTolerance(
  name: string,
  tolerance: Tolerance,
  { y0, leaves, locate }: Layout,
): PackedTolerance {
  if (typeof tolerance === "number") return checked(name, tolerance);
  const readers = new Map(
    leaves.map(([path, shape]) => {
      const place = path === "" ? name : `${name}.${path}`;
      return [path, readerOf(place, toleranceAt(tolerance, path), shape)];
    }),
  );
  return Float64Array.from({ length: y0.size }, (_, i) => {
    const { leaf, sample, index } = locate(i);
    return readers.get(leaf)!([sample, ...index]);
  });
}

/** The tolerance of a leaf. A tolerance of a branch is that of all its leaves. */
function toleranceAt(tolerance: Tolerance, path: string): Tolerance | undefined {
  return path.split(".").filter(Boolean).reduce<Tolerance | undefined>(
    (at, part) =>
      typeof at === "object" && at !== null && !(at instanceof Tensor)
        ? (at as Record<string, Tolerance>)[part]
        : at,
    tolerance,
  );
}

/** Reads the tolerance of an element from its positions along the axes of a leaf. */
function readerOf(
  name: string,
  tolerance: Tolerance | undefined,
  shape: readonly number[],
): (index: readonly number[]) => number {
  if (typeof tolerance === "number") return () => checked(name, tolerance);
  const expected = `expected a positive number, or numbers that broadcast against ${formatShape(shape)}`;
  if (!(tolerance instanceof Tensor) && !ArrayBuffer.isView(tolerance) && !Array.isArray(tolerance)) {
    throw new TypeError(`odeint: ${name} is ${describe(tolerance)}, ${expected}`);
  }
  const values = tolerance instanceof Tensor
    ? peekHostValues(tolerance)
    : Array.from(tolerance as ArrayLike<number>);
  if (!values) throw new TypeError(`odeint: ${name} has no values yet; pass numbers`);
  const axes = tolerance instanceof Tensor ? tolerance.shape : [values.length];
  const offset = shape.length - axes.length;
  if (offset < 0 || axes.some((length, i) => length !== 1 && length !== shape[offset + i])) {
    throw new ShapeError(`odeint: ${name} has shape ${formatShape(axes)}, ${expected}`);
  }
  for (const value of values) checked(name, value);
  const strides = contiguousStrides(axes);
  return (index) =>
    values[axes.reduce((at, length, i) => at + (length === 1 ? 0 : index[offset + i] * strides[i]), 0)];
}

function checked(name: string, value: number): number {
  if (value > 0 && value < Infinity) return value;
  throw new RangeError(`odeint: ${name} is ${value}, expected a positive, finite number`);
}
