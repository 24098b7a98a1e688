/** Ridge regression by moments against normal equations in closed form. */
import assert from "node:assert/strict";
import {
  addRows,
  emptyMoments,
  type RegressionRow,
  solveRidge,
  squaredErrors,
} from "../../src/series/math/least_squares.ts";
import { key, normal } from "../../src/tensor/random.ts";

const sizes = { inputs: 3, outputs: 2, shared: 2 };

/** Rows with two random inputs and a bias, two outputs, and one known value for each output. */
async function rows(count: number): Promise<RegressionRow[]> {
  const data = await normal(key(5), [count, 6]).data();
  return Array.from({ length: count }, (_, i) => {
    const [a, b, c, d, e, f] = data.subarray(6 * i, 6 * i + 6);
    return { x: Float64Array.of(a, b, 1), y: Float64Array.of(c, d), z: Float64Array.of(e, f), at: i % 2 };
  });
}

function momentsOf(regressionRows: readonly RegressionRow[]) {
  const moments = emptyMoments(sizes);
  addRows(moments, regressionRows);
  return moments;
}

Deno.test("two points give the line through them", () => {
  const moments = emptyMoments({ inputs: 2, outputs: 1, shared: 0 });
  const row = (x: number, y: number) => ({
    ...{ x: Float64Array.of(x, 1), y: Float64Array.of(y), z: new Float64Array(0), at: 0 },
  });
  addRows(moments, [row(1, 3), row(3, 7)]);
  const { weight } = solveRidge(moments, 1e-12);
  assert.ok(Math.abs(weight[0] - 2) < 1e-6 && Math.abs(weight[1] - 1) < 1e-6, `${weight}`);
});

Deno.test("one input with a penalty gives sum(xy) / (sum(xx) + n penalty)", () => {
  const moments = emptyMoments({ inputs: 2, outputs: 1, shared: 0 });
  const none = new Float64Array(0);
  // Centred: the bias is 0.
  for (const [x, y] of [[1, 3], [-1, -3], [2, 1], [-2, -1]]) {
    addRows(moments, [{ x: Float64Array.of(x, 1), y: Float64Array.of(y), z: none, at: 0 }]);
  }
  const { weight } = solveRidge(moments, 0.5);
  assert.ok(Math.abs(weight[0] - 10 / (10 + 4 * 0.5)) < 1e-9, `${weight}`);
});

Deno.test("the gradient of coefficients with shared ones is 0, and their errors match the errors of the rows", async () => {
  const regressionRows = await rows(30);
  const penalty = 0.1;
  const { weight, shared } = solveRidge(momentsOf(regressionRows), penalty);
  const errorOf = ({ x, y, z, at }: RegressionRow, h: number) =>
    y[h] - x.reduce((sum, value, i) => sum + value * weight[h * 3 + i], 0) - z[h] * shared[at];
  for (let h = 0; h < 2; h++) {
    for (let i = 0; i < 3; i++) {
      const gradient = regressionRows.reduce((sum, row) => sum + row.x[i] * errorOf(row, h), 0);
      const penalised = i === 2 ? 0 : 30 * penalty * weight[h * 3 + i];
      assert.ok(Math.abs(gradient - penalised) < 1e-6, `${gradient}, expected ${penalised}`);
    }
  }
  for (let k = 0; k < 2; k++) {
    const gradient = regressionRows.filter(({ at }) => at === k)
      .reduce((sum, row) => sum + row.z[0] * errorOf(row, 0) + row.z[1] * errorOf(row, 1), 0);
    assert.ok(Math.abs(gradient - 60 * penalty * shared[k]) < 1e-6, `${gradient}`);
  }
  const squares = regressionRows.reduce((sum, row) => sum + errorOf(row, 0) ** 2 + errorOf(row, 1) ** 2, 0);
  assert.ok(
    Math.abs(squaredErrors(momentsOf(regressionRows), { weight, shared }) - squares) < 1e-9 * squares,
  );
});
