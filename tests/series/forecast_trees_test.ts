/** Forecasts by boosted trees: their features, and what they learn. */
import assert from "node:assert/strict";
import { execute, type RunConfig } from "../../src/train/mod.ts";
import type { ForecastPrediction } from "../../src/series/record/predictions.ts";
import { windowAt } from "../../src/series/read/forecast_windows.ts";
import { seriesNetwork } from "../../src/series/models/series_network.ts";
import {
  channelPasts,
  type FeatureSizes,
  forecastFeatures,
  naiveValue,
} from "../../src/series/models/trees/forecast_features.ts";
import { treeForecaster } from "../../src/series/models/trees/tree_forecaster.ts";
import { key } from "../../src/tensor/random.ts";
import type { Series } from "../../src/data/series.ts";
import { openTrained, startRun } from "../runs.ts";
import { withFolder } from "../tasks/command_line.ts";

const day = 86_400;
const scale = { mean: 0, standardDeviation: 1, kind: "number" as const };

/** Days with a season of two, the channel `x`, the known column `known` and the static column `static`. */
const sizes: FeatureSizes = {
  statistics: [
    { ...scale, name: "x" },
    { ...scale, name: "known", role: "known" },
    { ...scale, name: "static", role: "static" },
  ],
  ...{ targetChannels: [0], gap: day, season: 2, names: ["a", "b"], context: 4, horizon: 3 },
  time: { kind: "date" },
};

/** A series of days up to 2 March 2024. The past ends on 28 February. */
function seriesOf(rows: readonly (readonly number[])[], name = "b"): Series {
  const end = Date.UTC(2024, 2, 2) / 1000;
  return {
    ...{ name, label: -1, values: Float64Array.from(rows.flat()) },
    times: Float64Array.from(rows, (_, row) => end - (rows.length - 1 - row) * day),
  };
}

/** The window of a series at a position. */
const windowOf = (series: Series, present: number) =>
  windowAt(series, present, 3, { ...sizes, seasonalErrors: [], trained: [] });

/** Features of the channel `x` at the three steps, by name. */
function featuresOf(series: Series): Record<string, number[]> {
  const [past] = channelPasts(windowOf(series, series.times.length - 4), sizes);
  return Object.fromEntries(
    forecastFeatures(sizes).map((feature) => [
      feature.name,
      [1, 2, 3].map((step) => "ofPast" in feature ? feature.ofPast(past) : feature.ofStep(past, step)),
    ]),
  );
}

const rows = [
  ...[[1, 10, 7], [3, 20, 7], [3, 30, 7], [1, 40, 7]],
  ...[[5, 50, 7], [6, NaN, 7], [8, 70, 7]],
];

Deno.test("features of trees are lags, windows, periods, dates, known columns and the series", () => {
  // The past has mean 2 and standard deviation 1, so its scaled values are -1, 1, 1, -1.
  assert.deepEqual(featuresOf(seriesOf(rows)), {
    "step": [1, 2, 3],
    "value 0 steps before the origin": [-1, -1, -1],
    "value 1 steps before the origin": [1, 1, 1],
    "value 2 steps before the origin": [1, 1, 1],
    "value 3 steps before the origin": [-1, -1, -1],
    "mean of 2 steps": [0, 0, 0],
    "standard deviation of 2 steps": [1, 1, 1],
    "mean": [2, 2, 2],
    "standard deviation": [1, 1, 1],
    "value 1 periods of 2 steps before": [1, -1, 1],
    "value 2 periods of 2 steps before": [-1, 1, -1],
    "mean of values whole periods of 2 steps before": [0, 0, 0],
    // 29 February is a Thursday.
    "weekday": [3, 4, 5],
    "day of the month": [29, 1, 2],
    "month": [2, 3, 3],
    "day of the year": [60, 61, 62],
    "known": [50, NaN, 70],
    "known a season before": [30, 40, 30],
    "static": [7, 7, 7],
    "series": [1, 1, 1],
    // Since 27 and 28 February, whose values the naive forecast repeats.
    "change of known": [20, NaN, 40],
  });
});

Deno.test("features before the first observation, and the place of an unknown series, are missing", () => {
  const features = featuresOf(seriesOf(rows.slice(2), "new"));
  // The grid repeats the first value: 3, 3, 3, 1 has mean 2.5 and variance 0.75.
  const first = 0.5 / Math.sqrt(0.75);
  assert.deepEqual(features["value 1 steps before the origin"], [first, first, first]);
  assert.deepEqual(features["value 2 steps before the origin"], [NaN, NaN, NaN]);
  assert.deepEqual(features["value 2 periods of 2 steps before"], [NaN, NaN, NaN]);
  assert.deepEqual(features.series, [NaN, NaN, NaN]);
});

