/** Warnings about series and predictions far outside the training data. */
import assert from "node:assert/strict";
import type { Series } from "../../src/data/series.ts";
import type { DataRecord } from "../../src/series/record/data_record.ts";
import { rangesOf } from "../../src/series/targets/learned_ranges.ts";
import { describeWarnings, rangeWarnings } from "../../src/series/targets/range_warnings.ts";
import { classify, forecast, regress } from "../../src/series/run/learn.ts";
import { runTask, withFolder } from "../tasks/command_line.ts";
import type { RangeWarning } from "../../src/series/record/predictions.ts";
import { testLong } from "../devices.ts";

/** Ten series of the hours 0 to 9: x rises from 0 to 9, plus 0 to 0.9. The column of categories is 0. */
const series = Array.from({ length: 10 }, (_, i): Series => ({
  name: `s${i}`,
  times: Float64Array.from({ length: 10 }, (_, t) => t),
  values: Float64Array.from({ length: 20 }, (_, at) => at % 2 ? 0 : at / 2 + i / 10),
  label: i % 2,
  targets: Float64Array.of(i),
}));
const channels = [
  { name: "x", kind: "number", mean: 4.95, standardDeviation: 2.9 },
  { name: "ward: icu", kind: "category", mean: 0, standardDeviation: 1 },
] as const;
const targets = [{ name: "y", mean: 4.5, standardDeviation: 2.87 }];
const ranges = rangesOf({ channels, targets }, series);
const time = { kind: "number", origin: "first observation of each series", scale: 1 } as const;
const record = { channels, ranges, time } as const;

const withTimes = (change: (time: number) => number): Series => ({
  ...series[0],
  times: series[0].times.map(change),
});
const withValue = (value: number): Series => ({ ...series[0], values: series[0].values.with(4, value) });
const long = (rows: number): Series => ({
  ...series[0],
  times: Float64Array.from({ length: rows }, (_, t) => 9 * t / (rows - 1)),
  values: new Float64Array(2 * rows),
});
const shared: Pick<DataRecord, "channels" | "ranges" | "time"> = {
  ...record,
  time: { ...time, origin: "zero" },
};

/** Each series with the codes of its warnings. */
const cases: readonly [name: string, Series, expected: string[], record?: typeof shared][] = [
  ["a series to learn from", series[3], []],
  ["a value at twice the range", withValue(19), []],
  ["a value 9 standard deviations from the mean", withValue(4.95 - 9 * 2.9), []],
  ["a value 11 standard deviations above the mean", withValue(4.95 + 11 * 2.9), ["value-outside"]],
  ["a value 11 standard deviations below the mean", withValue(4.95 - 11 * 2.9), ["value-outside"]],
  ["a missing value", withValue(NaN), []],
  ["times that are shifted, relative to the start", withTimes((time) => time + 1e6), []],
  ["times that are shifted, on a shared clock", withTimes((time) => time + 1e6), ["time-outside"], shared],
  ["times before the shared clock", withTimes((time) => time - 20), ["time-outside"], shared],
  ["a continuation on the shared clock", withTimes((time) => time + 5), [], shared],
  ["milliseconds in place of seconds", withTimes((time) => 1000 * time), ["duration-outside", "gap-outside"]],
  ["hours in place of seconds", withTimes((time) => time / 3600), ["gap-outside"]],
  ["a series twice as long", withTimes((time) => 2 * time), []],
  ["31 observations in the same time", long(31), ["length-outside"]],
  ["30 observations in the same time", long(30), []],
];

for (const [name, one, expected, given = record] of cases) {
  Deno.test(`${name} gives ${expected.join(", ") || "no warning"}`, () => {
    assert.deepEqual(rangeWarnings(given, one).map(({ code }) => code), expected);
  });
}

Deno.test("a warning has the series, the column, the farthest value and the range", () => {
  const values = series[0].values.with(4, 100).with(6, 1000).with(8, -500);
  assert.deepEqual(rangeWarnings(record, { ...series[0], values }), [
    { code: "value-outside", series: "s0", column: "x", value: 1000, low: 0, high: 9.9 },
  ]);
});

Deno.test("predictions are compared with the training targets", () => {
  const range = ranges.targets![0];
  const codesAt = (value: number) =>
    rangeWarnings(record, series[0], [{ column: "y", values: [4, value], range }]).map(({ code }) => code);
  assert.deepEqual([0, 9, 4.5 + 9 * 2.87, 4.5 - 9 * 2.87].flatMap(codesAt), []);
  for (const far of [4.5 + 11 * 2.87, 4.5 - 11 * 2.87, 1e30]) {
    assert.deepEqual(codesAt(far), ["prediction-outside"]);
  }
});

Deno.test("skewed values may exceed the range by its width, and predictions by 5 standard deviations", () => {
  const skewed = Array.from({ length: 400 }, (_, i) => Float64Array.of(i === 0 ? 1000 : i % 3));
  const one = skewed.map((values, i): Series => ({
    ...series[0],
    name: `${i}`,
    values,
    times: Float64Array.of(0),
  }));
  const found = rangesOf({ channels: [channels[0]], targets: undefined }, one);
  const [range] = found.channels;
  const skewedRecord = { channels: [{ ...channels[0], ...range! }], ranges: found, time };
  const codesAt = (value: number, predicted: number) =>
    rangeWarnings(skewedRecord, { ...one[1], values: Float64Array.of(value) }, [
      { column: "x", values: [predicted], range },
    ]).map(({ code }) => code);
  assert.ok(range!.high > range!.mean + 10 * range!.standardDeviation);
  assert.deepEqual(codesAt(1900, 1000 + 4 * range!.standardDeviation), []);
  assert.deepEqual(codesAt(2100, 1000 + 6 * range!.standardDeviation), [
    "value-outside",
    "prediction-outside",
  ]);
});

