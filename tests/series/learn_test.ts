/** Models of series from programs: classify, regress and forecast. */
import assert from "node:assert/strict";
import { readSeries } from "../../src/series/read/read_series.ts";
import { classify, forecast, regress } from "../../src/series/mod.ts";
import { ownSeries } from "../../src/series/run/own_series.ts";
import { configOf } from "../../src/train/run/config.ts";
import { execute } from "../../src/train/mod.ts";
import { runFolder } from "../../src/train/run/run_folder.ts";
import { openTrained, readRunConfig, startRun } from "../runs.ts";
import { withFolder } from "../tasks/command_line.ts";
import { testLong } from "../devices.ts";

/** Rows of waves. The class is the frequency, the number its double. */
const rows = Array.from({ length: 24 * 20 }, (_, i) => {
  const [series, time] = [Math.floor(i / 20), i % 20];
  const frequency = series % 2 ? 0.9 : 0.5;
  return {
    ...{ series: `s${series}`, time, x: Number(Math.sin(2.4 * series + time * frequency).toFixed(4)) },
    ...{ label: series % 2 ? "fast" : "slow", speed: 2 * frequency + series / 100 },
  };
});
const waves = { name: "waves", rows: rows.map(({ speed: _, ...row }) => row) };
const speeds = { name: "speeds", rows: rows.map(({ label: _, ...row }) => row) };
const level = {
  name: "level",
  rows: Array.from({ length: 60 }, (_, i) => ({ time: i, x: 10 + i + Math.sin(i) })),
};

/** Writes rows as a table. */
async function writeTable(path: string, { rows }: { rows: readonly object[] }): Promise<string> {
  const lines = [Object.keys(rows[0]).join(), ...rows.map((row) => Object.values(row).join())];
  await Deno.writeTextFile(path, lines.join("\n"));
  return path;
}

const fast = { model: "random-convolutions", device: "cpu" } as const;

Deno.test(
  "classify gives the numbers of the command for the same data and seed, and saves a run",
  withFolder(async (folder) => {
    const model = await classify(waves, { ...fast, seed: 1 });
    const data = await writeTable(`${folder}/waves.csv`, waves);
    const run = await startRun(configOf(ownSeries, { ...fast, data, seed: 1 }), `${folder}/runs`);
    const { summary } = await execute(run);
    assert.deepEqual(model.summary.test, summary!.test);

    const answers = await model.predict(waves);
    assert.deepEqual(answers.map(({ label }) => label), answers.map((_, i) => i % 2 ? "fast" : "slow"));
    assert.equal((await model.evaluate(waves)).measures.accuracy, 1);
    await model.save(`${folder}/saved`);
    const saved = runFolder(`${folder}/saved`);
    const trained = await openTrained(await readRunConfig(saved), saved);
    assert.deepEqual(await trained.model.predict!(await trained.model.series!(data)), answers);
    await assert.rejects(model.save(`${folder}/saved`), /already contains .*; expected an empty folder/);
  }),
);

testLong("classify takes a set of series and a separate test set", async () => {
  const set = await readSeries(waves, { targets: "classes" });
  const test = { ...set, series: set.series.slice(0, 4) };
  const model = await classify({ ...set, series: set.series.slice(4) }, { ...fast, test });
  assert.deepEqual(
    model.record.split.test.map(({ name }) => name),
    ["s0", "s1", "s2", "s3"].map((name) => `test ${name}`),
  );
  assert.equal(model.stream, undefined);
});

testLong("regress predicts numbers of rows in memory", async () => {
  const model = await regress(speeds, { ...fast, table: { target: ["speed"] } });
  const [{ numbers }] = await model.predict(speeds);
  assert.ok(Math.abs(numbers.speed - 1) < 0.3, `${numbers.speed}`);
  assert.match(model.summary.verdict!, /squared error/);
});

Deno.test("forecast continues rows in memory", async () => {
  const model = await forecast(level, { model: "linear", horizon: 4, device: "cpu" });
  const [{ times, channels }] = await model.predict(level);
  assert.deepEqual(times, [60, 61, 62, 63]);
  assert.ok(Math.abs(channels.x.mean[0] - 70) < 2, `${channels.x.mean[0]}`);
});

testLong("a stopped training throws the reason", async () => {
  const reason = new Error("enough");
  await assert.rejects(classify(waves, { ...fast, signal: AbortSignal.abort(reason) }), reason);
});

Deno.test("wrong data and options are rejected with the name of the function", async () => {
  await assert.rejects(classify(5 as never), /^TypeError: classify: data is 5; expected a path/);
  await assert.rejects(
    async () => await classify(waves, { horizon: 3 } as never),
    /classify: unknown option horizon/,
  );
  await assert.rejects(
    async () => await forecast(level, { ...fast, balance: true } as never),
    /unknown option balance/,
  );
  await assert.rejects(async () => await classify(waves, { ...fast, epochs: 3 }), /cannot use epochs/);
  await assert.rejects(
    async () => await classify(waves, { ...fast, table: { wide: true } }),
    /waves is rows in memory, which cannot use wide/,
  );
});

Deno.test("the linear forecast counts errors of a channel in units of its standard deviation", async () => {
  const random = Array.from({ length: 800 }, (_, i) => Math.sin(77 * i * i));
  // The values of x alternate. The level of y varies by 1000, so its noise of 1 hardly counts.
  const x = random.slice(0, 400);
  for (let i = 1; i < x.length; i++) x[i] -= 0.9 * x[i - 1];
  x[x.length - 1] = 3;
  const rows = x.map((x, time) => ({ time, x, y: 1000 * Math.sin(time / 60) + random[400 + time] }));
  const options = { model: "linear", horizon: 1, context: 8, device: "cpu" } as const;
  const meanOf = async (rows: readonly { readonly x: number }[]) => {
    const data = { name: "alternating", rows };
    const [{ channels }] = await (await forecast(data, options)).predict(data);
    return channels.x.mean[0];
  };
  const alone = await meanOf(rows.map(({ time, x }) => ({ time, x })));
  const both = await meanOf(rows);
  assert.ok(alone < -1.5, `${alone}`);
  assert.ok(Math.abs(both - alone) < 0.25 * Math.abs(alone), `${both}, expected about ${alone}`);
});
