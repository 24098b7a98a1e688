/** Arithmetic of shapes and strides, without tensors. */
import { describe } from "./describe.ts";

/** Lengths of the axes of a tensor, outermost first. A scalar has the shape `[]`. */
export type Shape = readonly number[];

/** A shape mismatch, a bad axis or a bad index. */
export class ShapeError extends Error {
  /** `"ShapeError"`. */
  override name = "ShapeError";
}

/** @throws {ShapeError} Always. @param what Name of the value with the shape, such as `"Linear: x"`. */
export function refuseShape(what: string, shape: Shape, expected: string): never {
  throw new ShapeError(`${what} of shape ${formatShape(shape)}, expected ${expected}`);
}

/** Number of elements of a shape. */
export function sizeOf(shape: Shape): number {
  let size = 1;
  for (let axis = 0; axis < shape.length; axis++) size *= shape[axis];
  return size;
}

/** Maximum number of elements of a tensor: 4 TiB of float32. */
const maxElements = 2 ** 40;

/**
 * Copies a shape, so that later changes of the caller's array have no effect.
 *
 * @throws {ShapeError} If a length is invalid, or the number of elements exceeds the maximum.
 */
export function checkedShape(operation: string, shape: Shape): Shape {
  checkShapeList(operation, shape);
  if (!shape.every((length) => Number.isInteger(length) && length >= 0)) {
    throw new ShapeError(`${operation}: shape ${formatShape(shape)}, expected whole numbers from 0`);
  }
  if (sizeOf(shape) > maxElements) {
    throw new ShapeError(
      `${operation}: shape ${formatShape(shape)} has more elements than a tensor can have`,
    );
  }
  return [...shape];
}

/** @throws {TypeError} If a shape is not an array of numbers. */
function checkShapeList(operation: string, shape: Shape): void {
  if (!Array.isArray(shape)) {
    throw new ShapeError(`${operation}: expected a shape such as [2, 3], got ${describe(shape)}`);
  }
  const wrong = shape.findIndex((length) => typeof length !== "number");
  if (wrong >= 0) {
    throw new ShapeError(
      `${operation}: the length ${
        describe(shape[wrong])
      } of axis ${wrong} is not a number, expected a shape such as [2, 3]`,
    );
  }
}

/** Formats a shape as `(2, 3)`. */
export function formatShape(shape: Shape): string {
  return `(${shape.join(", ")}${shape.length === 1 ? "," : ""})`;
}

/** Strides of a contiguous row-major array, in elements. */
export function contiguousStrides(shape: Shape): number[] {
  const strides = new Array<number>(shape.length);
  for (let axis = shape.length - 1, stride = 1; axis >= 0; stride *= shape[axis--]) strides[axis] = stride;
  return strides;
}

/** Whether the elements are contiguous in row-major order. */
export function isContiguous(shape: Shape, strides: readonly number[]): boolean {
  for (let axis = shape.length - 1, expected = 1; axis >= 0; axis--) {
    if (shape[axis] !== 1 && strides[axis] !== expected) return sizeOf(shape) === 0;
    expected *= shape[axis];
  }
  return true;
}

export function sameShape(a: Shape, b: Shape): boolean {
  if (a.length !== b.length) return false;
  for (let axis = 0; axis < a.length; axis++) if (a[axis] !== b[axis]) return false;
  return true;
}

/** Exchanges the last two lengths or strides. */
export function swapLast(list: readonly number[]): number[] {
  return [...list.slice(0, -2), list.at(-1)!, list.at(-2)!];
}

/** The axis as a position from the front. Negative axes count from the end. */
export function normalizeAxis(axis: number, rank: number, operation: string): number {
  if (typeof axis !== "number") {
    throw new TypeError(`${operation}: the axis is ${describe(axis)}, expected a whole number`);
  }
  const positive = axis < 0 ? axis + rank : axis;
  if (!Number.isInteger(axis) || positive < 0 || positive >= rank) {
    throw new ShapeError(`${operation}: axis ${axis} is outside a tensor of ${rank} axes`);
  }
  return positive;
}

/** The axes as sorted positions from the front. Default: all axes. */
export function normalizeAxes(
  axes: number | readonly number[] | undefined,
  rank: number,
  operation: string,
): number[] {
  if (axes === undefined) return Array.from({ length: rank }, (_, axis) => axis);
  if (typeof axes !== "number" && !Array.isArray(axes)) {
    throw new TypeError(
      `${operation}: the axes are ${
        describe(axes)
      }, expected a whole number or an array of them, before any options`,
    );
  }
  const list = (typeof axes === "number" ? [axes] : axes as readonly number[])
    .map((axis) => normalizeAxis(axis, rank, operation));
  if (new Set(list).size !== list.length) {
    throw new ShapeError(`${operation}: axes [${axes}] name an axis twice`);
  }
  return list.sort((a, b) => a - b);
}

/** NumPy's broadcasting: axes are aligned at the last axis, and axes of length one are repeated. */
export function broadcastShapes(shapes: readonly Shape[], operation: string): number[] {
  let rank = 0;
  for (const shape of shapes) rank = Math.max(rank, shape.length);
  const result = new Array<number>(rank).fill(1);
  for (const shape of shapes) {
    const shift = rank - shape.length;
    for (let axis = 0; axis < shape.length; axis++) {
      const length = shape[axis];
      if (length === 1 || length === result[axis + shift]) continue;
      if (result[axis + shift] !== 1) {
        throw new ShapeError(
          `${operation}: shapes ${shapes.map(formatShape).join(" and ")} do not broadcast together`,
        );
      }
      result[axis + shift] = length;
    }
  }
  return result;
}

/** Strides of an array that is broadcast to a larger shape. */
export function broadcastStrides(shape: Shape, strides: readonly number[], target: Shape): number[] {
  const shift = target.length - shape.length;
  return target.map((length, axis) =>
    axis < shift || shape[axis - shift] !== length ? 0 : strides[axis - shift]
  );
}

/** Replaces a length of -1 in a new shape for the same elements. */
export function resolveReshape(from: Shape, to: Shape): number[] {
  checkShapeList("reshape", to);
  const size = sizeOf(from);
  const unknown = to.filter((length) => length === -1).length;
  const fixedSize = to.reduce((product, length) => length === -1 ? product : product * length, 1);
  const valid = to.every((length) => Number.isInteger(length) && length >= -1) && unknown <= 1 &&
    (unknown === 0 ? fixedSize === size : fixedSize > 0 && size % fixedSize === 0);
  if (!valid) {
    throw new ShapeError(
      `reshape: ${size} elements of shape ${formatShape(from)} do not fit ${formatShape(to)}`,
    );
  }
  return to.map((length) => length === -1 ? size / fixedSize : length);
}

/** Strides of an array under another shape. Returns undefined if the new shape requires a copy. */
export function reshapeStrides(
  shape: Shape,
  strides: readonly number[],
  target: Shape,
): number[] | undefined {
  if (isContiguous(shape, strides)) return contiguousStrides(target);
  // Axes of length one do not matter: inserting or removing them never requires a copy.
  const source = shape.map((length, axis) => ({ length, stride: strides[axis] })).filter(({ length }) =>
    length !== 1
  );
  const result: number[] = [];
  let next = 0;
  for (const length of target) {
    if (length === 1) result.push(0);
    else if (next < source.length && source[next].length === length) result.push(source[next++].stride);
    else return undefined;
  }
  return next === source.length ? result : undefined;
}
