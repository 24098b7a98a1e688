/** The model random-convolutions of own-series: fitted, stopped, resumed, evaluated and predicted. */
import assert from "node:assert/strict";
import { ownSeries } from "../../src/series/run/own_series.ts";
import type { NumberPrediction } from "../../src/series/record/predictions.ts";
import type { DataRecord } from "../../src/series/record/data_record.ts";
import type { SeriesSettings } from "../../src/series/record/settings.ts";
import { ridgeNetwork } from "../../src/series/models/ridge_network.ts";
import { measureNew } from "../../src/series/models/trained_model.ts";
import { configOf } from "../../src/train/run/config.ts";
import { key } from "../../src/tensor/random.ts";
import { treeFlatten } from "../../src/tensor/tree.ts";
import { settingsOf } from "../../src/train/experiment.ts";
import { execute } from "../../src/train/mod.ts";
import { testLong } from "../devices.ts";
import { startRun } from "../runs.ts";
import { opened, trainedAndResumed, write } from "./own_series_runs.ts";
import { withFolder } from "../tasks/command_line.ts";

/** Waves of a random phase at uneven times, with missing values. The class is the frequency alone. */
function waves(count: number, first = 0): unknown[][] {
  return Array.from({ length: count }, (_, s) =>
    Array.from({ length: 30 + s % 5 }, (_, t) => {
      const [i, time] = [first + s, t + 0.3 * Math.sin(t * (s + 1))];
      const angle = 2.4 * i + time * (i % 2 ? 0.9 : 0.6);
      return [
        `s${i}`,
        time.toFixed(3),
        (t + i) % 7 ? Math.sin(angle).toFixed(4) : "",
        i % 2 ? "fast" : "slow",
      ];
    })).flat();
}

/** Configuration of a run on a table. */
function settingsFor(data: string, chosen: object = {}) {
  return configOf(ownSeries, { device: "cpu", data, model: "random-convolutions", ...chosen });
}

testLong(
  "classes that only a frequency separates are learned, with equal results after a stop, a resumption and a move",
  withFolder(async (folder) => {
    const data = await write(`${folder}/waves.csv`, "series,time,x,label", waves(24));
    const fresh = await write(`${folder}/fresh.csv`, "series,time,x,label", waves(12, 100));
    const { trained, summary, metrics, measured, predictions } = await trainedAndResumed(
      folder,
      settingsFor(data),
      fresh,
    );
    assert.deepEqual([summary.epochs, metrics[0].step], [1, 0]);
    const { measures, seen, count } = measured;
    assert.deepEqual([measures.accuracy, seen, count], [1, 0, 12]);
    assert.ok(measures.logLoss < 0.3, `${measures.logLoss}`);
    // The final fit is to the training and the validation set.
    assert.equal((await measureNew(trained, data)).seen, 20);
    assert.deepEqual(
      predictions.map(({ label }) => label),
      predictions.map((_, i) => i % 2 ? "fast" : "slow"),
    );
  }),
);

/** A model that is fitted to 12 waves, with a record of a version. */
async function fittedTo(version: 2 | 3) {
  const series = Array.from({ length: 12 }, (_, s) => ({
    name: `s${s}`,
    times: Float64Array.from({ length: 20 }, (_, t) => t),
    values: Float64Array.from({ length: 20 }, (_, t) => Math.sin(s + t * (s % 2 ? 0.9 : 0.4))),
    label: s % 2,
  }));
  const record = {
    version,
    channels: [{ name: "x", kind: "number", mean: 0, standardDeviation: 1 }],
    time: { kind: "number", origin: "zero", scale: 1 },
    classes: ["slow", "fast"],
    split: { train: series, validation: [], test: [] },
    ranges: {},
  } as unknown as DataRecord;
  const options = { record, key: key(3), train: series, settings: {} as SeriesSettings, width: 1, depth: 1 };
  const network = ridgeNetwork(options, 2);
  const targets = Float64Array.from(series.flatMap(({ label }) => label ? [-1, 1] : [1, -1]));
  await network.fit!(series, targets);
  const times = (factor: number) =>
    series.map((one) => ({ ...one, values: one.values.map((x) => x * factor) }));
  return { network, read: (factor: number) => network.read(times(factor)) };
}

