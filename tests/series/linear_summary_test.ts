/** The linear model of summaries beneath models of users' own series. */
import assert from "node:assert/strict";
import { linearOutputs } from "../../src/series/math/linear_model.ts";
import { fitScreenedRidge } from "../../src/series/math/screened_ridge.ts";
import { classify, openTrained, regress } from "../../src/series/mod.ts";
import type { DataRecord, RecordedChannel } from "../../src/series/record/data_record.ts";
import type { ClassPrediction, NumberPrediction } from "../../src/series/record/predictions.ts";
import { featuresOfSeries, isSummary, RunningSummary } from "../../src/series/record/running_summary.ts";
import type { SeriesSettings } from "../../src/series/record/settings.ts";
import { ownSeries } from "../../src/series/run/own_series.ts";
import { neuralModels } from "../../src/series/models/neural/neural_models.ts";
import { seriesNetwork } from "../../src/series/models/series_network.ts";
import { key } from "../../src/tensor/random.ts";
import { treeFlatten } from "../../src/tensor/tree.ts";
import { configOf, type RunConfig } from "../../src/train/run/config.ts";
import { scoreWithShare } from "../../src/series/targets/score.ts";

const close = (found: number, expected: number, bound: number, message?: string) =>
  assert.ok(Math.abs(found - expected) <= bound, `${message ?? ""} ${found}, expected ${expected}`);

Deno.test("the outputs of a linear model are the bias and the weighted distances to the means", () => {
  const linear = { places: [2, 0], mean: [1, 10], weight: [1, -1, 0.5, 2], bias: [3, 4] };
  // 3 + 1 (4 - 1) + 0.5 (12 - 10), and 4 - 1 (4 - 1) + 2 (12 - 10).
  assert.deepEqual(linearOutputs(linear, [12, 99, 4]), [7, 5]);
});

Deno.test("a fit finds a linear function, and leaves out constant features", () => {
  const rows = Array.from({ length: 40 }, (_, i) => [7, i, (i * 17) % 40]);
  const linear = fitScreenedRidge(rows, Float64Array.from(rows, ([, x, y]) => 5 + 2 * x - y), 0);
  assert.deepEqual(linear.places.toSorted(), [1, 2]);
  for (const row of [[7, 0, 0], [7, 10, 30], [0, 50, -5]]) {
    close(linearOutputs(linear, row)[0], 5 + 2 * row[1] - row[2], 0.01);
  }
});

Deno.test("with the power 2, features without information change the predictions less", () => {
  const noise = (i: number, j: number) => Math.sin(1e4 * Math.sin(i + 61 * j));
  const rows = Array.from(
    { length: 80 },
    (_, i) => [i / 40, ...Array.from({ length: 60 }, (_, j) => noise(i, j))],
  );
  const target = (i: number) => i / 40 + 0.3 * noise(i, 99);
  const errorOf = (power: number) => {
    const linear = fitScreenedRidge(
      rows.slice(0, 40).map((_, i) => rows[2 * i]),
      Float64Array.from({ length: 40 }, (_, i) => target(2 * i)),
      power,
    );
    return rows.reduce((sum, row, i) => i % 2 ? sum + (linearOutputs(linear, row)[0] - i / 40) ** 2 : sum, 0);
  };
  assert.ok(errorOf(2) < 0.5 * errorOf(0));
});

/** A channel whose scaled values are the values. */
const channel = (role?: "static") =>
  ({
    name: "x",
    kind: "number",
    mean: 0,
    standardDeviation: 1,
    ...(role ? { role } : {}),
  }) satisfies RecordedChannel;

Deno.test("a summary has the features of each channel, and the numbers of rows and the duration", () => {
  const record = {
    channels: [channel(), channel("static"), channel()],
    time: { kind: "number", origin: "zero", scale: 2 },
  } satisfies Pick<DataRecord, "channels" | "time">;
  const series = {
    times: Float64Array.of(10, 11, 14),
    values: Float64Array.of(5, 9, NaN, 1, 9, NaN, NaN, 9, NaN),
  };
  const expected = [
    // Last, first, smallest, largest, mean, standard deviation, time since the last value, number of values.
    ...[1, 5, 1, 5, 3, 2, Math.log(1 + 2 * 3), Math.log(3)],
    9,
    // A channel without values, after the duration of 4.
    ...[0, 0, 0, 0, 0, 0, Math.log(1 + 2 * 4), 0],
    ...[Math.log(3), Math.log(1 + 2 * 4)],
  ];
  featuresOfSeries(series, record).forEach((feature, f) =>
    close(feature, expected[f], 1e-12, `feature ${f}`)
  );
  const summary = new RunningSummary(2);
  summary.add(3, [NaN, 4]);
  const state = summary.save();
  assert.ok(isSummary(JSON.parse(JSON.stringify(state)), 2));
  for (const damaged of [undefined, { ...state, rows: 0 }, { ...state, channels: [[], []] }]) {
    assert.ok(!isSummary(damaged, 2));
  }
});

