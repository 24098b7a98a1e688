import assert from "node:assert/strict";
import { execute, NonFiniteLossError, type Run, type RunConfig, runFolder } from "../../src/train/mod.ts";
import { defaultSettings, resumeRun } from "../runs.ts";
import { readOutcome } from "../../src/train/run/outcome.ts";
import { runOnce } from "../runs.ts";
import { DivergenceError } from "../../src/solvers/divergence.ts";
import { withFolder } from "../tasks/command_line.ts";
import { testLong } from "../devices.ts";

const config: RunConfig = {
  ...defaultSettings("sine"),
  ...{
    experiment: "sine",
    device: "cpu",
    seed: 0,
    epochs: 1,
    hidden: 2,
    samples: 2,
    length: 4,
    model: "gru",
  },
};
const start = { command: "a test", time: "" };

async function make(run: Run) {
  return (await execute(run, { isLocked: true })).summary;
}

testLong(
  "two concurrent requests for a run train it once and both get the outcome",
  withFolder(async (path) => {
    let made = 0;
    const folder = runFolder(`${path}/run`);
    const ask = () => runOnce(config, folder, start, (run) => (made++, make(run)));
    const [one, other] = await Promise.all([ask(), ask()]);
    assert.equal(made, 1);
    assert.deepEqual(one, other);
    assert.deepEqual(await readOutcome(folder, 1), one);
  }),
);

Deno.test(
  "a run with more epochs is continued, and a run with other settings is rejected",
  withFolder(async (path) => {
    const folder = runFolder(`${path}/run`);
    await runOnce(config, folder, start, make);
    assert.equal(await readOutcome(folder, 2), undefined);
    const longer = await runOnce({ ...config, epochs: 2 }, folder, start, make);
    assert(longer && "summary" in longer && longer.summary.epochs === 2);
    assert.equal((await Deno.readTextFile(folder.starts)).trim().split("\n").length, 2);
    const run = await resumeRun({ ...config, epochs: 3 }, folder);
    await execute(run, { signal: AbortSignal.abort() });
    assert.equal(await readOutcome(folder, 3), undefined);
    await assert.rejects(
      runOnce({ ...config, seed: 1 }, folder, start, make),
      /the folder has a run with other settings; choose another folder/,
    );
  }),
);

const divergences = [
  new NonFiniteLossError(1, 2, NaN, "the loss"),
  new DivergenceError(0, 1, 0, [], Infinity, 1),
];
for (const diverged of divergences) {
  Deno.test(
    `a killed run is continued, and a run that ended with a ${diverged.name} is not repeated`,
    withFolder(async (path) => {
      const folder = runFolder(`${path}/run`);
      await assert.rejects(
        runOnce(config, folder, start, () => Promise.reject(new Error("killed"))),
        /killed/,
      );
      assert.equal(await readOutcome(folder, 1), undefined);
      const failure = { failure: diverged.message };
      assert.deepEqual(await runOnce(config, folder, start, () => Promise.reject(diverged)), failure);
      assert.deepEqual(await runOnce(config, folder, start, make), failure);
    }),
  );
}
