/** Reads and writes at positions given by a tensor. */
import { formatShape, ShapeError } from "../../device/shape.ts";
import { allocateView, copy, makeContiguous, numberView } from "../../device/view.ts";
import type { Tensor } from "../tensor.ts";
import { alongBatch } from "../batching.ts";
import { apply, type Primitive, type TensorSpec } from "../primitive.ts";
import { forEachInput } from "../reverse.ts";

function checkIndices(operation: string, { shape, dtype }: TensorSpec) {
  if (dtype !== "int32" || shape.length !== 1) {
    throw new ShapeError(
      `${operation}: indices must be int32 with one axis, got ${dtype} ${formatShape(shape)}`,
    );
  }
}

/** Takes elements of (outer, size, inner) at indices (count); the result is (outer, count, inner). */
export const gather: Primitive<void> = {
  name: "gather",
  infer([{ shape: [outer, _, inner], dtype }, indices]) {
    checkIndices("take", indices);
    return { shape: [outer, indices.shape[0], inner], dtype };
  },
  run(device, [view, indices], _, { shape, dtype }) {
    const output = allocateView(device, shape, dtype);
    device.gather(makeContiguous(device, view), makeContiguous(device, indices), output);
    return output;
  },
  reverse: forEachInput(
    (g, [x, indices]) => apply(scatterAdd, [g, indices], { size: x.shape[1] }),
    "zero",
  ),
  batch([x, indices], batch, _, { shape: [outer, count, inner] }) {
    const size = x.tensor.shape.at(-2)!;
    if (!indices.varies) {
      const rows = x.tensor.reshape([batch * outer, size, inner]);
      return apply(gather, [rows, indices.tensor], undefined).reshape([batch, outer, count, inner]);
    }
    const gathered = x.varies
      ? apply(gather, [besideRows(x.tensor), indicesOfBatch(indices.tensor, size)], undefined)
      : apply(gather, [x.tensor, indices.tensor.reshape([batch * count])], undefined);
    return gathered.reshape([outer, batch, count, inner]).permute([1, 0, 2, 3]);
  },
  lower: "gather",
};

/** `(batch, outer, rows, inner)` to `(outer, batch * rows, inner)`. */
function besideRows(x: Tensor): Tensor {
  const [batch, outer, rows, inner] = x.shape;
  return x.permute([1, 0, 2, 3]).reshape([outer, batch * rows, inner]);
}

/** Indices `(batch, count)` into an axis of length `size` as indices `(batch * count)` into one of length `batch * size`. */
export function indicesOfBatch(indices: Tensor, size: number): Tensor {
  const starts = indices.zerosLike().slice(1, 0, 1).add(1).cumsum(0).sub(1).mul(size);
  // An index out of range must not read a row of another member of the batch.
  const isOutside = indices.less(0).or(indices.greaterEqual(size));
  return isOutside.where(-1, indices.add(starts)).flatten();
}

/** Adds updates (outer, count, inner) at indices (count) to zeros (outer, size, inner). */
export const scatterAdd: Primitive<{ size: number }> = {
  name: "scatterAdd",
  infer([{ shape: [outer, count, inner], dtype }, indices], { size }) {
    checkIndices("scatterAdd", indices);
    if (indices.shape[0] !== count) {
      throw new ShapeError(
        `scatterAdd: updates have ${count} rows, expected ${indices.shape[0]}, one for each index`,
      );
    }
    return { shape: [outer, size, inner], dtype };
  },
  run(device, [updates, indices], _, { shape, dtype }) {
    const output = copy(device, numberView(0, shape, dtype));
    device.scatterAdd(makeContiguous(device, updates), makeContiguous(device, indices), output);
    return output;
  },
  reverse: forEachInput(
    (g, [, indices], _output, { size }) => {
      // The operation ignores indices out of range, so their gradient is zero.
      const isInside = indices.greaterEqual(0).and(indices.less(size)).expandDims([0, 2]);
      return isInside.where(apply(gather, [g, indices], undefined), 0);
    },
    "zero",
  ),
  batch([updates, indices], batch, { size }, { shape: [outer, , inner] }) {
    const all = alongBatch(updates, batch);
    if (!indices.varies) {
      const rows = all.reshape([batch * outer, all.shape[2], inner]);
      return apply(scatterAdd, [rows, indices.tensor], { size }).reshape([batch, outer, size, inner]);
    }
    return apply(scatterAdd, [besideRows(all), indicesOfBatch(indices.tensor, size)], { size: batch * size })
      .reshape([outer, batch, size, inner]).permute([1, 0, 2, 3]);
  },
  lower: { none: "loops have no kernel for scatter-add" },
};
