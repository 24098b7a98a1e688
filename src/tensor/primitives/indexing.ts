/** Reading and writing at positions that are themselves data. */
import { formatShape, ShapeError } from "../../device/shape.ts";
import { allocateView, copy, makeContiguous, numberView } from "../../device/view.ts";
import { apply, type Primitive, type TensorSpec } from "../primitive.ts";
import { forEachInput } from "../pullback.ts";

function checkIndices(operation: string, { shape, dtype }: TensorSpec) {
  if (dtype !== "int32" || shape.length !== 1) {
    throw new ShapeError(
      `${operation}: indices must be int32 of one axis, got ${dtype} ${formatShape(shape)}`,
    );
  }
}

/** (outer, size, inner) at indices (count): (outer, count, inner). */
export const gather: Primitive<void> = {
  name: "gather",
  infer([{ shape: [outer, _, inner], dtype }, indices]) {
    checkIndices("gather", indices);
    return { shape: [outer, indices.shape[0], inner], dtype };
  },
  run(device, [view, indices], _, { shape, dtype }) {
    const output = allocateView(device, shape, dtype);
    device.gather(makeContiguous(device, view), makeContiguous(device, indices), output);
    return output;
  },
  pullback: forEachInput(
    (g, [x, indices]) => apply(scatterAdd, [g, indices], { size: x.shape[1] }),
    "none",
  ),
};

/** Zeros (outer, size, inner) to which updates (outer, count, inner) are added at indices (count). */
export const scatterAdd: Primitive<{ size: number }> = {
  name: "scatterAdd",
  infer([{ shape: [outer, count, inner], dtype }, indices], { size }) {
    checkIndices("scatterAdd", indices);
    if (indices.shape[0] !== count) {
      throw new ShapeError(`scatterAdd: ${count} rows of updates for ${indices.shape[0]} indices`);
    }
    return { shape: [outer, size, inner], dtype };
  },
  run(device, [updates, indices], _, { shape, dtype }) {
    const output = copy(device, numberView(0, shape, dtype));
    device.scatterAdd(makeContiguous(device, updates), makeContiguous(device, indices), output);
    return output;
  },
  pullback: forEachInput(
    (g, [, indices], _output, { size }) => {
      // Contributions of indices out of range were dropped.
      const isInside = indices.greaterEqual(0).and(indices.less(size)).expandDims([0, 2]);
      return isInside.where(apply(gather, [g, indices], undefined), 0);
    },
    "none",
  ),
};
