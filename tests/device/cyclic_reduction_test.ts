import assert from "node:assert/strict";
import {
  CubicSpline,
  key,
  naturalCubicCoeffs,
  normal,
  type Tensor,
  tensor,
  tridiagonalSolve,
  uniform,
} from "../../mod.ts";
import { isReduced } from "../../src/device/webgpu/kernels/tridiagonal.ts";
import { testOnBoth, useDevice } from "../devices.ts";

Deno.test("a GPU uses cyclic reduction for few long systems and elimination for others", () => {
  for (const [systems, n] of [[1, 256], [7, 17_984], [1000, 300]]) {
    assert.ok(isReduced(systems, n, 65_535), `${systems} systems of ${n}`);
  }
  for (const [systems, n] of [[1, 100], [1554, 17_984], [2000, 300], [1, 100_000]]) {
    assert.ok(!isReduced(systems, n, 65_535), `${systems} systems of ${n}`);
  }
  assert.ok(!isReduced(1, 5000, 3));
});

function test(name: string, body: () => Tensor, tolerance = 1e-5): void {
  testOnBoth(`cyclic reduction solves ${name}`, async (cpu, webgpu) => {
    const found = await body().data();
    useDevice(cpu);
    const expected = await body().data();
    useDevice(webgpu);
    assert.equal(found.length, expected.length);
    for (let i = 0; i < found.length; i++) {
      const error = Math.abs(found[i] - expected[i]);
      assert.ok(error <= tolerance * Math.max(1, Math.abs(expected[i])), `${i}: ${found[i]}, ${expected[i]}`);
    }
  });
}

for (const [systems, n] of [[1, 256], [3, 1000], [2, 4097]]) {
  for (const missing of [0, 0.4, 0.99]) {
    test(`${systems} systems of ${n}, ${missing} of the rows left out,`, () => {
      const values = (seed: number) => uniform(key(seed), [systems, n]);
      const diagonal = values(4).less(missing).where(0, values(5).add(3));
      return tridiagonalSolve(values(1), diagonal, values(2), normal(key(3), [systems, n]));
    });
  }
}

test("systems with the same bands, column by column,", () => {
  const values = (seed: number, rows: number) => uniform(key(seed), [500, rows]).mT;
  return tridiagonalSolve(values(1, 1), values(2, 1).add(3), values(3, 1), values(4, 6));
});

test("systems with no row", () => {
  const zeros = tensor(new Float32Array(600), { shape: [2, 300] });
  return tridiagonalSolve(zeros, zeros, zeros, zeros.add(1));
});

test("a system whose few rows are as far apart as possible", () => {
  const [n, kept] = [32_767, [0, 16_383, 32_766]];
  const row = (values: number[]) => {
    const all = new Float32Array(n);
    kept.forEach((i, k) => all[i] = values[k]);
    return tensor(all, { shape: [1, n] });
  };
  return tridiagonalSolve(row([0, 1, 2]), row([4, 5, 6]), row([1, 2, 0]), row([1, 2, 3]));
});

test("a long spline with missing values", () => {
  const x = normal(key(0), [1, 3000, 3]).cumsum(1).mul(0.1);
  const gaps = uniform(key(1), x.shape).less(0.3).where(NaN, x);
  const t = Float64Array.from({ length: 3000 }, (_, i) => i * 0.1);
  return CubicSpline(naturalCubicCoeffs(gaps, t), t).evaluate(tensor([0, 10.5, 150.3, 299.9]));
}, 1e-4);
