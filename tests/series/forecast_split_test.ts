/** The parts of forecasts: each has values to forecast, wherever a table has outages. */
import assert from "node:assert/strict";
import type { Series } from "../../src/data/series.ts";
import { DataError } from "../../src/device/errors.ts";
import { untilOf } from "../../src/series/read/forecast_split.ts";
import { forecast } from "../../src/series/mod.ts";
import { testOnCpu } from "../devices.ts";

/** Rows 0 to 99 of one or more series, with values where the mask is true. */
function seriesOf(length: number, isObserved: (row: number, channel: number) => boolean, width = 1): Series {
  return {
    name: "s",
    label: -1,
    times: Float64Array.from({ length }, (_, row) => row),
    values: Float64Array.from(
      { length: length * width },
      (_, i) => isObserved(Math.floor(i / width), i % width) ? Math.sin(i) : NaN,
    ),
  };
}

/** Number of values of a channel in each part. */
function countsOf(one: Series, width: number, channel: number, until: { train: number; validation: number }) {
  const counts = [0, 0, 0];
  one.times.forEach((time, row) => {
    if (Number.isNaN(one.values[row * width + channel])) return;
    counts[time <= until.train ? 0 : time <= until.validation ? 1 : 2]++;
  });
  return counts;
}

Deno.test("complete tables are split at 60 and 80 % of their rows, and outages do not count as rows", () => {
  const split = (isObserved: (row: number) => boolean) =>
    untilOf([seriesOf(100, isObserved)], { span: 5, width: 1, targetChannels: [0] });
  assert.deepEqual(split(() => true), { train: 59, validation: 79 });
  assert.deepEqual(split((row) => row < 60 || row >= 80), { train: 47, validation: 83 });
  assert.deepEqual(split((row) => row >= 60), { train: 83, validation: 91 });
  assert.deepEqual(split((row) => row < 50), { train: 29, validation: 39 });
});

Deno.test("every channel has values in each part, for any two outages of a fifth of the table", () => {
  for (let first = 0; first <= 80; first += 4) {
    for (let second = 0; second <= 80; second += 4) {
      const one = seriesOf(
        100,
        (row, channel) => row < [first, second][channel] || row >= [first, second][channel] + 20,
        2,
      );
      const until = untilOf([one], { span: 3, width: 2, targetChannels: [0, 1] });
      for (const channel of [0, 1]) {
        const counts = countsOf(one, 2, channel, until);
        assert.ok(counts.every((count) => count > 0), `outages at ${first} and ${second}: ${counts}`);
      }
    }
  }
});

Deno.test("the ends of given parts stay", () => {
  const one = seriesOf(100, (row) => row < 40 || row >= 60);
  const options = { span: 5, width: 1, targetChannels: [0] };
  assert.equal(untilOf([one], { ...options, requested: { validation: 89 } }).validation, 89);
  assert.deepEqual(untilOf([one], { ...options, requested: { train: 70, validation: 89 } }), {
    train: 70,
    validation: 89,
  });
});

/** A table of daily rows. During an outage, the target is missing and another column is not. */
function rowsWith(isObserved: (row: number, series: string) => boolean, names = ["a"]) {
  return names.flatMap((series) =>
    Array.from({ length: 100 }, (_, row) => ({
      series,
      time: new Date(Date.UTC(2024, 0, 1 + row)).toISOString().slice(0, 10),
      x: isObserved(row, series) ? 10 + Math.sin(row * 2 * Math.PI / 7) + (row * 37 % 11) / 20 : null,
      z: row % 5,
    }))
  );
}

const outages: Readonly<Record<string, (row: number, series: string) => boolean>> = {
  "over the validation part": (row) => row < 60 || row >= 80,
  "over the training part": (row) => row >= 60,
  "over the test part": (row) => row < 80,
  "over two parts": (row) => row < 55 || row >= 93,
  "over one of two series": (row, series) => series === "a" || row < 60 || row >= 80,
  "over other rows of each series": (row, series) => series === "a" ? row < 60 || row >= 80 : row >= 40,
  "over all except every ninth row": (row) => row % 9 === 0,
};

for (const [name, isObserved] of Object.entries(outages)) {
  testOnCpu(`a table with an outage ${name} trains and predicts`, async () => {
    for (const roles of [{ ignore: ["z"] }, { known: ["z"] }, { target: ["x"] }]) {
      const names = name.includes("series") ? ["a", "b"] : ["a"];
      const model = await forecast(
        { name: "daily", rows: rowsWith(isObserved, names) },
        { model: "linear", horizon: 3, device: "cpu", table: roles },
      );
      // Rows after the last observation would only request forecasts.
      const past = rowsWith(isObserved, names).filter(({ x }) => x !== null);
      const [{ channels }] = await model.predict({ name: "daily", rows: past });
      assert.ok(channels.x.mean.every(Number.isFinite), JSON.stringify(roles));
      assert.ok(Number.isFinite(model.summary.test.mae), JSON.stringify(roles));
    }
  });
}

testOnCpu(
  "a table whose parts cannot have values is rejected before training, with the part and the fix",
  async () => {
    for (const options of [{}, { model: "linear" }]) {
      await assert.rejects(
        forecast({ name: "daily", rows: rowsWith((row) => row >= 60) }, {
          ...options,
          horizon: 24,
          device: "cpu",
          table: { ignore: ["z"] },
        }),
        (error: Error) =>
          error instanceof DataError && error.code === "too-small" &&
          /daily: the training part \(up to .*\) has no value to forecast.*horizon/.test(error.message),
      );
    }
  },
);
