import assert from "node:assert/strict";
import { testLong } from "../../devices.ts";
import { runProgram } from "../../run_program.ts";

/** Samples, and the results of scipy.stats.ttest_ind with equal_var=False. */
const golden: readonly [one: number[], other: number[], p: number][] = [
  [[1, 2, 3, 4.5], [2, 3, 4, 5, 6.5], 0.21483202442133162],
  [[98.9, 98.4, 99.4], [95.9, 94.7, 97.1], 0.03464405909776485],
  [[100, 100, 100], [97.2, 91.7, 100], 0.2683897989704563],
  [[0.001, 0.002], [5, 7, 6], 0.009137077085988156],
];

testLong("Welch's t test agrees with SciPy", async () => {
  const samples = JSON.stringify(golden.map(([one, other]) => [one, other]));
  const program = `import { loadWelchTest } from "./tasks/papers/tables/welch.ts";
    const test = await loadWelchTest();
    console.log(JSON.stringify(${samples}.map(([one, other]) => test(one, other))));`;
  // With the permissions of `deno task reproduce`. The package is not in the lock file.
  const { code, stdout, stderr } = await runProgram(program, [
    "--no-lock",
    "--allow-read",
    "--allow-env",
    "--ext=ts",
  ]);
  assert.equal(code, 0, stderr);
  const found: number[] = JSON.parse(stdout);
  golden.forEach(([, , p], i) =>
    assert.ok(Math.abs(found[i] / p - 1) < 1e-9, `${i}: ${found[i]}, expected ${p}`)
  );
});
