import assert from "node:assert/strict";
import { adjustHolm, pairedTest } from "../../../tasks/papers/tables/paired_test.ts";

/** Quantiles of Student's t from published tables: degrees of freedom, t, two-sided probability. */
const quantiles = [
  [1, 12.7062, 0.05],
  [2, 4.30265, 0.05],
  [3, 3.18245, 0.05],
  [4, 2.77645, 0.05],
  [9, 3.24984, 0.01],
  [10, 3.16927, 0.01],
] as const;

Deno.test("the paired test gives the probabilities of the tables of Student's t", () => {
  for (const [freedom, t, expected] of quantiles) {
    const count = freedom + 1;
    // Differences with a mean of t / sqrt(count) standard deviations.
    const spread = Array.from({ length: count }, (_, i) => i - freedom / 2);
    const deviation = Math.sqrt(spread.reduce((sum, x) => sum + x * x, 0) / freedom);
    const differences = spread.map((x) => x / deviation + t / Math.sqrt(count));
    const other = spread.map((_, i) => 3 * i);
    const one = differences.map((difference, i) => difference + other[i]);
    for (const found of [pairedTest(one, other), pairedTest(other, one)]) {
      assert.ok(Math.abs(found - expected) < 1e-5, `${freedom} degrees of freedom: ${found}`);
    }
  }
});

Deno.test("the paired test uses the differences of pairs, not the spread of each sample", () => {
  const [one, other] = [[10, 20, 30, 40], [9, 19.1, 28.9, 39]];
  assert.ok(pairedTest(one, other) < 0.001);
  assert.ok(pairedTest(one, [39, 9, 19.1, 28.9]) > 0.5);
});

Deno.test("one pair, or equal differences, have no probability", () => {
  assert.ok(Number.isNaN(pairedTest([1], [2])));
  assert.ok(Number.isNaN(pairedTest([1, 2], [2, 3])));
});

Deno.test("Holm's method multiplies the smallest probability by the number of comparisons, and so on, in ascending order", () => {
  assert.deepEqual(adjustHolm([0.01, NaN, 0.04, 0.03]), [0.03, NaN, 0.06, 0.06]);
  assert.deepEqual(adjustHolm([0.6, 0.7]), [1, 1]);
});