Deno.test("features do not change with later values, except those of known columns", () => {
  const before = featuresOf(seriesOf(rows));
  const later = (row: number, change: (values: readonly number[]) => number[]) =>
    featuresOf(seriesOf(rows.map((values, i) => i === row ? change(values) : values)));
  for (const row of [4, 5, 6]) {
    assert.deepEqual(later(row, ([, ...others]) => [1e6, ...others]), before, `row ${row}`);
    assert.deepEqual(later(row, ([x, known]) => [x, known, 99]), before, `static, row ${row}`);
  }
  const { known, "change of known": change, ...others } = later(6, ([x, , fixed]) => [x, 71, fixed]);
  assert.deepEqual(known, [50, NaN, 71]);
  assert.deepEqual(change, [20, NaN, 41]);
  assert.deepEqual({ ...others, known: before.known, "change of known": before["change of known"] }, before);
});

Deno.test("without a season, changes of known columns are those since the forecast origin", () => {
  const noSeason = { ...sizes, season: 1 };
  const [past] = channelPasts(windowOf(seriesOf(rows), 3), noSeason);
  const change = forecastFeatures(noSeason).find(({ name }) => name === "change of known")!;
  assert.ok("ofStep" in change);
  assert.deepEqual([1, 2, 3].map((step) => change.ofStep(past, step)), [10, NaN, 30]);
});

Deno.test("the naive value of trees is that of a season before, of the forecast origin, or the mean", () => {
  const [past] = channelPasts(windowOf(seriesOf(rows), 3), sizes);
  assert.deepEqual([1, 2, 3].map((step) => naiveValue(past, step, 2)), [1, -1, 1]);
  assert.deepEqual([1, 2, 3].map((step) => naiveValue(past, step, 1)), [-1, -1, -1]);
  assert.deepEqual([1, 2, 3].map((step) => naiveValue(past, step, 9)), [-1, -1, -1], "a longer season");
  const unknown = rows.map(([, ...others]) => [NaN, ...others]);
  const [empty] = channelPasts(windowOf(seriesOf(unknown), 3), sizes);
  assert.equal(naiveValue(empty, 1, 2), 0);
});

Deno.test("trees without a row to learn from forecast the season before", async () => {
  const model = treeForecaster({
    ...sizes,
    ...{ channels: 3, futureCovariates: 1, hidden: 1, key: key(0) },
    network: (kind, outputs) =>
      seriesNetwork({ models: { kind } } as unknown as Parameters<typeof seriesNetwork>[0], outputs),
  });
  await model.fit!({ series: [], windows: [], tuning: [] });
  const [{ steps }] = model.host!.forecast(windowOf(seriesOf(rows), 3));
  assert.deepEqual([...steps], [3, 1, 3]);
});

const known = (t: number) => Math.round(10 * Math.abs(Math.sin(77 * t * t)));
const value = (t: number) => (known(t) > 5 ? 40 : 10) + t % 24;

/** Hours of a value that a known column decides. Later rows have the known column alone. */
function tableOf(hours: number, { from = 0, knownUntil = hours } = {}): string {
  const lines = Array.from({ length: knownUntil - from }, (_, i) => {
    const t = from + i;
    const time = new Date(Date.UTC(2024, 0, 1, t)).toISOString().slice(0, 16).replace("T", " ");
    return `${time},${t < hours ? value(t) : ""},${known(t)}`;
  });
  return `time,x,known\n${lines.join("\n")}\n`;
}

const config = (data: string): RunConfig => ({
  ...{ experiment: "own-series", device: "cpu", seed: 0, epochs: 1, batchSize: 64, learningRate: 0.003 },
  ...{ hidden: 4, task: "forecast", horizon: 6, data, model: "boosted-trees", table: { known: ["known"] } },
});

Deno.test(
  "forecasts of trees follow known columns, and are equal after training, from the folder and in a stream",
  withFolder(async (folder) => {
    const data = `${folder}/own.csv`;
    await Deno.writeTextFile(data, tableOf(400));
    const run = await startRun(config(data), `${folder}/runs`);
    const { summary } = await execute(run);
    const { test, baselines } = summary!;
    assert.ok(test.mase < 0.1 * baselines!["the season before"].mase, `${test.mase}`);
    const present = `${folder}/present.csv`;
    await Deno.writeTextFile(present, tableOf(400, { from: 300, knownUntil: 406 }));
    const open = async () => (await openTrained(run.config, run.folder)).model;
    const trained = await open();
    const set = await trained.series!(present);
    const [expected] = await trained.predict!(set) as ForecastPrediction[];
    expected.channels.x.mean.forEach((mean, h) => {
      assert.ok(Math.abs(mean - value(400 + h)) < 5, `step ${h + 1}: ${mean}, expected ${value(400 + h)}`);
    });
    assert.deepEqual((await (await open()).predict!(set))[0], expected);
    const stream = trained.stream!(expected.series);
    const [{ times, values }] = set.series;
    let last;
    for (let i = 0; i < times.length; i++) {
      last = await stream.push(times[i], Array.from(values.subarray(2 * i, 2 * i + 2)));
    }
    assert.deepEqual(last, expected);
  }),
);
