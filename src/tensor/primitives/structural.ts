/** Operations that rearrange elements and compute nothing. Most return a view. */
import type { View } from "../../device/device.ts";
import { identity } from "../../device/scalar/scalar.ts";
import {
  broadcastShapes,
  broadcastStrides,
  contiguousStrides,
  formatShape,
  reshapeStrides,
  resolveReshape,
  sameShape,
  type Shape,
  ShapeError,
} from "../../device/shape.ts";
import { allocateView, copy, derived, hasBuffer, makeContiguous, numberView } from "../../device/view.ts";
import { afterBatch, alongBatch } from "../batching.ts";
import { apply, type Primitive } from "../primitive.ts";
import { forEachInput } from "../reverse.ts";

export const reshape: Primitive<{ shape: Shape }> = {
  name: "reshape",
  infer: ([{ shape, dtype }], params) => ({ shape: resolveReshape(shape, params.shape), dtype }),
  run(device, [view], _, { shape }) {
    // A view of a number has no memory, so any shape is valid.
    const strides = hasBuffer(view) ? reshapeStrides(view.shape, view.strides, shape) : shape.map(() => 0);
    if (strides) return derived(view, { shape, strides });
    return { ...makeContiguous(device, view), shape, strides: contiguousStrides(shape) };
  },
  reverse: forEachInput((g, [x]) => g.reshape(x.shape)),
  batch: ([x], batch, _, { shape }) => x.tensor.reshape([batch, ...shape]),
  lower: "reshape",
};

export const permute: Primitive<{ axes: readonly number[] }> = {
  name: "permute",
  infer: ([{ shape, dtype }], { axes }) => ({ shape: axes.map((axis) => shape[axis]), dtype }),
  run: (_device, [view], { axes }, { shape }) =>
    derived(view, { shape, strides: axes.map((axis) => view.strides[axis]) }),
  reverse: forEachInput((g, _inputs, _output, { axes }) =>
    g.permute(axes.map((_, axis) => axes.indexOf(axis)))
  ),
  batch: ([x], _batch, { axes }) => x.tensor.permute([0, ...afterBatch(axes)]),
  lower: "permute",
};

export const broadcastTo: Primitive<{ shape: Shape }> = {
  name: "broadcastTo",
  infer([{ shape, dtype }], params) {
    if (!sameShape(broadcastShapes([shape, params.shape], "broadcastTo"), params.shape)) {
      throw new ShapeError(
        `broadcastTo: ${formatShape(shape)} does not broadcast to ${formatShape(params.shape)}`,
      );
    }
    return { shape: params.shape, dtype };
  },
  run: (_device, [view], _, { shape }) => ({
    ...view,
    shape,
    strides: broadcastStrides(view.shape, view.strides, shape),
  }),
  reverse: forEachInput((g, [x]) => {
    const added = g.rank - x.rank;
    const stretched = g.shape.flatMap((length, axis) =>
      axis >= added && x.shape[axis - added] === length ? [] : [axis]
    );
    return stretched.length === 0 ? g : g.sum(stretched).reshape(x.shape);
  }),
  batch([{ tensor }], batch, _, { shape }) {
    const [, ...from] = tensor.shape;
    const aligned = [batch, ...Array(shape.length - from.length).fill(1), ...from];
    return tensor.reshape(aligned).broadcastTo([batch, ...shape]);
  },
  lower: "broadcastTo",
};

/** A regular grid of positions in a larger array: on each axis `start`, `start + step`, ... */
export interface Grid {
  readonly starts: readonly number[];
  readonly steps: readonly number[];
}

function gridView(view: View, { starts, steps }: Grid, shape: Shape): View {
  return derived(view, {
    shape,
    strides: view.strides.map((stride, axis) => stride * steps[axis]),
    offset: view.strides.reduce((offset, stride, axis) => offset + stride * starts[axis], view.offset),
  });
}

/** The grid in the array of a batch, the same for each member. */
function batchGrid({ shape, starts, steps }: Grid & { shape: Shape }, batch: number) {
  return { shape: [batch, ...shape], starts: [0, ...starts], steps: [1, ...steps] };
}

/** Reads the elements on a grid. */
export const slice: Primitive<Grid & { shape: Shape }> = {
  name: "slice",
  infer: ([{ dtype }], { shape }) => ({ shape, dtype }),
  run: (_device, [view], grid, { shape }) => gridView(view, grid, shape),
  reverse: forEachInput((g, [x], _, { starts, steps }) => apply(pad, [g], { shape: x.shape, starts, steps })),
  batch: ([x], batch, params) => apply(slice, [x.tensor], batchGrid(params, batch)),
  lower: "slice",
};

/** Zeros with the input's elements on a grid, as `jax.lax.pad` with interior padding: the transpose of {@linkcode slice}. */
export const pad: Primitive<Grid & { shape: Shape }> = {
  name: "pad",
  infer: ([{ dtype }], { shape }) => ({ shape, dtype }),
  run(device, [view], grid, { shape, dtype }) {
    const output = copy(device, numberView(0, shape, dtype));
    device.map(identity, [view], gridView(output, grid, view.shape) as typeof output);
    return output;
  },
  reverse: forEachInput((g, [x], _, { starts, steps }) =>
    apply(slice, [g], { shape: x.shape, starts, steps })
  ),
  batch: ([x], batch, params) => apply(pad, [x.tensor], batchGrid(params, batch)),
  lower: "pad",
};

/** Joins inputs along an axis. */
export const concatenate: Primitive<{ axis: number }> = {
  name: "concatenate",
  infer(inputs, { axis }) {
    const [{ shape, dtype }] = inputs;
    for (const other of inputs) {
      const fits = other.shape.length === shape.length &&
        other.shape.every((length, i) => i === axis || length === shape[i]);
      if (!fits || other.dtype !== dtype) {
        const all = inputs.map((x) => `${x.dtype} ${formatShape(x.shape)}`).join(", ");
        throw new ShapeError(
          `concatenate: ${all} must have the same type, and the same lengths except on axis ${axis}`,
        );
      }
    }
    const length = inputs.reduce((sum, input) => sum + input.shape[axis], 0);
    return { shape: shape.map((own, i) => i === axis ? length : own), dtype };
  },
  run(device, inputs, { axis }, { shape, dtype }) {
    const output = allocateView(device, shape, dtype);
    let start = 0;
    for (const input of inputs) {
      const offset = start * output.strides[axis];
      device.map(identity, [input], { ...output, shape: input.shape, offset });
      start += input.shape[axis];
    }
    return output;
  },
  reverse(g, inputs, _, { axis }, wanted) {
    let end = 0;
    return inputs.map(({ shape }, i) => {
      const start = end;
      end += shape[axis];
      return wanted[i] ? g.slice(axis, start, end) : undefined;
    });
  },
  batch: (inputs, batch, { axis }) =>
    apply(concatenate, inputs.map((input) => alongBatch(input, batch)), { axis: axis + 1 }),
  lower: "concatenate",
};
