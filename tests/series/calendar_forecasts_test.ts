/** Forecasts of series whose steps follow a calendar. */
import assert from "node:assert/strict";
import { forecast, type ForecastOptions } from "../../src/series/run/learn.ts";
import type { ForecastPrediction } from "../../src/series/record/predictions.ts";
import { leastWidthOf, withLeastWidth } from "../../src/series/targets/least_width.ts";
import { withWholeSeason } from "../../src/series/read/histories.ts";
import { withFolder } from "../tasks/command_line.ts";
import { runFolder } from "../../src/train/run/run_folder.ts";
import { openTrained, readRunConfig } from "../runs.ts";
import { testLong } from "../devices.ts";

type Row = Readonly<Record<string, string | number | null>>;

const day = 86_400_000;
const dateOf = (time: number) => new Date(time).toISOString().slice(0, 16);

/** 260 weekdays from Monday, 2 January 2023: 101 to 360, and 5 more on Mondays. */
const weekdays: Row[] = Array.from({ length: 260 }, (_, k) => {
  const time = Date.UTC(2023, 0, 2) + (7 * Math.floor(k / 5) + k % 5) * day;
  return { time: dateOf(time), x: 101 + k + (k % 5 === 0 ? 5 : 0) };
});

/** Values 0, 1, 2, ... each hour from 8:00 to 17:00. */
const openHours: Row[] = Array.from({ length: 490 }, (_, k) => ({
  time: dateOf(Date.UTC(2023, 0, 2) + Math.floor(k / 10) * day + (8 + k % 10) * 3_600_000),
  x: k,
}));

async function forecastOf(rows: readonly Row[], options: ForecastOptions, later: readonly Row[] = rows) {
  const model = await forecast({ name: "table", rows: [...rows] }, { device: "cpu", ...options });
  const [prediction] = await model.predict({ name: "table", rows: [...later] });
  return { model, prediction, ...prediction.channels.x };
}

/** Widths of the 80 % intervals. */
const widthsOf = ({ quantiles }: ForecastPrediction["channels"][string]) =>
  quantiles["0.9"].map((high, h) => high - quantiles["0.1"][h]);

for (
  const [model, expected, tolerance] of [
    // A season without the trend: the values of the last week.
    ["seasonal-naive", [361, 357, 358, 359, 360], 1e-3],
    ["linear", [366, 362, 363, 364, 365], 0.1],
    ["exponential-smoothing", [366, 362, 363, 364, 365], 1e-3],
    ["autoregression", [366, 362, 363, 364, 365], 1e-3],
  ] as const
) {
  testLong(`${model}: the Monday follows the Friday, with an interval that is not zero`, async () => {
    const { prediction, mean } = await forecastOf(weekdays, { model, horizon: 5 });
    assert.deepEqual(prediction.times.map((time) => `${time}`.slice(0, 10)), [
      ...["2024-01-01", "2024-01-02", "2024-01-03", "2024-01-04", "2024-01-05"],
    ]);
    mean.forEach((value, h) => assert.ok(Math.abs(value - expected[h]) < tolerance, `${mean}`));
    assert.ok(widthsOf(prediction.channels.x).every((width) => width > 0.01));
  });
}

Deno.test("8:00 of the next day follows 17:00", async () => {
  const { prediction, mean } = await forecastOf(openHours, { model: "autoregression", horizon: 3 });
  assert.deepEqual(prediction.times, [8, 9, 10].map((h) => `2023-02-20T${`${h}`.padStart(2, "0")}:00:00Z`));
  mean.forEach((value, h) => assert.ok(Math.abs(value - 490 - h) < 0.01, `${mean}`));
});

testLong("without a calendar, weekends are between the weekdays and not the mean of the past", async () => {
  for (const model of ["seasonal-naive", "autoregression"]) {
    const { mean } = await forecastOf(weekdays, { model, horizon: 7, calendar: "none" });
    mean.forEach((value) => assert.ok(value > 350 && value < 370, `${model}: ${mean}`));
  }
});

testLong("a duration counts the days of the calendar", async () => {
  const horizonOf = async (rows: readonly Row[], horizon: string) =>
    (await forecastOf(rows, { model: "seasonal-naive", horizon })).prediction.times.length;
  assert.equal(await horizonOf(weekdays, "2 weeks"), 10);
  assert.equal(await horizonOf(weekdays, "3d"), 3);
  assert.equal(await horizonOf(openHours, "1d"), 10);
  assert.equal(await horizonOf(openHours, "4h"), 4);
});

