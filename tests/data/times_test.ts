/** Notations of times in tables. */
import assert from "node:assert/strict";
import { parseCsv } from "../../src/data/table/read_table.ts";
import { timeOf } from "../../src/data/format.ts";

/** Reads a table with these times. */
function read(times: readonly string[], zone?: string) {
  const rows = times.map((time, i) => `${time},${i}`);
  return parseCsv(["time,x", ...rows].join("\n"), "table.csv", zone ? { zone } : {});
}

const dates: Record<string, string> = {
  "2024-01-31 24:00": "2024-02-01T00:00Z",
  "2024-12-31T24:00:00": "2025-01-01T00:00Z",
  "2024-01-31T24:00+01:00": "2024-01-31T23:00Z",
  "2024/01/31": "2024-01-31T00:00Z",
  "2024/1/5": "2024-01-05T00:00Z",
  "2024/02/29 18:30": "2024-02-29T18:30Z",
  "2024/02/29T18:30:15+02:00": "2024-02-29T16:30:15Z",
};

for (const [text, expected] of Object.entries(dates)) {
  Deno.test(`${text} is the date ${expected}`, () => {
    const { times, series } = read([text]);
    assert.equal(times, "date");
    assert.equal(series[0].times[0], Date.parse(expected) / 1000);
  });
}

Deno.test("impossible dates and times are rejected", () => {
  for (
    const text of [
      "2024-01-31 24:01",
      "2024-01-31 24:00:01",
      "2024-01-31 25:00",
      "2024/02/30",
      "2024/13/01",
      "2024/01-31",
    ]
  ) {
    assert.ok(Number.isNaN(timeOf(text, "date")), text);
  }
});

Deno.test("24:00 is midnight in the zone of the table, also when clocks change that day", () => {
  const [first, second] = read(["2024-03-30 24:00", "2024-03-31 24:00"], "Europe/Berlin").series[0].times;
  assert.equal(first, Date.parse("2024-03-30T23:00Z") / 1000);
  assert.equal(second, Date.parse("2024-03-31T22:00Z") / 1000);
});

Deno.test("integers are dates if one unit places all of them from 2001 to 2100", () => {
  for (const perSecond of [1, 1e3, 1e6]) {
    const timesOf = (...seconds: number[]) => read(seconds.map((time) => `${time * perSecond}`));
    const { times, series: [{ times: dates }] } = timesOf(1e9, 4102444800);
    assert.deepEqual([times, ...dates], ["date", 1e9, 4102444800]);
    assert.equal(timesOf(1e9 - 1, 2e9).times, "number");
    assert.equal(timesOf(1e9, 4102444801).times, "number");
  }
});

Deno.test("six digits that all form a month are months; others are numbers", () => {
  const year = Array.from(
    { length: 14 },
    (_, i) => `${2018 + Math.floor(i / 12)}${`${i % 12 + 1}`.padStart(2, "0")}`,
  );
  const months = read(year);
  assert.equal(months.times, "month");
  assert.deepEqual([...months.series[0].times], Array.from({ length: 14 }, (_, i) => 576 + i));
  for (const other of [["201812", "201813"], ["201800", "201801"], ["189912", "190001"], ["201801", "7"]]) {
    assert.equal(read(other).times, "number", other.join());
  }
  assert.equal(parseCsv("time,x\n201801,1\n201802,2", "t.csv", { timeUnit: "number" }).times, "number");
  assert.deepEqual([...read(["2018-01", "201802"]).series[0].times], [576, 577]);
});

Deno.test("an earlier table with such numbers keeps them as numbers", () => {
  assert.equal(parseCsv("time,x\n201801,1\n201802,2", "t.csv", { numericTimes: "number" }).times, "number");
});

Deno.test("nanoseconds that are equal in float64 only are named as beyond float64", () => {
  const start = 1_700_000_000_000_000_001n;
  assert.throws(
    () => read([`${start}`, `${start + 40n}`]),
    /line 3: .*two times that differ in the file and are equal in float64.*subtract the first time/,
  );
  assert.throws(() => read([`${start}`, `${start}`]), /has two observations at time/);
});
