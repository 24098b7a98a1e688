/** Every model of own-series on a small table of irregular series, with the default settings. */
import { configOf } from "../../src/train/run/config.ts";
import assert from "node:assert/strict";
import { ownSeries } from "../../src/series/run/own_series.ts";
import { neuralModels } from "../../src/series/models/neural/neural_models.ts";
import { execute, type RunConfig } from "../../src/train/mod.ts";
import { startRun } from "../runs.ts";
import { testLong } from "../devices.ts";
import { withFolder } from "../tasks/command_line.ts";

/**
 * Series with `rows` / 2 to `rows` rows at uneven times, of three classes with different frequencies, with
 * missing values.
 */
async function writeWaves(path: string, rows: number): Promise<string> {
  const lines = Array.from(
    { length: 36 },
    (_, i) =>
      Array.from({ length: Math.round(rows * (0.5 + i % 7 / 12)) }, (_, t) => {
        const time = 0.5 * t + 0.2 * Math.sin(3 * t + i);
        const angle = 0.7 * i + time * (1 + i % 3) / 2;
        const heat = (t + i) % 5 === 0 ? "" : 40 + 5 * Math.cos(angle);
        return [`s${i}`, time.toFixed(3), Math.sin(angle).toFixed(3), heat, `class ${i % 3}`].join();
      }),
  ).flat();
  await Deno.writeTextFile(path, `series,time,x,heat,label\n${lines.join("\n")}\n`);
  return path;
}

/** Training and validation losses per epoch of a run with the default settings. */
async function lossesOf(folder: string, chosen: Partial<RunConfig>, rows = 40): Promise<number[]> {
  const data = await writeWaves(`${folder}/waves.csv`, rows);
  const config = configOf(ownSeries, { device: "cpu", data, ...chosen });
  const { metrics } = await execute(await startRun(config, `${folder}/runs`));
  assert.equal(metrics.length, chosen.epochs);
  return metrics.flatMap(({ train, validation }) => [train.loss, validation.loss]);
}

for (const [name, { takes }] of Object.entries(neuralModels)) {
  for (const depth of takes.includes("depth") ? [1, 2, 3] : [undefined]) {
    testLong(
      `the first epoch of ${name}${depth ? ` of depth ${depth}` : ""} has a finite loss`,
      withFolder(async (folder) => {
        // The steps of deeper networks take longer, and the series need not be long.
        const losses = await lossesOf(folder, { model: name, depth, epochs: 1 }, (depth ?? 1) > 1 ? 24 : 40);
        assert.ok(losses.every(Number.isFinite), `${losses}`);
      }),
    );
  }
}

// 28 steps, during which the learning rate rises to its full value.
for (
  const { depth, hidden = 32, rows = 40, test = Deno.test } of [
    { depth: 1 },
    { depth: 1, rows: 160, test: testLong },
    { depth: 1, hidden: 128, test: testLong },
    { depth: 2, hidden: 8, test: testLong },
    { depth: 2, rows: 24, test: testLong },
    { depth: 3, hidden: 8, test: testLong },
  ]
) {
  test(
    `warp of depth ${depth} and width ${hidden} learns to classify series of ${rows} rows`,
    withFolder(async (folder) => {
      const losses = await lossesOf(folder, { model: "warp", depth, hidden, epochs: 14 }, rows);
      assert.ok(losses.every(Number.isFinite), `${losses}`);
      const smallest = Math.min(...losses.filter((_, i) => i % 2 === 0));
      assert.ok(smallest < 0.9 * Math.log(3), `${smallest} is near the loss of guessing`);
    }),
  );
}
