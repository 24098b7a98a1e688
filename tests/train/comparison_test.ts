import assert from "node:assert/strict";
import {
  comparedConfigs,
  type ComparedRun,
  comparisonTables,
  dataIn,
  missingRuns,
} from "../../src/train/comparison.ts";
import { seriesModels } from "../../src/train/experiments/series_models.ts";
import { experimentNamed } from "../../src/train/mod.ts";
import { replaceSection } from "../../src/train/markdown.ts";
import { meanAndSpread } from "../../src/train/statistics.ts";

function ended(config: ComparedRun["config"], accuracy: number | null): ComparedRun {
  return { config, accuracy, bestEpoch: 1, parameters: 1234, processorSeconds: 5, deviceDescription: "" };
}

Deno.test("every run of the comparison is of an experiment and of a model that there are", () => {
  for (const { experiment, model } of comparedConfigs(3)) {
    experimentNamed(experiment);
    assert.ok(Object.hasOwn(seriesModels, model!), model);
  }
  assert.equal(new Set(comparedConfigs(3).map((config) => JSON.stringify(config))).size, 3 * 5 * 7);
});

Deno.test("runs that have ended are not made again, unless their settings changed", () => {
  const configs = comparedConfigs(1);
  const done = configs.slice(0, 3).map((config) => ended(config, 0.5));
  assert.deepEqual(missingRuns(configs, done), configs.slice(3));
  const { seed, ...rest } = configs[0];
  assert.deepEqual(missingRuns(configs.slice(0, 1), [ended({ seed, ...rest }, 0.5)]), []);
  const others = [{ ...configs[0], epochs: configs[0].epochs + 1 }];
  assert.deepEqual(missingRuns(others, done), others);
});

Deno.test("the tables show means, spreads, diverged runs, tests, times and parameters, and no cell without a run", () => {
  const [first] = comparedConfigs(1);
  const tables = comparisonTables([
    ended(first, 0.9),
    ended({ ...first, seed: 1 }, 0.8),
    ended({ ...first, seed: 2 }, null),
    ended({ ...first, model: "hebb-ode" }, 0.7),
    ended({ ...first, model: "hebb-ode", seed: 1 }, 0.6),
    ended({ ...first, model: "oja-ode" }, 0.6),
  ], (one, other) => one[0] - other[0]);
  const rowsOf = (name: string) => tables.split("\n").filter((line) => line.startsWith(`| ${name}`));
  const cells = (row: string) => row.split("|").map((cell) => cell.trim());
  const [accuracies, costs] = rowsOf("Neural CDE");
  assert.deepEqual(cells(accuracies), ["", "Neural CDE", "85.0 ± 7.1, 1 diverged", "", "", "", "", ""]);
  assert.deepEqual(cells(costs), ["", "Neural CDE", "5.0 s, 1,234", "", "", "", "", ""]);
  // A single run has no spread to test with.
  assert.deepEqual(cells(rowsOf("Hebb, direct")[1]), ["", "Hebb, direct", "-20", "", "", "", "", ""]);
  assert.deepEqual(cells(rowsOf("Oja, direct")[1]), ["", "Oja, direct", "", "", "", "", "", ""]);
});

Deno.test("the data of an experiment are looked for in the folder that is given", () => {
  assert.equal(dataIn("/elsewhere/", "japanese-vowels"), "/elsewhere/JapaneseVowels.zip");
});

Deno.test("a mean is told with its spread, a single value without", () => {
  assert.equal(meanAndSpread([1, 2, 4]), "2.3 ± 1.5");
  assert.equal(meanAndSpread([2]), "2.0");
});

Deno.test("a section of a page is replaced, and one that is not there is an error", () => {
  const page = "before\n<!-- tables -->\nold\n<!-- end of tables -->\nafter\n";
  assert.equal(
    replaceSection(page, "tables", "new"),
    "before\n<!-- tables -->\n\nnew\n\n<!-- end of tables -->\nafter\n",
  );
  assert.throws(
    () => replaceSection(page, "plots", "new"),
    /no lines <!-- plots --> and <!-- end of plots -->/,
  );
});
