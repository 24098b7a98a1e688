/** Large float32 products, of whose blocks seven products are made instead of eight. */
import assert from "node:assert/strict";
import { createCpuDevice } from "../../src/device/cpu/device.ts";
import type { BufferView } from "../../src/device/device.ts";
import { allocateView, uploadView } from "../../src/device/view.ts";
import { randomNumbers } from "./random_views.ts";

const devices = [1, 2].map((threads) => createCpuDevice({ threads }));
type CpuDevice = typeof devices[number];

/** Odd sizes; the first rows are enough for prepared matrices alone. */
const [few, m, k, n] = [97, 3077, 3073, 3075];

const random = randomNumbers(29);
const values = Float32Array.from({ length: (m + 3) * (n + 3) }, () => random() - 0.5);

/** A part of a larger matrix, which may lie transposed. */
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

/** The largest error of some elements over what a sum of so many terms may round to: terms * max|a| * max|b| * 2^-24. */
function errorOf(result: Float32Array, a: BufferView, b: BufferView): number {
  const [rows, columns] = [a.shape[0], b.shape[1]];
  const at = (x: BufferView, i: number, j: number) => values[x.offset + i * x.strides[0] + j * x.strides[1]];
  let worst = 0;
  for (let trial = 0; trial < 4000; trial++) {
    // The last rows and columns, where sizes are odd, come often.
    const i = trial % 3 ? trial * 7919 % rows : rows - 1;
    const j = trial % 5 ? trial * 104_729 % columns : columns - 1;
    let sum = 0;
    for (let t = 0; t < k; t++) sum += at(a, i, t) * at(b, t, j);
    worst = Math.max(worst, Math.abs(result[i * columns + j] - sum));
  }
  return worst / (k * 0.25 * 2 ** -24);
}

Deno.test("large products are as exact as their blocks' seven products are, with every order of axes and on any number of threads", () => {
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

Deno.test("a row of a large product does not depend on how large the others are, nor whether they are finite", () => {
  const [device] = devices;
  const [a, b] = [part(device, few, k, false), part(device, k, n, false)];
  const expected = multiply(device, a, b, true);
  const words = device.memory.f32;
  const start = (a.source.memory as { address: number }).address / 4 + a.offset;
  const row = (i: number) => words.subarray(start + i * a.strides[0], start + i * a.strides[0] + k);
  row(3).forEach((value, i, own) => own[i] = value * 2 ** 40);
  row(7)[100] = NaN;
  row(60)[k - 1] = Infinity;
  const result = multiply(device, a, b, true);
  const half = Math.ceil(few / 2);
  const rowOf = (all: Float32Array, i: number) => all.subarray(i * n, (i + 1) * n);
  for (let i = 0; i < few; i++) {
    if (i === 7 || i === 60) assert.ok(rowOf(result, i).every((value) => !Number.isFinite(value)));
    else if (i === 3) assert.deepEqual(rowOf(result, i).map((value) => value / 2 ** 40), rowOf(expected, i));
    // These have nothing added to them instead of the rows that are not finite, which rounds otherwise.
    else if (i === 7 + half || i === 60 - half) {
      const own = rowOf(expected, i);
      assert.ok(rowOf(result, i).every((value, j) => Math.abs(value - own[j]) < 1e-4));
    } else assert.deepEqual(rowOf(result, i), rowOf(expected, i));
  }
});