Deno.test("values known ahead of time are read on the steps of the calendar", async () => {
  const sales = (k: number) => k % 7 === 3 ? 1 : 0;
  const rows = weekdays.map(({ time }, k) => ({ time, x: 100 + 40 * sales(k) + k % 3, sales: sales(k) }));
  const later = ["2024-01-01", "2024-01-02", "2024-01-03", "2024-01-04", "2024-01-05", "2024-01-06"]
    .map((time, i) => ({ time, x: null, sales: i === 2 ? 1 : 0 }));
  const { prediction, mean } = await forecastOf(
    rows,
    { model: "linear", horizon: 5, context: 10, table: { known: ["sales"] } },
    [...rows, ...later],
  );
  // The row of the Saturday is not of the calendar.
  assert.equal(prediction.times.length, 5);
  assert.ok(mean[2] > Math.max(...mean.filter((_, h) => h !== 2)) + 20, `${mean}`);
});

Deno.test(
  "a saved run keeps its calendar: predictions and streams of another process continue the calendar",
  withFolder(async (folder) => {
    const { model, prediction } = await forecastOf(weekdays, { model: "linear", horizon: 3 });
    await model.save(`${folder}/run`);
    const saved = runFolder(`${folder}/run`);
    const opened = (await openTrained(await readRunConfig(saved), saved)).model;
    const set = await opened.series!({ name: "table", rows: [...weekdays] });
    assert.deepEqual(await opened.predict!(set), [prediction]);
    const stream = model.stream!("table");
    for (const { time, x } of weekdays.slice(-30)) {
      await stream.push(time as string, { x });
    }
    await assert.rejects(
      stream.push("2023-12-30", { x: 1 }),
      /no row within the calendar weekdays, got 2023-12-30/,
    );
    const { times } = await stream.push("2024-01-01", { x: 366 }) as ForecastPrediction;
    assert.deepEqual(times, ["2024-01-02T00:00:00Z", "2024-01-03T00:00:00Z", "2024-01-04T00:00:00Z"]);
  }),
);

for (const last of [15, 28, 29, 30, 31]) {
  Deno.test(`months on day ${last} stay on it, or on the last day of shorter months, for each kind of step`, async () => {
    for (const step of [1, 3, 6, 12]) {
      const dateIn = (month: number) =>
        new Date(Date.UTC(1990, month, Math.min(last, new Date(Date.UTC(1990, month + 1, 0)).getUTCDate())))
          .toISOString().slice(0, 10);
      const rows = Array.from({ length: 30 }, (_, k) => ({ time: dateIn(1 + step * k), x: k + Math.sin(k) }));
      const { prediction } = await forecastOf(rows, { model: "seasonal-naive", horizon: 4 });
      assert.deepEqual(prediction.times, [30, 31, 32, 33].map((k) => dateIn(1 + step * k)), `${step} months`);
    }
  });
}

Deno.test("a table that is too short is rejected with the length of a step", async () => {
  await assert.rejects(
    forecastOf(weekdays.slice(0, 12), { model: "linear", horizon: 20 }),
    /long enough for a forecast of 20 steps of 1 day/,
  );
});

Deno.test("the least width follows the changes of the past, and is 0 for a constant", () => {
  const grid = Float64Array.of(1, 5, 3, 5, 5, 5);
  assert.ok(Math.abs(leastWidthOf({ grid }, 0, 2) - 0.02) < 1e-12);
  assert.equal(leastWidthOf({ grid }, 1, 2), 0);
  const zero = new Array<number>(9).fill(2);
  assert.deepEqual(withLeastWidth(zero, 0), zero);
  const widened = withLeastWidth(zero, 0.8);
  assert.ok(Math.abs(widened[8] - widened[0] - 0.8) < 1e-12 && widened[4] === 2);
  const wide = [1, 2, 3, 4, 5, 6, 7, 8, 9];
  assert.equal(withLeastWidth(wide, 0.8), wide);
});

Deno.test("only steps of a season that were never observed are filled", () => {
  const history = Float64Array.of(0, 1, NaN, 3, NaN, NaN, 6, 7, NaN);
  assert.deepEqual([...withWholeSeason(history, 3)], [0, 1, 2, 3, NaN, 5, 6, 7, NaN]);
  assert.equal(withWholeSeason(history, 5), history);
  assert.equal(withWholeSeason(history, 1), history);
});
