/** Large float32 products, computed blockwise by seven products instead of eight. */
import assert from "node:assert/strict";
import { createCpuDevice } from "../../src/device/cpu/device.ts";
import type { BufferView } from "../../src/device/device.ts";
import { allocateView, uploadView } from "../../src/device/view.ts";
import { randomNumbers } from "./random_views.ts";

const devices = [1, 2].map((threads) => createCpuDevice({ threads }));
type CpuDevice = typeof devices[number];

/** Odd sizes. Prepared matrices only use the first rows. */
const [few, m, k, n] = [97, 3077, 3073, 3075];

const random = randomNumbers(29);
const values = Float32Array.from({ length: (m + 3) * (n + 3) }, () => random() - 0.5);

/** A part of a larger matrix, optionally transposed. */
function part(device: CpuDevice, rows: number, columns: number, isTransposed: boolean): BufferView {
  const whole = isTransposed ? [columns + 2, rows + 1] : [rows + 2, columns + 1];
  const { strides, ...view } = uploadView(device, values.subarray(0, whole[0] * whole[1]), whole, "float32");
  return {
    ...view,
    shape: [rows, columns],
    strides: isTransposed ? strides.toReversed() : strides,
    offset: whole[1] + 1,
  };
}

function multiply(device: CpuDevice, a: BufferView, b: BufferView, isPrepared: boolean): Float32Array {
  const output = allocateView(device, [a.shape[0], b.shape[1]], "float32");
  const prepared = isPrepared ? device.prepare(b, a.shape[0]) : undefined;
  assert.equal(prepared !== undefined, isPrepared);
  device.matmul(a, b, output, prepared);
  prepared?.free();
  const result = device.readSync(output) as Float32Array;
  output.source.free();
  return result;
}

/**
 * The largest error of some elements, divided by the rounding bound of a sum of `terms` terms: terms * max|a|
 * * max|b| * 2^-24.
 */
function errorOf(result: Float32Array, a: BufferView, b: BufferView): number {
  const [rows, columns] = [a.shape[0], b.shape[1]];
  const at = (x: BufferView, i: number, j: number) => values[x.offset + i * x.strides[0] + j * x.strides[1]];
  let worst = 0;
  for (let trial = 0; trial < 4000; trial++) {
    // Sample the last rows and columns often, because odd sizes matter there.
    const i = trial % 3 ? trial * 7919 % rows : rows - 1;
    const j = trial % 5 ? trial * 104_729 % columns : columns - 1;
    let sum = 0;
    for (let t = 0; t < k; t++) sum += at(a, i, t) * at(b, t, j);
    worst = Math.max(worst, Math.abs(result[i * columns + j] - sum));
  }
  return worst / (k * 0.25 * 2 ** -24);
}

Deno.test("blockwise large products stay within their error bound for every axis order and number of threads", () => {
  for (const isPrepared of [true, false]) {
    for (const [aTransposed, bTransposed] of isPrepared ? [[0, 0], [0, 1], [1, 0]] : [[1, 1]]) {
      const results = devices.map((device) => {
        const a = part(device, isPrepared ? few : m, k, aTransposed === 1);
        const b = part(device, k, n, bTransposed === 1);
        const result = multiply(device, a, b, isPrepared);
        for (const { source } of [a, b]) source.free();
        return { a, b, result };
      });
      const [{ a, b, result }, other] = results;
      assert.deepEqual(other.result, result);
      const error = errorOf(result, a, b);
      assert.ok(error < 3, `an error of ${error}`);
    }
  }
});

for (const side of ["row", "column"] as const) {
  Deno.test(`a ${side} of a large product does not depend on the size or finiteness of the others`, () => {
    const [device] = devices;
    const [a, b] = [part(device, few, k, false), part(device, k, n, false)];
    const expected = multiply(device, a, b, true);
    const words = device.memory.f32;
    const [factor, axis, count, other] = side === "row" ? [a, 0, few, n] as const : [b, 1, n, few] as const;
    const start = (factor.source.memory as { address: number }).address / 4 + factor.offset;
    const at = (i: number, term: number) =>
      start + i * factor.strides[axis] + term * factor.strides[1 - axis];
    for (let term = 0; term < k; term++) words[at(3, term)] *= 2 ** 40;
    words[at(7, 100)] = NaN;
    words[at(60, k - 1)] = Infinity;
    const result = multiply(device, a, b, true);
    const half = Math.ceil(count / 2);
    /** The row or column of a result. */
    const sliceOf = (all: Float32Array, i: number) =>
      Float32Array.from({ length: other }, (_, j) => all[side === "row" ? i * n + j : j * n + i]);
    for (let i = 0; i < count; i++) {
      const [before, after] = [sliceOf(expected, i), sliceOf(result, i)];
      if (i === 7 || i === 60) assert.ok(after.every((value) => !Number.isFinite(value)));
      else if (i === 3) assert.deepEqual(after.map((value) => value / 2 ** 40), before);
      // The block sums pair these rows with non-finite rows, which zeros replace. So rounding differs.
      else if (Math.abs(i - 7) === half || Math.abs(i - 60) === half) {
        assert.ok(after.every((value, j) => Math.abs(value - before[j]) < 1e-4));
      } else assert.deepEqual(after, before);
    }
    for (const { source } of [a, b]) source.free();
  });
}
