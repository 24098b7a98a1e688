/** Ridge regression against normal equations, and leave-one-out against fits without each sample. */
import assert from "node:assert/strict";
import { fitRidge, fitRidges, inverseDeviations, penalties } from "../../src/series/math/ridge.ts";
import {
  factorShifted,
  quadraticForm,
  solveShifted,
  tridiagonal,
} from "../../src/series/math/tridiagonal.ts";

/** Pseudo-random numbers from -1 to 1. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1103515245 + 12345) % 2 ** 31;
    return 2 * (state / 2 ** 31) - 1;
  };
}

function samplesOf(n: number, m: number, k: number, seed = 1) {
  const next = numbers(seed);
  const features = Array.from({ length: n }, () => Float32Array.from({ length: m }, () => 3 + next()));
  const targets = Float64Array.from({ length: n * k }, (_, i) => features[Math.floor(i / k)][0] * 2 + next());
  return { features, targets };
}

/** Solves a x = b by Gaussian elimination with pivoting. */
function solve(a: number[][], b: number[]): number[] {
  const rows = a.map((row, i) => [...row, b[i]]);
  const n = rows.length;
  for (let k = 0; k < n; k++) {
    const pivot = rows.slice(k).reduce(
      (best, row, i) => Math.abs(row[k]) > Math.abs(rows[best][k]) ? k + i : best,
      k,
    );
    [rows[k], rows[pivot]] = [rows[pivot], rows[k]];
    for (let i = k + 1; i < n; i++) {
      const factor = rows[i][k] / rows[k][k];
      for (let j = k; j <= n; j++) rows[i][j] -= factor * rows[k][j];
    }
  }
  const x = new Array<number>(n).fill(0);
  for (let i = n - 1; i >= 0; i--) {
    x[i] = (rows[i][n] - x.reduce((sum, solved, j) => j > i ? sum + solved * rows[i][j] : sum, 0)) /
      rows[i][i];
  }
  return x;
}

/** Ridge regression by the normal equations, with a bias that has no penalty. Returns the prediction function. */
function naiveRidge(features: readonly Float32Array[], scale: Float64Array, y: number[], lambda: number) {
  const rows = features.map((row) => [...Array.from(row, (x, f) => x * scale[f]), 1]);
  const size = rows[0].length;
  const a = Array.from(
    { length: size },
    (_, i) =>
      Array.from(
        { length: size },
        (_, j) =>
          rows.reduce((sum, row) => sum + row[i] * row[j], 0) + (i === j && i < size - 1 ? lambda : 0),
      ),
  );
  const weights = solve(
    a,
    Array.from({ length: size }, (_, i) => rows.reduce((sum, row, s) => sum + row[i] * y[s], 0)),
  );
  return (row: Float32Array) =>
    weights.reduce((sum, w, i) => sum + w * (i < size - 1 ? row[i] * scale[i] : 1), 0);
}

for (
  const { n, m } of [{ n: 7, m: 12 }, { n: 12, m: 12 }, { n: 23, m: 5 }, { n: 300, m: 3 }, { n: 2, m: 300 }]
) {
  Deno.test(`ridge regression of ${n} samples with ${m} features equals the normal equations`, () => {
    const k = 2;
    const { features, targets } = samplesOf(n, m, k);
    const scale = inverseDeviations(features);
    for (const penalty of [1e-3, 10]) {
      const { mean, weight, bias } = fitRidge({ features, scale, targets }, [penalty]);
      for (let c = 0; c < k; c++) {
        const expected = naiveRidge(
          features,
          scale,
          Array.from(features, (_, i) => targets[i * k + c]),
          penalty * m,
        );
        for (const row of features.slice(0, 5)) {
          const found = row.reduce(
            (sum, x, f) => sum + weight[f * k + c] * scale[f] * (x - mean[f]),
            bias[c],
          );
          assert.ok(Math.abs(found - expected(row)) < 1e-6, `${found}, expected ${expected(row)}`);
        }
      }
    }
  });
}

for (const { n, m } of [{ n: 6, m: 20 }, { n: 20, m: 6 }]) {
  Deno.test(`leave-one-out predictions of ${n} samples with ${m} features equal fits without each sample`, () => {
    const k = 2;
    const { features, targets } = samplesOf(n, m, k, 5);
    const scale = inverseDeviations(features);
    for (const penalty of penalties.filter((one) => one > 1e-5)) {
      const { leftOut } = fitRidge({ features, scale, targets }, [penalty]);
      for (let i = 0; i < n; i++) {
        const others = features.filter((_, other) => other !== i);
        for (let c = 0; c < k; c++) {
          const y = Array.from(features, (_, s) => targets[s * k + c]).filter((_, other) => other !== i);
          const expected = naiveRidge(others, scale, y, penalty * m)(features[i]);
          assert.ok(
            Math.abs(leftOut[i * k + c] - expected) < 1e-6,
            `${leftOut[i * k + c]}, expected ${expected}`,
          );
        }
      }
    }
  });
}

