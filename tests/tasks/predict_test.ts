/** Messages of `predict` for a run without a table. */
import assert from "node:assert/strict";
import { runTask, withFolder } from "./command_line.ts";
import { testLong } from "../devices.ts";

/** Trains an experiment, and returns the error of `predict` with the run alone. */
async function errorOf(folder: string, ...training: string[]): Promise<string> {
  const run = `${folder}/run`;
  const trained = await runTask("train", ...training, "--epochs", "1", "--device", "cpu", "--run", run);
  assert.equal(trained.code, 0, trained.stderr);
  const { code, stderr } = await runTask("predict", run);
  assert.equal(code, 1);
  return stderr;
}

testLong(
  "predict does not ask for a table for a model that cannot read tables, and says what to do",
  withFolder(async (folder) => {
    assert.match(
      await errorOf(folder, "sine", "--samples", "40", "--hidden", "2"),
      /^error: .*run: sine generates its data from the seed, .* measure the run with evaluate without other data$/m,
    );
    const config = `${folder}/run/config.json`;
    const text = await Deno.readTextFile(config);
    await Deno.writeTextFile(config, text.replace('"sine"', '"my-experiment"'));
    assert.match(
      (await runTask("predict", `${folder}/run`)).stderr,
      /^error: .*config\.json: experiment is "my-experiment", .* use the commands of the program that trained the run/m,
    );
  }),
);

testLong(
  "predict without a table names the columns that the model reads",
  withFolder(async (folder) => {
    const rows = Array.from(
      { length: 160 },
      (_, i) => `s${i >> 3},${i & 7},${i % 3},${i >> 3 & 1 ? "up" : "down"}`,
    );
    await Deno.writeTextFile(`${folder}/own.csv`, ["series,time,x,label", ...rows].join("\n"));
    assert.match(
      await errorOf(folder, "own-series", "--data", `${folder}/own.csv`, "--model", "delta", "--hidden", "4"),
      /^error: predict: the table is missing; expected the path of a table with the columns "x" of the series$/m,
    );
  }),
);
