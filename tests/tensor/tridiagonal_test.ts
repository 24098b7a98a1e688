import assert from "node:assert/strict";
import { checkGradients, key, normal, tensor, tridiagonalSolve, uniform } from "../../mod.ts";
import { testOnDevices } from "../devices.ts";

/** Elimination over the rows with a nonzero diagonal. */
function solve(lower: number[], diagonal: number[], upper: number[], rhs: number[]): number[] {
  const rows = diagonal.flatMap((value, i) => value === 0 ? [] : [i]);
  const [ratios, values]: number[][] = [[], []];
  rows.forEach((i, k) => {
    const pivot = diagonal[i] - (k > 0 ? lower[i] * ratios[k - 1] : 0);
    ratios.push(upper[i] / pivot);
    values.push((rhs[i] - (k > 0 ? lower[i] * values[k - 1] : 0)) / pivot);
  });
  const x = diagonal.map(() => 0);
  for (let k = rows.length - 1, next = 0; k >= 0; k--) {
    next = x[rows[k]] = values[k] - (k < rows.length - 1 ? ratios[k] * next : 0);
  }
  return x;
}

for (const [systems, n] of [[1, 7], [5, 9], [19, 30]]) {
  testOnDevices(`rows with a zero diagonal are excluded from ${systems} systems of ${n}`, async () => {
    const values = (seed: number) => uniform(key(seed), [systems, n]);
    const [lower, upper, rhs] = [values(1), values(2), normal(key(3), [systems, n])];
    const diagonal = values(4).less(0.4).where(0, values(5).add(3));
    const bands = await Promise.all(
      [lower, diagonal, upper, rhs].map((x) => x.toArray() as Promise<number[][]>),
    );
    const expected = Array.from(
      { length: systems },
      (_, i) => solve(...bands.map((rows) => rows[i]) as [number[], number[], number[], number[]]),
    ).flat();
    const columnwise = [lower, diagonal, upper, rhs].map((x) => x.mT.add(0).mT);
    const [a, b, c, d] = columnwise;
    for (const found of [tridiagonalSolve(lower, diagonal, upper, rhs), tridiagonalSolve(a, b, c, d)]) {
      (await found.data()).forEach((value, i) =>
        assert.ok(Math.abs(value - expected[i]) <= 1e-5, `${i}: ${value}, expected ${expected[i]}`)
      );
    }
  });
}

Deno.test("the gradient of the right-hand side is correct if rows are excluded", async () => {
  const float64 = { dtype: "float64" } as const;
  // Skipped rows repeat the coefficients that couple their neighbours.
  const lower = tensor([0, 1, 2, 2, 2, 3], float64);
  const upper = tensor([1, 2, 2, 2, 3, 0], float64);
  const diagonal = tensor([5, 6, 0, 0, 7, 5], float64);
  await checkGradients((rhs) => tridiagonalSolve(lower, diagonal, upper, rhs), [
    normal(key(0), [4, 6], float64),
  ]);
});
