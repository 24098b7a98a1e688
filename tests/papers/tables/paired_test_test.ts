import assert from "node:assert/strict";
import { adjustHolm } from "../../../tasks/papers/tables/paired_test.ts";
import { testLong } from "../../devices.ts";
import { runProgram } from "../../run_program.ts";

/** Pairs whose differences have a mean of t / sqrt(count) standard deviations. */
function pairsOf(freedom: number, t: number): [one: number[], other: number[]] {
  const count = freedom + 1;
  const spread = Array.from({ length: count }, (_, i) => i - freedom / 2);
  const deviation = Math.sqrt(spread.reduce((sum, x) => sum + x * x, 0) / freedom);
  const other = spread.map((_, i) => 3 * i);
  return [spread.map((x, i) => x / deviation + t / Math.sqrt(count) + other[i]), other];
}

/** Pairs, and the two-sided probabilities of published tables of Student's t: degrees of freedom, t, probability. */
const cases = [
  [...pairsOf(1, 12.7062), 0.05],
  [...pairsOf(2, 4.30265), 0.05],
  [...pairsOf(4, 2.77645), 0.05],
  [...pairsOf(9, 3.24984), 0.01],
  [...pairsOf(10, 3.16927), 0.01],
] as const;

/** Pairs without a probability: a single pair, and equal differences. */
const without = [[[1], [2]], [[1, 2], [2, 3]]] as const;

testLong("the paired test gives the probabilities of the tables of Student's t", async () => {
  const samples = JSON.stringify([...cases.map(([one, other]) => [one, other]), ...without]);
  const program = `import { loadPairedTest } from "./tasks/papers/tables/paired_test.ts";
    const test = await loadPairedTest();
    console.log(JSON.stringify(${samples}.map(([one, other]) => test(one, other))));`;
  // With the permissions of `deno task reproduce`. The package is not in the lock file.
  const options = ["--no-lock", "--allow-read", "--allow-env", "--ext=ts"];
  const { code, stdout, stderr } = await runProgram(program, options);
  assert.equal(code, 0, stderr);
  const found: (number | null)[] = JSON.parse(stdout);
  cases.forEach(([, , p], i) =>
    assert.ok(Math.abs(found[i]! - p) < 1e-5, `${i}: ${found[i]}, expected ${p}`)
  );
  // JSON has no NaN.
  assert.deepEqual(found.slice(cases.length), [null, null]);
});

Deno.test("Holm's method multiplies the smallest probability by the number of comparisons, and so on, in ascending order", () => {
  assert.deepEqual(adjustHolm([0.01, NaN, 0.04, 0.03]), [0.03, NaN, 0.06, 0.06]);
  assert.deepEqual(adjustHolm([0.6, 0.7]), [1, 1]);
});
