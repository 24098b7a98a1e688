/** States that are trees of tensors. Solvers compute with one tensor, the concatenation of all leaves. */
import { isFloat } from "../device/dtype.ts";
import { formatShape, sameShape, ShapeError, sizeOf } from "../device/shape.ts";
import { checkTensor } from "../tensor/checks.ts";
import { concatenate } from "../tensor/functions.ts";
import { Tensor } from "../tensor/tensor.ts";
import { type Tree, treeFlatten, withLeaves } from "../tensor/tree.ts";
import type { ErrorNorm } from "./adaptive/step_control.ts";
import type { VectorField } from "./runge_kutta.ts";

/** The place of an element of a state. */
export interface StatePlace {
  /** Dotted path of the leaf, as in `layers.0.weight`; empty if the state is a tensor. */
  readonly leaf: string;
  /** Position along the first axis of the leaf. */
  readonly sample: number;
  /** Positions along the other axes of the leaf. */
  readonly index: readonly number[];
}

/** The layout of packed states of one structure. A state that is a tensor needs no packing. */
export interface PackedState<S extends Tree> {
  /** The first state, packed: `(n)`, or `(batch, n)` if the leaves share a first axis. */
  readonly y0: Tensor;
  /** The paths and shapes of the leaves. */
  readonly leaves: readonly (readonly [path: string, shape: readonly number[]])[];
  /** Packs the slopes of a vector field. @throws {TypeError | ShapeError} If structure, shapes or types differ from the state. */
  readonly pack: (slopes: S) => Tensor;
  /** The tree of a packed state, or of states along leading axes. */
  readonly unpack: (packed: Tensor, leadingAxes?: number) => S;
  /** The time for the vector field: one time for all samples, or one per sample that broadcasts against the leaves. */
  readonly timeOf: (t: Tensor) => Tensor;
  /** The place of an element, from its position in the packed state. */
  readonly locate: (position: number) => StatePlace;
}

/**
 * Packs a first state.
 *
 * @param norm With `"sample"`, packed states are `(batch, n)`.
 * @throws {TypeError} If the tree has no tensor, or not all are of one float type.
 * @throws {ShapeError} If the norm is `"sample"` and leaves do not share a first axis.
 */
export function packState<S extends Tree>(
  tree: S,
  operation: string,
  norm: ErrorNorm = "batch",
): PackedState<S> {
  const leaves = treeFlatten(tree);
  if (leaves.length === 0) checkTensor(`${operation}: y0`, tree);
  const { dtype } = leaves[0][1];
  for (const [path, x] of leaves) checkType(operation, path, x, dtype);
  const shapes = leaves.map(([, { shape }]) => shape);
  const isLone = leaves.length === 1;
  const batch = shapes[0][0];
  const hasBatch = shapes.every((shape) => shape.length > 0 && shape[0] === batch);
  if (!isLone && norm === "sample" && !hasBatch) {
    throw new ShapeError(
      `${operation}: norm "sample" needs leaves with the same first axis, got ${
        shapes.map(formatShape).join(", ")
      }`,
    );
  }
  // Leaves of one axis are vectors, unless each element is a sample.
  const isRows = hasBatch && (norm === "sample" || shapes.some(({ length }) => length > 1));
  const sizes = shapes.map((shape) => sizeOf(isRows ? shape.slice(1) : shape));
  const starts = sizes.map((_, i) => sizes.slice(0, i).reduce((sum, size) => sum + size, 0));
  const rank = shapes.reduce((largest, { length }) => Math.max(largest, length), 0);

  const join = (tensors: readonly Tensor[]) =>
    isLone
      ? tensors[0]
      : concatenate(tensors.map((x, i) => x.reshape(isRows ? [batch, sizes[i]] : [sizes[i]])), -1);
  const split = (packed: Tensor, leadingAxes: number) => {
    if (isLone) return [packed];
    const leading = packed.shape.slice(0, leadingAxes);
    return shapes.map((shape, i) =>
      packed.slice(packed.rank - 1, starts[i], starts[i] + sizes[i]).reshape([...leading, ...shape])
    );
  };
  return {
    y0: join(leaves.map(([, x]) => x)),
    leaves: leaves.map(([path, { shape }]) => [path, shape]),
    pack: (slopes) => tree instanceof Tensor ? slopes as Tensor : join(slopesOf(slopes, leaves)),
    unpack: (packed, leadingAxes = 0) => withLeaves(tree, split(packed, leadingAxes)),
    timeOf: (t) => isLone || t.rank === 0 ? t : t.reshape([batch, ...Array(rank - 1).fill(1)]),
    locate(position) {
      const width = starts[starts.length - 1] + sizes[sizes.length - 1];
      const [row, column] = [Math.floor(position / width), position % width];
      const i = starts.findLastIndex((start) => start <= column);
      const [sample = 0, ...index] = positionsAlong(shapes[i], row * sizes[i] + column - starts[i]);
      return { leaf: leaves[i][0], sample, index };
    },
  };
}

/** Converts a vector field of trees to a vector field of packed states. */
export function packField<S extends Tree>(state: PackedState<S>, f: VectorField<S>): VectorField {
  return (t, y) => state.pack(f(state.timeOf(t), state.unpack(y)));
}

function checkType(operation: string, path: string, { dtype }: Tensor, expected: string): void {
  const name = path === "" ? "y0" : `y0.${path}`;
  if (!isFloat(dtype)) {
    throw new TypeError(
      `${operation}: ${name} is ${dtype}, expected float32 or float64; convert it with .cast("float32")`,
    );
  }
  if (dtype === expected) return;
  throw new TypeError(
    `${operation}: ${name} is ${dtype} and another leaf ${expected}; convert one with .cast("${dtype}")`,
  );
}

/** The slopes of the leaves of a state, in the order of the leaves. */
function slopesOf(slopes: Tree, leaves: readonly [path: string, leaf: Tensor][]): Tensor[] {
  const returned = new Map(treeFlatten(slopes));
  const names = [leaves.map(([path]) => path), [...returned.keys()]];
  if (returned.size !== leaves.length || names[0].some((path) => !returned.has(path))) {
    const [expected, actual] = names.map((paths) => paths.join(", ") || "no tensor");
    throw new TypeError(
      `odeint: the vector field returned ${actual} for a state of ${expected}; they must have the same structure`,
    );
  }
  return leaves.map(([path, leaf]) => {
    const slope = returned.get(path)!;
    checkSlope(slope, leaf, path);
    return slope;
  });
}

/** @throws {TypeError | ShapeError} If a slope has another type or shape than the state. */
export function checkSlope(
  slope: Tensor,
  y: Tensor,
  path = "",
  operation = "odeint: the vector field",
): void {
  const place = path === "" ? "" : ` at ${path}`;
  if (slope.dtype !== y.dtype) {
    throw new TypeError(
      `${operation} returned ${slope.dtype}${place} for a state of ${y.dtype}; they must have the same type`,
    );
  }
  if (sameShape(slope.shape, y.shape)) return;
  const [actual, expected] = [slope, y].map(({ shape }) => formatShape(shape));
  throw new ShapeError(
    `${operation} returned ${actual}${place} for a state of ${expected}; they must have the same shape`,
  );
}

/** Positions along the axes of a shape, from a position in row-major order. */
function positionsAlong(shape: readonly number[], position: number): number[] {
  return shape.toReversed().map((size) => {
    const along = position % size;
    position = (position - along) / size;
    return along;
  }).reverse();
}
