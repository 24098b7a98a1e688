import assert from "node:assert/strict";
import { ettWindows, parseLongSeries } from "../../../tasks/papers/data/ett.ts";

const row = (hour: number, ...values: (number | string)[]) =>
  `2016-07-01 ${`${hour}`.padStart(2, "0")}:00:00,${values.join(",")}`;
const table = (...rows: string[]) => ["date,load,oil", ...rows, ""].join("\n");

Deno.test("a table of dates and channels becomes one series", () => {
  const series = parseLongSeries(table(row(0, 1.5, 30), row(1, -2, 31), row(2, 0, 32)), "h1");
  assert.deepEqual(series.columns, ["load", "oil"]);
  assert.deepEqual([...series.values], [1.5, 30, -2, 31, 0, 32]);
  assert.equal(series.times[1] - series.times[0], 3600);
});

Deno.test("faults of an ETT table are reported with their line", () => {
  const assertRejects = (text: string, message: RegExp) =>
    assert.throws(() => parseLongSeries(text, "h1"), message);
  assertRejects("time,load\n", /h1, line 1: no column "date"/);
  assertRejects("date,load,load\n", /h1, line 1: two columns are called "load"/);
  assertRejects(
    table(row(0, 1, 2), row(1, 1, "0x1F")),
    /line 3: expected a number.*in column "oil", got "0x1F"/,
  );
  assertRejects(
    table(row(0, 1, 2), row(1, 1, 1e300)),
    /line 3: expected a number.*in column "oil", got "1e\+300"/,
  );
  assertRejects(table(row(0, 1, 2), row(1, 1)), /line 3: 2 fields, expected 3/);
  assertRejects(table(row(0, 1, 2), row(1, 1, "x")), /line 3: expected a number.*in column "oil", got "x"/);
  assertRejects(table(row(0, 1, 2), row(1, 1, "")), /line 3: no number in oil/);
  assertRejects(
    table(row(0, 1, 2), row(1, 1, 2), row(3, 1, 2)),
    /line 4: 2016-07-01T03:00:00.000Z is not 3600 s after/,
  );
});

Deno.test("windows lie in one part, use the scaling of the training part, and overlap only in the context", () => {
  const rows = Array.from({ length: 20 }, (_, hour) => row(hour, hour, 100 + 2 * hour));
  const series = parseLongSeries(table(...rows), "h1");
  const hours = { train: 10, validation: 5, test: 5 };
  const { splits, statistics } = ettWindows(series, { context: 2, horizon: 2, hours });
  assert.deepEqual(statistics.map(({ mean }) => mean), [4.5, 109]);
  const load = (part: keyof typeof splits) => {
    const { values, shape: [count, length, channels] } = splits[part];
    return Array.from(
      { length: count },
      (_, i) =>
        Array.from(
          { length },
          (_, t) =>
            Math.round(
              values[(i * length + t) * channels] * statistics[0].standardDeviation + statistics[0].mean,
            ),
        ),
    );
  };
  assert.deepEqual(load("train").map((window) => window.at(-1)), [3, 4, 5, 6, 7, 8, 9]);
  assert.deepEqual(load("validation"), [[8, 9, 10, 11], [9, 10, 11, 12], [10, 11, 12, 13], [11, 12, 13, 14]]);
  assert.deepEqual(load("test").at(-1), [16, 17, 18, 19]);
  assert.deepEqual(ettWindows(series, { context: 2, horizon: 2, hours, every: 3 }).splits.train.shape, [
    3,
    4,
    2,
  ]);
  assert.throws(() => ettWindows(series, { context: 2, horizon: 2 }), /20 rows, expected 14400 at least/);
});

Deno.test("parts are counted in hours for any number of rows per hour", () => {
  const date = (i: number) =>
    new Date(Date.UTC(2016, 6, 1, 0, 15 * i)).toISOString().slice(0, 19).replace("T", " ");
  const series = parseLongSeries(
    table(...Array.from({ length: 20 }, (_, i) => `${date(i)},${i},0`)),
    "m1",
  );
  const hours = { train: 2, validation: 1, test: 2 };
  const { splits, statistics } = ettWindows(series, { context: 2, horizon: 2, hours });
  assert.equal(statistics[0].mean, 3.5);
  assert.deepEqual([splits.train, splits.validation, splits.test].map(({ shape: [count] }) => count), [
    5,
    3,
    7,
  ]);
});
