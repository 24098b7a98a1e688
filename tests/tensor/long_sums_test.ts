/**
 * Sums of many float32 terms lose almost no precision, for every implementation and every memory layout of
 * the operands.
 */
import assert from "node:assert/strict";
import { type Tensor, tensor } from "../../mod.ts";
import { longOnSoftware, testOnCpu, testOnDevices } from "../devices.ts";

/**
 * Positive terms, where a long sum loses most precision: uniformly distributed terms, and equal terms, whose
 * rounding errors all have the same sign.
 */
const terms: Record<string, { value: (i: number) => number; tolerance: number }> = {
  spread: { value: (i) => (i * 0.618033988749895) % 1, tolerance: 2e-6 },
  equal: { value: () => 0.1, tolerance: 5e-5 },
};

function floats(count: number, value: (i: number) => number): Float32Array {
  const values = new Float32Array(count);
  for (let i = 0; i < count; i++) values[i] = value(i);
  return values;
}

function assertRelative(found: number, exact: number, tolerance: number, what: string) {
  const error = Math.abs(found / exact - 1);
  assert.ok(error <= tolerance, `${what} is off by ${error}`);
}

/** The position of a matrix element in memory, and the tensor that reads it there. */
interface Layout {
  readonly at: (row: number, column: number, rows: number, columns: number) => number;
  readonly matrix: (values: Float32Array, rows: number, columns: number) => Tensor;
}

const layouts: Record<string, Layout> = {
  rows: {
    at: (row, column, _, columns) => row * columns + column,
    matrix: (values, rows, columns) => tensor(values, { shape: [rows, columns] }),
  },
  columns: {
    at: (row, column, rows) => column * rows + row,
    matrix: (values, rows, columns) => tensor(values, { shape: [columns, rows] }).mT,
  },
};

for (const [name, { value, tolerance }] of Object.entries(terms)) {
  testOnDevices(
    `dot, sum, mean and cumsum of four million ${name} terms are accurate`,
    longOnSoftware,
    async (device) => {
      const count = 4_000_037;
      const [a, b] = [floats(count, value), floats(count, (i) => value(i + 7))];
      // A GPU computes a tile of outputs for the one of a dot product, which takes a software GPU long.
      const terms = device.info.kind === "webgpu" ? 1_000_037 : count;
      let [dot, sum] = [0, 0];
      for (let i = 0; i < terms; i++) dot += a[i] * b[i];
      for (let i = 0; i < count; i++) sum += a[i];
      const [x, y] = [tensor(a), tensor(b)];
      const products = x.slice(0, 0, terms).matmul(y.slice(0, 0, terms));
      assertRelative(await products.item(), dot, tolerance, `dot of ${terms} terms`);
      assertRelative(await x.sum().item(), sum, tolerance, "sum");
      assertRelative(await x.mean().item(), sum / count, tolerance, "mean");
      assertRelative(await x.cumsum().select(0, -1).item(), sum, tolerance, "cumsum");
      assertRelative(await x.reshape([1, count]).sum(1).item(), sum, tolerance, "sum of rows");
      assertRelative(await x.reshape([count, 1]).sum(0).item(), sum, tolerance, "sum of columns");
    },
  );

  testOnDevices(
    `matrix products with long sums of ${name} terms are accurate`,
    longOnSoftware,
    async (device) => {
      const k = device.info.kind === "webgpu" ? 25_003 : 50_003;
      for (const [m, n] of [[1, 1], [1, 9], [9, 1], [3, 5], [8, 8], [25, 6], [6, 25], [33, 17]]) {
        const [a, b] = [floats(m * k, value), floats(k * n, (i) => value(i + 3))];
        for (const [left, p] of Object.entries(layouts)) {
          for (const [right, q] of Object.entries(layouts)) {
            const found = await p.matrix(a, m, k).matmul(q.matrix(b, k, n)).data();
            for (const [row, column] of [[0, 0], [m - 1, n - 1]]) {
              let exact = 0;
              for (let i = 0; i < k; i++) exact += a[p.at(row, i, m, k)] * b[q.at(i, column, k, n)];
              const what = `${m} x ${k} x ${n} of ${left} and ${right} at ${row}, ${column}`;
              assertRelative(found[row * n + column], exact, tolerance, what);
            }
          }
        }
      }
    },
  );
}

testOnCpu("products of integers with segmented sums are exact", async () => {
  const value = (i: number) => i % 5 - 2;
  // Lengths around a segment and its multiples, with remainders, broadcast batches, and each layout.
  for (const k of [8191, 8192, 8193, 8200, 16384, 16385, 24575, 30_001]) {
    for (const [batch, m, n] of [[1, 1, 1], [1, 2, 3], [2, 1, 7], [2, 7, 1], [3, 4, 5], [1, 30, 2]]) {
      const a = tensor(floats(batch * m * k, value), { shape: [batch, m, k] });
      const b = tensor(floats(k * n, (i) => value(i + 1)), { shape: [k, n] });
      const exact = await a.cast("float64").matmul(b.cast("float64")).data();
      const transposed = [a.mT.add(0).mT, b.mT.add(0).mT];
      const reversed = [a.flip(2), b.flip(0)];
      for (const [x, y] of [[a, b], transposed, [a, transposed[1]], [transposed[0], b], reversed]) {
        const found = await x.matmul(y).data();
        assert.deepEqual([...found], [...exact], `${batch} x ${m} x ${k} x ${n}`);
      }
    }
  }
});