Deno.test("the penalty with the smallest leave-one-out error is chosen: a small one for a rule, a large one for noise", () => {
  const { features } = samplesOf(40, 4, 1);
  const scale = inverseDeviations(features);
  const next = numbers(9);
  const rule = Float64Array.from(features, (row) => row[0] - 2 * row[1]);
  const noise = Float64Array.from(features, () => next());
  assert.equal(fitRidge({ features, scale, targets: rule }).penalty, penalties[0]);
  assert.ok(fitRidge({ features, scale, targets: noise }).penalty >= 10);
});

Deno.test("features that are constant up to the rounding of float32 have no weight", () => {
  const features = Array.from({ length: 20 }, (_, i) =>
    Float32Array.of(
      ...[7 * (1 + (i % 2) * 2 ** -23), 1e-8 * (i % 3), 1e-8 * (i % 3), 1e-30 * (i % 3)],
      ...[1e30 * (i % 3), 5 + 1e-4 * (i % 3)],
    ));
  const scale = inverseDeviations(features, (mean) => mean.map(Math.abs).with(2, 1));
  assert.deepEqual(Array.from(scale, (one) => one > 0), [false, true, false, true, true, true]);
});

Deno.test("constant features have no weight, and constant targets are predicted exactly", () => {
  const features = [1, 2, 4].map((x) => Float32Array.of(x, 0.1, 7));
  const scale = inverseDeviations(features);
  assert.deepEqual([scale[1], scale[2]], [0, 0]);
  const { weight, bias, leftOut } = fitRidge({ features, scale, targets: Float64Array.of(5, 5, 5) });
  assert.deepEqual([...weight, ...bias], [0, 0, 0, 5]);
  assert.deepEqual([...leftOut], [5, 5, 5]);
  const only = fitRidge({
    features: features.slice(0, 1),
    scale: new Float64Array(3),
    targets: Float64Array.of(5),
  });
  assert.deepEqual([...only.weight, ...only.bias], [0, 0, 0, 5]);
});

Deno.test("a symmetric matrix equals Q T Q^T, and shifted systems are solved", () => {
  const n = 9;
  const next = numbers(3);
  const root = Array.from({ length: n }, () => Array.from({ length: n }, next));
  // Rank 4: T has eigenvalues of 0.
  const a = Float64Array.from({ length: n * n }, (_, at) => {
    const [i, j] = [Math.floor(at / n), at % n];
    return root.slice(0, 4).reduce((sum, row) => sum + row[i] * row[j], 0);
  });
  const reduced = tridiagonal(a.slice(), n);
  const { q, diagonal, below } = reduced;
  const t = (i: number, j: number) =>
    i === j ? diagonal[i] : Math.abs(i - j) === 1 ? below[Math.max(i, j)] : 0;
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < n; j++) {
      let [found, inner] = [0, 0];
      for (let r = 0; r < n; r++) {
        inner += q[i * n + r] * q[j * n + r];
        for (let c = 0; c < n; c++) found += q[i * n + r] * t(r, c) * q[j * n + c];
      }
      assert.ok(Math.abs(found - a[i * n + j]) < 1e-12);
      assert.ok(Math.abs(inner - (i === j ? 1 : 0)) < 1e-12);
    }
  }
  const factors = factorShifted(reduced, 0.5);
  const b = Float64Array.from({ length: n }, next);
  const x = b.slice();
  solveShifted(factors, x);
  for (let i = 0; i < n; i++) {
    const product = x.reduce((sum, value, j) => sum + (t(i, j) + (i === j ? 0.5 : 0)) * value, 0);
    assert.ok(Math.abs(product - b[i]) < 1e-12);
  }
  const inner = b.reduce((sum, value, i) => sum + value * x[i], 0);
  assert.ok(Math.abs(quadraticForm(factors, b, 0) - inner) < 1e-12);
});

Deno.test("fits with several lists of scales are those of each list alone", () => {
  // The last features are in a second block, which has other scales.
  const [n, m] = [5, 256 + 3];
  const features = Array.from(
    { length: n },
    (_, i) => Float32Array.from({ length: m }, (_, f) => Math.sin(i * 7 + f * (i + 1))),
  );
  const targets = Float64Array.from({ length: n }, (_, i) => features[i][1] + features[i][257]);
  const plain = inverseDeviations(features);
  const scales = [plain, plain.map((one, f) => f < 256 ? one : 3 * one), plain.map((one) => 2 * one)];
  const together = fitRidges({ features, scales: scales.slice(0, 2), targets });
  assert.deepEqual(together, scales.slice(0, 2).map((scale) => fitRidge({ features, scale, targets })));
  assert.notDeepEqual(together[0].weight, together[1].weight);
  // No block is shared.
  const apart = fitRidges({ features, scales: [scales[0], scales[2]], targets });
  assert.deepEqual(apart, [scales[0], scales[2]].map((scale) => fitRidge({ features, scale, targets })));
});