Deno.test("features far outside their range in training count as the end of the range", async () => {
  const { read, network } = await fittedTo(3);
  assert.deepEqual(new Map(treeFlatten(network.parameters)).get("weight")!.shape, [43013, 2]);
  const [far, farther] = [await read(1e4), await read(1e6)];
  far.forEach(([one], i) => {
    assert.ok(Math.abs(one) < 2, `${one}`);
    // Shares of values above a bias still change a little.
    assert.ok(Math.abs(one - farther[i][0]) < 0.01, `${one}, ${farther[i][0]}`);
  });
});

Deno.test("a model of an earlier record has one draw of features, without bounds", async () => {
  const { read, network } = await fittedTo(2);
  assert.deepEqual(Object.keys(network.parameters).sort(), [
    "bias",
    "grid",
    "mean",
    "scale",
    "thresholds",
    "weight",
  ]);
  assert.deepEqual(new Map(treeFlatten(network.parameters)).get("weight")!.shape, [10757, 2]);
  assert.ok((await read(1e4)).some(([one]) => Math.abs(one) > 100));
});

testLong(
  "numbers are predicted from a level that convolutions cannot see",
  withFolder(async (folder) => {
    const rows = Array.from({ length: 60 }, (_, i) =>
      Array.from({ length: 20 }, (_, t) => {
        const level = i * 7 % 60 / 10;
        const [height, speed] = [3 * level + 100, i % 5];
        return [`s${i}`, t, (level + 0.1 * Math.sin(0.3 * i % 5 * t)).toFixed(4), height, speed];
      })).flat();
    const data = await write(`${folder}/levels.csv`, "series,time,x,height,speed", rows);
    const run = await startRun(
      settingsFor(data, { task: "regress", table: { target: ["height", "speed"] } }),
      `${folder}/runs`,
    );
    const { summary } = await execute(run);
    assert.ok(summary!.test["height r2"] > 0.95, JSON.stringify(summary!.test));
    const { model } = await opened(run.folder.path);
    const predictions = await model.predict!(await model.series!(data)) as NumberPrediction[];
    const errors = predictions.map(({ numbers }, i) =>
      Math.abs(numbers.height - (3 * (i * 7 % 60) / 10 + 100))
    );
    assert.ok(errors.reduce((sum, error) => sum + error) / 60 < 1, `${errors}`);
  }),
);

testLong(
  "a table of static channels, single observations and missing channels is learned",
  withFolder(async (folder) => {
    const rows = Array.from(
      { length: 40 },
      (_, i) => [`s${i}`, 0, i % 2 ? 1 : "", i % 2 ? 5 : 4, `c${i % 2}`],
    );
    const data = await write(`${folder}/points.csv`, "series,time,x,age,label", rows);
    const run = await startRun(settingsFor(data, { table: { static: ["age"] } }), `${folder}/runs`);
    assert.equal((await execute(run)).summary!.test.accuracy, 1);
  }),
);

Deno.test("options of optimiser steps are rejected, and forecasts do not have the model", () => {
  const model = "random-convolutions";
  assert.equal(settingsOf(ownSeries, { model }).epochs, 1);
  assert.equal(settingsOf(ownSeries, { model, batchSize: 4 }).batchSize, 4);
  const wrong = {
    epochs: 3,
    learningRate: 0.1,
    patience: 2,
    balance: true,
    intensity: true,
    hidden: 8,
    online: true,
  };
  for (const [name, value] of Object.entries(wrong)) {
    assert.throws(() => settingsOf(ownSeries, { model, [name]: value }), new RegExp(`cannot use ${name}`));
  }
  assert.throws(
    () => settingsOf(ownSeries, { model, task: "forecast" }),
    /unknown model "random-convolutions"/,
  );
});