Deno.test("the share of a network is the one with the smallest loss", () => {
  const series = [1, 2, 3, 4].map((y) => ({ label: -1, targets: Float64Array.of(y) }));
  const linear = series.map(({ targets }) => [targets[0] + 1]);
  const scored = (outputs: number[][]) => scoreWithShare(series, outputs, linear, { classes: 0 });
  assert.deepEqual([
    scored(series.map(({ targets }) => [targets[0]])).share,
    scored([[0], [9], [0], [9]]).share,
  ], [1, 0]);
  const half = scored(series.map(({ targets }) => [targets[0] - 1]));
  assert.deepEqual([half.share, half.loss], [0.5, 0]);
  // Folds without a linear model have the outputs of the network for every share.
  const partly = linear.map((row, i) => i < 2 ? undefined : row);
  const wrong = series.map(({ targets }, i) => [targets[0] + (i < 2 ? 0 : 2)]);
  assert.deepEqual(scoreWithShare(series, wrong, partly, { classes: 0 }).errors, [0, 0, 0.8, 0.8]);
  const none = linear.map(() => undefined);
  assert.equal(scoreWithShare(series, linear, none, { classes: 0 }).share, undefined);
});

/** Visits: the number is the last value of x and half of z, and the class says whether x is above 8 at the end. */
const rows = Array.from({ length: 60 * 6 }, (_, i) => {
  const [person, visit] = [Math.floor(i / 6), i % 6];
  const x = Math.exp(2 + 2 * Math.sin(1e3 * Math.sin(person)) + 0.3 * Math.sin(7 * visit + person));
  const z = Math.cos(5 * person + visit);
  return { series: `p${person}`, time: visit ** 2 + person % 3, x, z, end: person };
});
const lastOf = (person: number) => rows[6 * person + 5];
const numbers = {
  name: "numbers",
  rows: rows.map(({ end, ...row }) => ({
    ...row,
    ...(row.time % 3 === 1 ? { x: null } : {}),
    y: Math.log(lastOf(end).x) + lastOf(end).z / 2,
  })),
};
const classes = {
  name: "classes",
  rows: rows.map(({ end, ...row }) => ({ ...row, label: lastOf(end).x > 8 ? "high" : "low" })),
};
const brief = { device: "cpu", epochs: 1, ensemble: 2, online: true, hidden: 4, width: 4 } as const;

Deno.test("a model that has hardly learned predicts last values, and the same from its files and in a stream", async () => {
  const model = await regress(numbers, { ...brief, model: "neural-cde", table: { target: ["y"] } });
  assert.ok(model.record.linear);
  assert.ok(model.record.channels[0].asinh);
  assert.ok(model.summary.test.r2 > 0.8, `R² ${model.summary.test.r2}`);
  const expected = await model.predict(numbers) as NumberPrediction[];
  const opened = await openTrained(model.files, { task: "regress", device: "cpu" });
  assert.deepEqual(await opened.predict(numbers), expected);
  for (const person of [0, 4]) {
    const stream = model.stream!(`p${person}`);
    let last: NumberPrediction | undefined;
    for (const { time, x, z } of numbers.rows.slice(6 * person, 6 * person + 6)) {
      last = await stream.push(time, { x, z }) as NumberPrediction;
    }
    close(last!.numbers.y, expected[person].numbers.y, 1e-5);
  }
});

Deno.test("a network of zeros gives the linear model, and a record without one the network alone", async () => {
  const linear = { places: [0, 4], mean: [1, 0], weight: [2, 1], bias: [0.25] };
  const record: DataRecord = {
    ...{ version: 2, channels: [channel()], classes: [], length: 3, ignored: [] },
    time: { kind: "number", origin: "first observation of each series", scale: 1 },
    targets: [{ name: "y", mean: 0, standardDeviation: 1 }],
    training: { ensemble: 2, found: { steps: 1, temperature: 1, share: 0.5 } },
    split: { train: [], validation: [], test: [] },
  };
  const series = {
    name: "a",
    label: -1,
    times: Float64Array.of(0, 1, 2),
    values: Float64Array.of(3, NaN, 5),
  };
  await neuralModels.warp.load!();
  const networkOf = (record: DataRecord) =>
    seriesNetwork({
      ...{ record, key: key(3), width: 4, depth: 1 },
      settings: configOf(ownSeries, { model: "warp", hidden: 4, data: "none", task: "regress" }) as
        & RunConfig
        & SeriesSettings,
    }, 1);
  const [added, without] = [networkOf({ ...record, linear }), networkOf(record)];
  const [[found], [alone]] = [await added.read([series]), await without.read([series])];
  // 0.25 + 2 (5 - 1) + (4 - 0): the last value is 5, and the mean 4.
  close(found[0], 12.25 + 0.5 * alone[0], 1e-5);
  assert.notEqual(alone[0], 0);
  for (const [, parameter] of treeFlatten(added.parameters)) parameter.assign(parameter.mul(0));
  assert.equal((await added.read([series]))[0][0], 12.25);
});

Deno.test("streams of classes equal the predictions of the whole series", async () => {
  const model = await classify(classes, { ...brief, model: "delta", heads: 1, width: undefined });
  assert.ok(model.record.linear);
  const expected = await model.predict(classes) as ClassPrediction[];
  const stream = model.stream!("p7");
  let last: ClassPrediction | undefined;
  for (const { time, x, z } of classes.rows.slice(42, 48)) {
    last = await stream.push(time, { x, z }) as ClassPrediction;
  }
  close(last!.probability, expected[7].probability, 1e-5);
  const saved = await stream.save();
  assert.throws(
    () => model.stream!("p7", { ...saved, summary: undefined } as typeof saved),
    /not a saved state/,
  );
});