Deno.test("a record of an earlier version has no ranges, and gives no warning", () => {
  assert.deepEqual(rangeWarnings({ channels, time }, withValue(1e30)), []);
});

Deno.test("there is a line for each kind and column, with the number of series and the farthest value", () => {
  const warning = (name: string, value: number, column = "x"): RangeWarning => ({
    ...{ code: "value-outside", series: name, column, value, low: 0, high: 9 },
  });
  const lines = describeWarnings([
    {},
    { warnings: [warning("a", 50), warning("a", 60, "z")] },
    { warnings: [warning("b", -500)] },
    { warnings: [{ code: "prediction-outside", series: "b", column: "x", value: 80, low: 0, high: 9 }] },
  ]);
  assert.equal(lines.length, 3);
  assert.match(lines[0], /^values of "x" .*0 to 9.* 2 series, such as -500 in "b"/);
  assert.match(lines[1], /^values of "z" .* 1 series, such as 60 in "a"/);
  assert.match(lines[2], /^predictions of "x" .* 1 series, such as 80 in "b"/);
});

const set = (names: readonly string[]) => ({
  ...{ name: "table", channels: ["x", "w"], times: "number" as const, classes: [] as string[], ...names },
});
const data = { ...set([]), series };
const few = { model: "neural-cde", epochs: 1, hidden: 4, device: "cpu" } as const;

testLong(
  "a neural CDE of a shared clock warns about shifted times, also in a stream and when it is evaluated",
  async () => {
    const labelled = { ...data, classes: ["low", "high"] };
    const model = await classify(labelled, { ...few, online: true });
    assert.equal(model.record.time.origin, "zero");
    const shifted = { ...labelled, series: [series[0], withTimes((time) => time + 1e6)] };
    const [inside, outside] = await model.predict({
      ...shifted,
      series: shifted.series.map((one, i) => ({ ...one, name: `${i}` })),
    });
    assert.equal(inside.warnings, undefined);
    assert.deepEqual(outside.warnings?.map(({ code, value }) => [code, value]), [["time-outside", 1e6 + 9]]);
    const { warnings } = await model.evaluate({ ...labelled, series: [shifted.series[1]] });
    assert.match(warnings.join(), /^times far outside .* in 1 series, such as 1,000,000 in "s0"/);
    const stream = model.stream!("s");
    assert.equal((await stream.push(0, { x: 1, w: 0 })).warnings, undefined);
    assert.deepEqual(
      (await stream.push(1, { x: 1e6, w: 0 })).warnings?.map(({ code, column }) => [code, column]),
      [["value-outside", "x"]],
    );
    assert.deepEqual((await stream.push(1e6, { x: 1, w: 0 })).warnings?.map(({ code }) => code), [
      "time-outside",
    ]);
  },
);

Deno.test("regression and the test set of a training have warnings, and the summary has their lines", async () => {
  const numbered = { ...data, targets: ["y"] };
  const test = {
    ...numbered,
    series: series.slice(0, 3).map((one) => ({ ...one, values: one.values.map((x) => 1e4 * x) })),
  };
  const model = await regress(numbered, { ...few, test });
  assert.match(model.summary.warnings!.join("\n"), /^values of "x" .* in 3 series/);
  assert.match(new TextDecoder().decode(model.files["report.html"]), /Warnings[^]*values of &#34;x&#34; far/);
  const [{ warnings }] = await model.predict(test);
  assert.equal(warnings?.[0].column, "x");
  assert.equal((await regress(numbered, few)).summary.warnings, undefined);
});

testLong(
  "predict and evaluate print the warnings of a run's folder on standard error",
  withFolder(async (folder) => {
    const model = await regress({ ...data, channels: ["x", "w"], targets: ["y"] }, { ...few, noRefit: true });
    await model.save(`${folder}/run`);
    const table = `${folder}/table.csv`;
    const usual = Array.from({ length: 10 }, (_, t) => `b,${t},${t + 0.3},0,3`);
    await Deno.writeTextFile(
      table,
      ["series,time,x,w,label", "a,0,1e9,0,3", "a,1,2,0,3", ...usual, ""].join("\n"),
    );
    const expected =
      /^warning: values of "x" far outside the training data .* in 1 series, such as 1e9 in "a"/m;
    const predicted = await runTask("predict", `${folder}/run`, table);
    assert.match(predicted.stderr, expected);
    assert.equal(predicted.stdout.match(/"warnings"/g)?.length, 1);
    const evaluated = await runTask("evaluate", `${folder}/run`, "--data", table, "--target", "label");
    assert.match(evaluated.stderr, expected);
  }),
);

Deno.test("a forecast far above the training data has a warning, a continued trend has none", async () => {
  const times = Float64Array.from({ length: 60 }, (_, t) => t);
  const trend = { name: "trend", times, values: times.map((t) => 100 + 3 * t + t % 4), label: -1 };
  const table = { ...set([]), channels: ["x"], series: [trend] };
  const model = await forecast(table, { model: "linear", horizon: 6, season: 4, device: "cpu" });
  assert.equal(model.summary.warnings, undefined);
  assert.equal((await model.predict(table))[0].warnings, undefined);
  const high = { ...table, series: [{ ...trend, values: trend.values.map((x) => 1000 + 9 * x) }] };
  const [{ warnings }] = await model.predict(high);
  assert.deepEqual(warnings?.map(({ code, column }) => `${code} ${column}`), [
    "value-outside x",
    "prediction-outside x",
  ]);
});
