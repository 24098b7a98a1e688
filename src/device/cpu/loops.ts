/** Device operations as plain loops over typed arrays: those that models use rarely, or on few elements. */
import type { BufferView, Reduction, View } from "../device.ts";
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

export function reduce(reduction: Reduction, input: BufferView, output: BufferView, of: Words): void {
  const [x, y] = [of(input), of(output)];
  const initial = reduction === "sum" ? 0 : reduction === "max" ? -Infinity : Infinity;
  const sums = new Float64Array(sizeOf(output.shape)).fill(initial);
  const over = { ...output, strides: output.strides.map((s, i) => output.shape[i] === 1 ? 0 : s) };
  walk(input.shape, [input, over], [x.start, 0], ([i, o]) => {
    const v = x.words[i];
    sums[o] = reduction === "sum"
      ? sums[o] + v
      : reduction === "max"
      ? Math.max(sums[o], v)
      : Math.min(sums[o], v);
  });
  for (let i = 0; i < sums.length; i++) y.words[y.start + i] = sums[i];
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

export function tridiagonal(
  lower: BufferView,
  diagonal: BufferView,
  upper: BufferView,
  rhs: BufferView,
  output: BufferView,
  of: Words,
): void {
  const [l, d, u, r, x] = [lower, diagonal, upper, rhs, output].map(of);
  const [systems, n] = rhs.shape;
  const at = (view: BufferView, start: number, s: number, i: number) =>
    start + (view.shape[0] === 1 ? 0 : s * view.strides[0]) + i * view.strides[1];
  const c = new Float64Array(n);
  for (let s = 0; s < systems; s++) {
    let previous = 0;
    for (let i = 0; i < n; i++) {
      const low = i > 0 ? l.words[at(lower, l.start, s, i)] : 0;
      const pivot = d.words[at(diagonal, d.start, s, i)] - low * (i > 0 ? c[i - 1] : 0);
      c[i] = i + 1 < n ? u.words[at(upper, u.start, s, i)] / pivot : 0;
      previous = (r.words[at(rhs, r.start, s, i)] - low * previous) / pivot;
      x.words[at(output, x.start, s, i)] = previous;
    }
    for (let i = n - 2; i >= 0; i--) {
      x.words[at(output, x.start, s, i)] -= c[i] * x.words[at(output, x.start, s, i + 1)];
    }
  }
}
