import {
  checkedShape,
  formatShape,
  normalizeAxes,
  normalizeAxis,
  resolveReshape,
  sameShape,
  ShapeError,
  sizeOf,
} from "../../device/shape.ts";
import { describe } from "../../device/describe.ts";
import { apply } from "../primitive.ts";
import * as structural from "../primitives/structural.ts";
import { numberTensor, type Tensor } from "../tensor.ts";

/** Rejects axes that are not an array. */
function checkAxisList(operation: string, axes: readonly number[]): void {
  if (Array.isArray(axes)) return;
  throw new TypeError(`${operation}: the axes are ${describe(axes)}, expected an array of whole numbers`);
}

/** Methods of {@linkcode Tensor} that move, repeat or select elements. */
export const structuralMethods = {
  reshape(shape) {
    const target = resolveReshape(this.shape, shape);
    return sameShape(target, this.shape) ? this : apply(structural.reshape, [this], { shape: target });
  },
  flatten(first = 0, last = -1) {
    if (this.rank === 0) return this.reshape([1]);
    const [from, to] = [first, last].map((axis) => normalizeAxis(axis, this.rank, "flatten"));
    if (from > to) {
      throw new ShapeError(`flatten: axis ${first} comes after axis ${last} in ${formatShape(this.shape)}`);
    }
    return this.reshape([
      ...this.shape.slice(0, from),
      sizeOf(this.shape.slice(from, to + 1)),
      ...this.shape.slice(to + 1),
    ]);
  },
  permute(axes) {
    checkAxisList("permute", axes);
    const order = axes.map((axis) => normalizeAxis(axis, this.rank, "permute"));
    if (order.length !== this.rank || new Set(order).size !== this.rank) {
      throw new ShapeError(
        `permute: axes [${axes}] do not name each axis of ${formatShape(this.shape)} once`,
      );
    }
    return order.every((axis, i) => axis === i) ? this : apply(structural.permute, [this], { axes: order });
  },
  transpose(a = -2, b = -1) {
    const order = this.shape.map((_, axis) => axis);
    const [i, j] = [a, b].map((axis) => normalizeAxis(axis, this.rank, "transpose"));
    [order[i], order[j]] = [order[j], order[i]];
    return this.permute(order);
  },
  expandDims(axes) {
    if (typeof axes !== "number") checkAxisList("expandDims", axes);
    const count = typeof axes === "number" ? 1 : axes.length;
    const added = normalizeAxes(axes, this.rank + count, "expandDims");
    const rest = [...this.shape];
    return this.reshape(
      Array.from({ length: this.rank + count }, (_, axis) => added.includes(axis) ? 1 : rest.shift()!),
    );
  },
  squeeze(axes) {
    const removed = axes === undefined
      ? this.shape.flatMap((length, axis) => length === 1 ? [axis] : [])
      : normalizeAxes(axes, this.rank, "squeeze");
    const long = removed.find((axis) => this.shape[axis] !== 1);
    if (long !== undefined) {
      throw new ShapeError(`squeeze: axis ${long} of ${formatShape(this.shape)} does not have length one`);
    }
    return this.reshape(this.shape.filter((_, axis) => !removed.includes(axis)));
  },
  broadcastTo(shape) {
    if (Array.isArray(shape) && sameShape(shape, this.shape)) return this;
    return apply(structural.broadcastTo, [this], { shape: checkedShape("broadcastTo", shape) });
  },
  slice(axis, start, end, step = 1) {
    const along = normalizeAxis(axis, this.rank, "slice");
    if (!Number.isInteger(step) || step === 0) {
      throw new ShapeError(`slice: step is ${describe(step)}, expected a whole number other than zero`);
    }
    const bad = [start, end].find((position) => position !== undefined && !Number.isInteger(position));
    if (bad !== undefined) throw new ShapeError(`slice: position ${describe(bad)} is not a whole number`);
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
  },
  select(axis, position) {
    const along = normalizeAxis(axis, this.rank, "select");
    if (typeof position !== "number") {
      throw new TypeError(
        `select: the position is ${
          describe(position)
        }, expected a whole number after the axis, as in select(0, 1)`,
      );
    }
    const from = position < 0 ? position + this.shape[along] : position;
    if (!Number.isInteger(position) || from < 0 || from >= this.shape[along]) {
      throw new ShapeError(
        `select: position ${position} is outside axis ${axis} of ${formatShape(this.shape)}`,
      );
    }
    return this.slice(along, from, from + 1).squeeze(along);
  },
  flip(axis) {
    return this.slice(normalizeAxis(axis, this.rank, "flip"), undefined, undefined, -1);
  },
  tile(repeats) {
    const counts = typeof repeats === "number" ? [repeats] : repeats;
    checkedShape("tile", counts);
    const rank = Math.max(this.rank, counts.length);
    const lengths = [...Array(rank - this.rank).fill(1), ...this.shape];
    const times = [...Array(rank - counts.length).fill(1), ...counts];
    const pairs = (first: readonly number[]) => lengths.flatMap((length, axis) => [first[axis], length]);
    return this.reshape(pairs(Array(rank).fill(1))).broadcastTo(pairs(times))
      .reshape(lengths.map((length, axis) => times[axis] * length));
  },
  pad(widths, value = 0) {
    const isPair = (pair: unknown) =>
      Array.isArray(pair) && pair.length === 2 &&
      pair.every((width) => Number.isInteger(width) && width >= 0);
    if (!Array.isArray(widths) || widths.length !== this.rank || !widths.every(isPair)) {
      const actual = Array.isArray(widths)
        ? `[${widths.map((pair) => isPair(pair) ? `[${pair}]` : describe(pair))}]`
        : describe(widths);
      throw new ShapeError(
        `pad: widths ${actual} for a tensor of ${this.rank} axes, expected [before, after] for each axis`,
      );
    }
    if (typeof value !== "number") {
      throw new TypeError(`pad: the value is ${describe(value)}, expected a number`);
    }
    const grid = {
      shape: this.shape.map((length, axis) => length + widths[axis][0] + widths[axis][1]),
      starts: widths.map(([before]) => before),
      steps: widths.map(() => 1),
    };
    const padded = apply(structural.pad, [this], grid);
    if (value === 0) return padded;
    const inside = apply(structural.pad, [numberTensor(1, "bool").broadcastTo(this.shape)], grid);
    return inside.where(padded, value);
  },
} satisfies Partial<Tensor> & ThisType<Tensor>;
