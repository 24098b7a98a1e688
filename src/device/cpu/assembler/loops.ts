/** Operations along an axis as plain loops over typed arrays: models use them rarely, or on few elements. */
import { collapse } from "../../collapse.ts";
import type { TypedArray } from "../../dtype.ts";
import { sizeOf } from "../../shape.ts";

/** A view of words of the entire memory. */
export interface HostView {
  /** The memory as it is now: it is another array when it has grown. */
  readonly words: () => TypedArray;
  readonly start: number;
  readonly shape: readonly number[];
  readonly strides: readonly number[];
}

/** Calls `visit` with the places in two views where each line along an axis begins. */
function forLines(
  [x, y]: readonly [HostView, HostView],
  axis: number,
  visit: (from: number, to: number) => void,
): void {
  const shape = x.shape.map((length, i) => i === axis ? Math.min(1, y.shape[i]) : length);
  const walk = collapse(shape, [x.strides, y.strides]);
  const last = walk.shape.length - 1;
  const [count, [xStrides, yStrides]] = [walk.shape[last], walk.strides];
  const rows = count > 0 ? sizeOf(walk.shape) / count : 0;
  for (let row = 0; row < rows; row++) {
    let [from, to, rest] = [x.start, y.start, row];
    for (let i = last - 1; i >= 0; i--) {
      const position = rest % walk.shape[i];
      rest = (rest - position) / walk.shape[i];
      from += position * xStrides[i];
      to += position * yStrides[i];
    }
    for (let i = 0; i < count; i++) visit(from + i * xStrides[last], to + i * yStrides[last]);
  }
}

/** See `Device.argReduce`. */
export function argReduce(
  reduction: "max" | "min",
  axis: number,
  [input, output]: readonly [HostView, HostView],
): void {
  const [x, y] = [input.words(), output.words()];
  const [length, stride] = [input.shape[axis], input.strides[axis]];
  const sign = reduction === "max" ? 1 : -1;
  forLines([input, output], axis, (from, to) => {
    let best = 0;
    let extreme = sign * x[from];
    for (let k = 1, at = from + stride; k < length; k++, at += stride) {
      const value = sign * x[at];
      // NaN counts as more extreme than any number, as the maximum takes it.
      if (value > extreme || value !== value && extreme === extreme) [best, extreme] = [k, value];
    }
    y[to] = best;
  });
}

/** See `Device.cumulativeSum`. Sums of float32 are carried in float64. */
export function cumulativeSum(axis: number, [input, output]: readonly [HostView, HostView]): void {
  const [x, y] = [input.words(), output.words()];
  const [length, stride, step] = [input.shape[axis], input.strides[axis], output.strides[axis]];
  forLines([input, output], axis, (from, to) => {
    let sum = 0;
    for (let k = 0; k < length; k++, from += stride, to += step) y[to] = sum += x[from];
  });
}
