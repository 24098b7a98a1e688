/** Operations along axes. */
import type { Reduction } from "../../device/device.ts";
import { contiguousStrides, type Shape, ShapeError } from "../../device/shape.ts";
import { allocateView, materialize } from "../../device/view.ts";
import { afterBatch } from "../batching.ts";
import { apply, type Primitive, type Reverse } from "../primitive.ts";
import { forEachInput } from "../reverse.ts";

interface Axes {
  readonly axes: readonly number[];
}

function dropAxes(shape: Shape, axes: readonly number[]): number[] {
  return shape.filter((_, axis) => !axes.includes(axis));
}

function reduction(name: Reduction, reverse: Reverse<Axes>): Primitive<Axes> {
  const primitive: Primitive<Axes> = {
    name,
    infer([{ shape, dtype }], { axes }) {
      if (dtype === "bool") throw new TypeError(`${name}: takes numbers, got bool; cast first`);
      if (name !== "sum" && axes.some((axis) => shape[axis] === 0)) {
        throw new ShapeError(`${name}: an axis of length zero has no ${name}imum`);
      }
      return { shape: dropAxes(shape, axes), dtype };
    },
    run(device, [view], { axes }, { shape, dtype }) {
      const kept = view.shape.map((length, axis) => axes.includes(axis) ? 1 : length);
      const output = allocateView(device, kept, dtype);
      device.reduce(name, materialize(device, view), output);
      return { ...output, shape, strides: contiguousStrides(shape) };
    },
    reverse,
    batch: ([x], _batch, { axes }) => apply(primitive, [x.tensor], { axes: afterBatch(axes) }),
    lower: "reduce",
  };
  return primitive;
}

export const sum: Primitive<Axes> = reduction(
  "sum",
  forEachInput((g, [x], _, { axes }) => g.expandDims(axes).broadcastTo(x.shape)),
);

/** Elements equal to the result, NaN included, share the gradient equally. Others get 0, even if the cotangent is not finite. */
const shareAmongEqual: Reverse<Axes> = forEachInput((g, [x], y, { axes }) => {
  const isChosen = x.equal(y.expandDims(axes)).or(x.isNaN());
  return isChosen.where(g.div(isChosen.cast(x.dtype).sum(axes)).expandDims(axes), 0);
});
export const max: Primitive<Axes> = reduction("max", shareAmongEqual);
export const min: Primitive<Axes> = reduction("min", shareAmongEqual);

/** The position of the first largest or smallest element. */
export const argReduce: Primitive<{ reduction: "max" | "min"; axis: number }> = {
  name: "argReduce",
  infer([{ shape }], { reduction, axis }) {
    if (shape[axis] === 0) throw new ShapeError(`arg${reduction}: axis ${axis} has length zero`);
    return { shape: dropAxes(shape, [axis]), dtype: "int32" };
  },
  run(device, [view], { reduction, axis }, { shape, dtype }) {
    const output = allocateView(device, view.shape.map((length, i) => i === axis ? 1 : length), dtype);
    device.argReduce(reduction, materialize(device, view), axis, output);
    return { ...output, shape, strides: contiguousStrides(shape) };
  },
  reverse: "zero",
  batch: ([x], _batch, { reduction, axis }) => apply(argReduce, [x.tensor], { reduction, axis: axis + 1 }),
  lower: { none: "loops have no kernel for the position of an extreme element" },
};

export const cumulativeSum: Primitive<{ axis: number }> = {
  name: "cumsum",
  infer([{ shape, dtype }]) {
    if (dtype === "bool") throw new TypeError("cumsum: takes numbers, got bool; cast first");
    return { shape, dtype };
  },
  run(device, [view], { axis }, { shape, dtype }) {
    const output = allocateView(device, shape, dtype);
    device.cumulativeSum(materialize(device, view), axis, output);
    return output;
  },
  reverse: forEachInput((g, _inputs, _output, { axis }) => g.flip(axis).cumsum(axis).flip(axis)),
  batch: ([x], _batch, { axis }) => x.tensor.cumsum(axis + 1),
  lower: { none: "loops have no kernel for cumulative sums" },
};
