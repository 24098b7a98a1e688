import assert from "node:assert/strict";
import { execute, type RunConfig, testBest } from "../../src/train/mod.ts";
import { describeRecord } from "../../src/series/record/data_record.ts";
import { startRun } from "../runs.ts";
import { key, randpermArray } from "../../src/tensor/random.ts";
import { withFolder } from "../tasks/command_line.ts";
import { testLong } from "../devices.ts";

/** Starts a run that forecasts rows with a time in seconds since 1970 and a value. */
async function startOn(
  folder: string,
  rows: readonly (readonly number[])[],
  chosen: Partial<RunConfig> = {},
) {
  const data = `${folder}/own.csv`;
  const text = rows.map(([time, x]) => `${new Date(1000 * time).toISOString()},${x}`);
  await Deno.writeTextFile(data, `time,x\n${text.join("\n")}\n`);
  return await startRun({
    ...{ experiment: "own-series", device: "cpu", seed: 0, epochs: 1, batchSize: 64, learningRate: 0.003 },
    ...{ hidden: 4, task: "forecast", model: "linear", data, ...chosen },
  }, `${folder}/runs`);
}

testLong(
  "with missing rows, the MASE of the seasonal baseline is about 1, since it uses values one season apart in time",
  withFolder(async (folder) => {
    const noise = randpermArray(key(0), 960);
    const rows = Array.from(
      noise,
      (position, hour) => [3600 * hour, 10 * Math.sin(Math.PI * hour / 12) + position / 960],
    );
    const keptRows = randpermArray(key(1), 960);
    const run = await startOn(folder, rows.filter((_, hour) => keptRows[hour] % 10 >= 3));
    assert.equal(run.task.record!.windows!.season, 24);
    const { mase } = (await execute(run)).summary!.baselines!["the season before"];
    assert.ok(mase > 0.7 && mase < 1.3, `${mase}`);
  }),
);

Deno.test(
  "MASE uses the standard deviation if values one season apart never differ",
  withFolder(async (folder) => {
    const rows = Array.from({ length: 40 }, (_, row) => [row, 1000 * (row % 2)]);
    const { task } = await startOn(folder, rows, { horizon: 4, season: 2 });
    assert.deepEqual(task.record!.windows!.seasonalErrors, [1]);
  }),
);

testLong(
  "the default season and context are not longer than the training data",
  withFolder(async (folder) => {
    const sizesOf = async (count: number, gap: number, chosen: Partial<RunConfig> = {}) => {
      const rows = Array.from({ length: count }, (_, row) => [gap * row, Math.sin(row)]);
      const { season, context } = (await startOn(folder, rows, chosen)).task.record!.windows!;
      return { season, context };
    };
    const horizon = { horizon: 8 };
    assert.deepEqual(await sizesOf(1500, 1), { season: 1, context: 24 });
    assert.deepEqual(await sizesOf(79, 3600, horizon), { season: 1, context: 8 });
    assert.deepEqual(await sizesOf(80, 3600, horizon), { season: 24, context: 40 });
    assert.deepEqual(await sizesOf(200, 3600, horizon), { season: 24, context: 48 });
    assert.deepEqual(await sizesOf(7300, 40, horizon), { season: 2160, context: 1024 });
    const chosen = { season: 50, context: 90 };
    assert.deepEqual(await sizesOf(80, 3600, { ...horizon, ...chosen }), chosen);
  }),
);

Deno.test(
  "the line about a run's data states the context and the season",
  withFolder(async (folder) => {
    const rows = Array.from({ length: 80 }, (_, row) => [3600 * row, Math.sin(row)]);
    const line = async (season?: number) =>
      describeRecord((await startOn(folder, rows, { horizon: 8, season })).task.record!);
    assert.match(await line(), /; forecasts 8 hours from the 40 hours before, with a season of 1 day; /);
    assert.match(await line(1), /; forecasts 8 hours from the 8 hours before, without a season; /);
  }),
);

Deno.test(
  "figures show future values at their observed times",
  withFolder(async (folder) => {
    // Every third row is half a step late.
    const rows = Array.from({ length: 80 }, (_, i) => [3600 * (i + (i % 3 === 2 ? 0.5 : 0)), Math.sin(i)]);
    const { task } = await startOn(folder, rows, { horizon: 4, context: 6 });
    await task.calibrate!();
    const [section] = await task.examples!();
    assert.ok(section.kind === "charts");
    const [observed, predicted] = section.charts[0].panels[0].marks;
    assert.ok(observed.kind === "line" && predicted.kind === "line");
    const steps = Array.from(observed.x, (time) => (time - observed.x[0]) / 3600);
    assert.deepEqual(steps.slice(0, 6), [0, 1, 2, 3, 4, 5]);
    assert.ok(steps.slice(6).some((step) => !Number.isInteger(step)), `${steps}`);
    // The predictions begin at the last observation that the model reads.
    assert.deepEqual(Array.from(predicted.x), Array.from(observed.x).slice(5));
    assert.equal(predicted.y[0], observed.y[5]);
  }),
);

testLong(
  "a stopped forecasting run is plotted and evaluated without intervals",
  withFolder(async (folder) => {
    const rows = Array.from({ length: 80 }, (_, i) => [i, Math.sin(i)]);
    const run = await startOn(folder, rows, { horizon: 4, epochs: 2, model: "gru" });
    const stop = new AbortController();
    await execute(run, { signal: stop.signal, onEpoch: () => stop.abort() });
    assert.deepEqual(Object.keys((await testBest(run)).measures), ["loss", "mae", "mse", "mase", "x mae"]);
  }),
);
