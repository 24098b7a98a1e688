/** The model boosted-trees of own-series: fitted, stopped, resumed, evaluated and predicted. */
import assert from "node:assert/strict";
import { ownSeries } from "../../src/series/run/own_series.ts";
import type { ClassPrediction, NumberPrediction } from "../../src/series/record/predictions.ts";
import type { DataRecord } from "../../src/series/record/data_record.ts";
import type { SeriesSettings } from "../../src/series/record/settings.ts";
import { treeNetwork } from "../../src/series/models/trees/tree_network.ts";
import { key } from "../../src/tensor/random.ts";
import { configOf } from "../../src/train/run/config.ts";
import { settingsOf } from "../../src/train/experiment.ts";
import { execute } from "../../src/train/mod.ts";
import { startRun } from "../runs.ts";
import { opened, trainedAndResumed, write } from "./own_series_runs.ts";
import { withFolder } from "../tasks/command_line.ts";

function settingsFor(data: string, chosen: object = {}) {
  return configOf(ownSeries, { device: "cpu", data, model: "boosted-trees", ...chosen });
}

/**
 * Visits at uneven times with missing values. The class depends on the last value of `x`, and on its limit: the static
 * column `age`. The number is the last value.
 */
function visits(count: number, first = 0): unknown[][] {
  return Array.from({ length: count }, (_, s) => {
    const id = first + s;
    const length = 3 + id % 4;
    const age = 40 + id * 7 % 30;
    const last = id * 37 % 100 / 10;
    return Array.from({ length }, (_, t) => {
      const x = t === length - 1 ? last : (id * 13 + t * 29) % 100 / 10;
      const label = last > (age > 55 ? 7 : 3) ? "high" : "low";
      return [`v${id}`, t + id % 3 / 5, x, t % 2 ? (id + t) % 5 : "", age, label, last];
    });
  }).flat();
}

const columns = "series,time,x,y,age,label,value";

Deno.test(
  "classes are learned, with equal results after a stop, a resumption and a move",
  withFolder(async (folder) => {
    const data = await write(`${folder}/visits.csv`, columns, visits(70));
    const fresh = await write(`${folder}/fresh.csv`, columns, visits(30, 70));
    const config = settingsFor(data, { table: { static: ["age"], ignore: ["value"] } });
    const { measured } = await trainedAndResumed(folder, config, fresh);
    assert.ok(measured.measures.accuracy > 0.85, `${measured.measures.accuracy}`);
  }),
);

/**
 * Fits to series with a bump in the first or the second quarter, and a bump of any height in the last one, with a record of
 * a version. Returns the number of errors.
 */
async function errorsOnBumps(version: 3 | 4): Promise<number> {
  const series = Array.from({ length: 60 }, (_, s) => ({
    name: `s${s}`,
    times: Float64Array.from({ length: 24 }, (_, t) => t),
    values: Float64Array.from(
      { length: 24 },
      (_, t) => t === (s % 2 ? 2 : 8) + s % 3 ? 1 : t === 20 ? s * 7 % 11 / 2 : 0,
    ),
    label: s % 2,
  }));
  const range = { mean: 24, standardDeviation: 1, low: 24, high: 24 };
  const record = {
    ...{ version, channels: [{ name: "x" }], classes: ["late", "early"] },
    split: { train: series, validation: [], test: [] },
    ranges: { durations: range, lengths: range },
  } as unknown as DataRecord;
  const settings = { seed: 0 } as SeriesSettings;
  const network = treeNetwork({ record, settings, key: key(0), train: series, width: 1, depth: 1 }, 2);
  await network.fit!(series, Float64Array.from(series.flatMap(({ label }) => label ? [-1, 1] : [1, -1])));
  const rows = await network.read(series);
  return rows.filter(([late, early], i) => (early > late ? 1 : 0) !== series[i].label).length;
}

Deno.test("series of equal durations have features of equal parts, from version 4 of the record on", async () => {
  assert.equal(await errorsOnBumps(4), 0);
  assert.ok(await errorsOnBumps(3) > 5);
});

Deno.test(
  "several numbers are learned",
  withFolder(async (folder) => {
    const rows = visits(120).map((row) => [...row.slice(0, 5), row[6], 100 * Number(row[4])]);
    const data = await write(`${folder}/visits.csv`, "series,time,x,y,age,value,weight", rows);
    const run = await startRun(
      settingsFor(data, { task: "regress", table: { target: ["value", "weight"], static: ["age"] } }),
      `${folder}/runs`,
    );
    const { summary } = await execute(run);
    assert.ok(summary!.test["value r2"] > 0.8, JSON.stringify(summary!.test));
    assert.ok(summary!.test["weight r2"] > 0.9, JSON.stringify(summary!.test));
    const { model } = await opened(run.folder.path);
    const predictions = await model.predict!(await model.series!(data)) as NumberPrediction[];
    assert.equal(predictions.length, 120);
    // Trees do not extrapolate.
    for (const { numbers } of predictions) {
      assert.ok(numbers.value > -1 && numbers.value < 11, `${numbers.value}`);
    }
  }),
);

Deno.test(
  "a rare class is predicted more often if classes have equal weights",
  withFolder(async (folder) => {
    const rows = Array.from(
      { length: 70 },
      (_, i) => [`s${i}`, 0, i * 17 % 30, i * 17 % 30 > 20 && i % 3 === 0 ? "rare" : "common"],
    );
    const data = await write(`${folder}/points.csv`, "series,time,x,label", rows);
    const rareOf = async (balance: boolean) => {
      const run = await startRun(settingsFor(data, { balance }), `${folder}/runs`);
      await execute(run);
      const { model } = await opened(run.folder.path);
      const predictions = await model.predict!(await model.series!(data)) as ClassPrediction[];
      return predictions.filter(({ label }) => label === "rare").length;
    };
    const [weighted, plain] = [await rareOf(true), await rareOf(false)];
    assert.ok(weighted > plain, `${weighted} and ${plain}`);
  }),
);

Deno.test("options of optimiser steps are rejected", () => {
  const model = "boosted-trees";
  const wrong = { epochs: 3, learningRate: 0.1, patience: 2, intensity: true, hidden: 8, online: true };
  for (const [name, value] of Object.entries(wrong)) {
    assert.throws(() => settingsOf(ownSeries, { model, [name]: value }), new RegExp(`cannot use ${name}`));
  }
});
