/** Device operations as plain loops over typed arrays: those that models use rarely, or on few elements. */
import type { BufferView, View } from "../device.ts";
import type { TypedArray } from "../dtype.ts";
import { sizeOf } from "../shape.ts";

/** The words of the entire memory, as a view's type has them. */
export type Words = (view: BufferView) => { words: TypedArray; start: number };

/** Calls `visit` with the offset into each view, in row-major order. */
function walk(
  shape: readonly number[],
  views: readonly View[],
  starts: number[],
  visit: (at: number[]) => void,
) {
  const size = sizeOf(shape);
  const position = shape.map(() => 0);
  const offsets = [...starts];
  for (let n = 0; n < size; n++) {
    visit(offsets);
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      const wrap = ++position[axis] === shape[axis];
      views.forEach((view, i) => offsets[i] += view.strides[axis] * (wrap ? 1 - shape[axis] : 1));
      if (!wrap) break;
      position[axis] = 0;
    }
  }
}

export function argReduce(
  reduction: "max" | "min",
  input: BufferView,
  axis: number,
  output: BufferView,
  of: Words,
): void {
  const [x, y] = [of(input), of(output)];
  const stride = input.strides[axis];
  walk(output.shape, [input, output], [x.start, y.start], ([i, o]) => {
    let best = 0;
    for (let k = 1; k < input.shape[axis]; k++) {
      const [a, b] = [x.words[i + k * stride], x.words[i + best * stride]];
      if (reduction === "max" ? a > b : a < b) best = k;
    }
    y.words[o] = best;
  });
}

export function cumulativeSum(input: BufferView, axis: number, output: BufferView, of: Words): void {
  const [x, y] = [of(input), of(output)];
  const starts = output.shape.map((length, i) => i === axis ? Math.min(length, 1) : length);
  walk(starts, [input, output], [x.start, y.start], ([i, o]) => {
    let sum = 0;
    for (let k = 0; k < input.shape[axis]; k++) {
      y.words[o + k * output.strides[axis]] = sum += x.words[i + k * input.strides[axis]];
    }
  });
}

export function gather(input: BufferView, indices: BufferView, output: BufferView, of: Words): void {
  const [x, n, y] = [input, indices, output].map(of);
  const [outer, size, inner] = input.shape;
  const count = indices.shape[0];
  for (let o = 0, to = y.start; o < outer; o++) {
    for (let i = 0; i < count; i++) {
      const at = n.words[n.start + i];
      const from = x.start + (o * size + at) * inner;
      const inside = at >= 0 && at < size;
      for (let k = 0; k < inner; k++) y.words[to++] = inside ? x.words[from + k] : NaN;
    }
  }
}

export function scatterAdd(updates: BufferView, indices: BufferView, output: BufferView, of: Words): void {
  const [x, n, y] = [updates, indices, output].map(of);
  const [outer, size, inner] = output.shape;
  const count = indices.shape[0];
  for (let o = 0, from = x.start; o < outer; o++) {
    for (let i = 0; i < count; i++, from += inner) {
      const at = n.words[n.start + i];
      if (at < 0 || at >= size) continue;
      const to = y.start + (o * size + at) * inner;
      for (let k = 0; k < inner; k++) y.words[to + k] += x.words[from + k];
    }
  }
}
