/** Default seasons. */
import assert from "node:assert/strict";
import { describeShortSeason, seasonOf } from "../../src/series/read/season.ts";
import { key, normal } from "../../src/tensor/random.ts";

const [hour, day] = [3600, 86_400];

function seasonFor(
  values: readonly number[],
  { gap = 1, times = "number" }: { gap?: number; times?: "number" | "date" | "month" } = {},
): number {
  const series = {
    ...{ name: "a", label: -1, values: Float64Array.from(values) },
    times: Float64Array.from(values, (_, i) => i * gap),
  };
  return seasonOf({ gap, times, series: [series], channels: 1, targetChannels: [0] });
}

const zeros = (count: number) => new Array<number>(count).fill(0);

Deno.test("the calendar gives the season of months, quarters, days, hours and half hours", () => {
  assert.equal(seasonFor(zeros(30), { times: "month" }), 12);
  assert.equal(seasonFor(zeros(30), { times: "month", gap: 3 }), 4);
  assert.equal(seasonFor(zeros(30), { times: "month", gap: 12 }), 1);
  assert.equal(seasonFor(zeros(30), { times: "date", gap: day }), 7);
  assert.equal(seasonFor(zeros(100), { times: "date", gap: hour }), 24);
  assert.equal(seasonFor(zeros(100), { times: "date", gap: hour / 2 }), 48);
  assert.equal(seasonFor(zeros(20), { times: "month" }), 1, "fewer than two years");
});

Deno.test("a line states that the training part is too short for a season, and what follows", () => {
  const line = (rows: number, season: number, given: boolean, times: "number" | "month" = "month") => {
    const series = { name: "a", label: -1, values: new Float64Array(rows), times: new Float64Array(rows) };
    return describeShortSeason({ gap: 1, times, series: [series] }, season, given).join();
  };
  assert.equal(
    line(20, 1, false),
    "no season: the training part of the longest series has 20 rows, and a season of 12 months needs 24; " +
      "seasonal-naive then repeats the last value",
  );
  assert.match(line(8, 12, true), /has 8 rows, fewer than a season of 12 months: give longer series/);
  assert.equal(line(24, 12, false), "");
  assert.equal(line(12, 12, true), "");
  assert.equal(line(20, 1, true), "", "no season is wanted");
  assert.equal(line(20, 1, false, "number"), "", "numbers have no calendar");
});

Deno.test("a week is the season of hours where weekdays differ more than hours do", () => {
  const values = (weekend: number) =>
    Array.from(
      { length: 24 * 28 },
      (_, t) => Math.sin(Math.PI * t / 12) + (t % 168 >= 120 ? weekend : 0) + 0.1 * Math.sin(77 * t * t),
    );
  assert.equal(seasonFor(values(0), { times: "date", gap: hour }), 24);
  assert.equal(seasonFor(values(6), { times: "date", gap: hour }), 168);
});

Deno.test("a clear peak of the autocorrelation is the season of other steps, and noise and walks have none", async () => {
  const noise = await normal(key(7), [200]).data();
  let level = 0;
  const walk = Array.from(noise, (value) => level += value);
  const season = Array.from(noise, (value, t) => 0.2 * t + 3 * Math.sin(2 * Math.PI * t / 9) + value);
  assert.equal(seasonFor(season), 9);
  assert.equal(seasonFor(season, { times: "date", gap: 7 * day }), 9);
  assert.equal(seasonFor(season.map((value, t) => t % 7 === 2 ? NaN : value)), 9);
  assert.equal(seasonFor(Array.from(noise)), 1);
  assert.equal(seasonFor(walk), 1);
  assert.equal(seasonFor(zeros(50)), 1);
});
