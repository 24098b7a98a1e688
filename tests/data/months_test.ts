/** Months, quarters and calendar steps. */
import assert from "node:assert/strict";
import { parseCsv } from "../../src/data/table/read_table.ts";
import { calendarMonths, formatMonth, monthOf, monthsSince1970 } from "../../src/data/months.ts";

const months: Record<string, number> = {
  "1949-01": -252,
  "1970-01": 0,
  "1970M12": 11,
  "1991 Jul": 258,
  "1991-July": 258,
  "Jul 1991": 258,
  "September 1970": 8,
  "1970 Q1": 0,
  "1971Q2": 15,
  "1970-q4": 9,
  "Q3 1970": 6,
};

for (const [text, month] of Object.entries(months)) {
  Deno.test(`${text} is month ${month} since January 1970`, () => assert.equal(monthOf(text), month));
}

Deno.test("other texts are not months", () => {
  for (
    const text of ["", "1949", "1949-13", "1949-00", "1970 Q5", "1970-01-01", "70-01", "1991 Jux", "194901"]
  ) {
    assert.ok(Number.isNaN(monthOf(text)), text);
  }
});

Deno.test("formatting a month reverses parsing", () => {
  for (const month of [-253, -12, -1, 0, 1, 11, 258, 959]) assert.equal(monthOf(formatMonth(month)), month);
});

Deno.test("dates on the same day of consecutive months differ by 1 month and keep their day", () => {
  const at = (date: string) => monthsSince1970(Date.parse(date) / 1000);
  assert.equal(at("2024-02-01") - at("2024-01-01"), 1);
  assert.ok(Math.abs(at("2024-02-29") - at("2024-01-31") - 1) < 0.01);
  assert.equal(formatMonth(at("2024-02-15")), "2024-02-15");
  assert.equal(formatMonth(at("1960-12-01")), "1960-12");
  assert.equal(formatMonth(at("2023-12-31")), "2023-12-31");
});

Deno.test("steps of months, quarters and years follow the calendar; weeks do not", () => {
  const day = 86_400;
  assert.deepEqual([28, 31, 91, 365, 366].map((days) => calendarMonths(days * day)), [1, 1, 3, 12, 12]);
  assert.deepEqual([1, 7, 14, 60].map((days) => calendarMonths(days * day)), [
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});

Deno.test("a table with months has times in months; quarters are three apart", () => {
  const read = (...times: string[]) =>
    parseCsv(["time,x", ...times.map((time, i) => `${time},${i}`)].join("\n"), "table.csv");
  const monthly = read("1949-01", "1949-02", "1949-04");
  assert.equal(monthly.times, "month");
  assert.deepEqual([...monthly.series[0].times], [-252, -251, -249]);
  assert.deepEqual([...read("1970 Q1", "1970 Q2", "1971 Q1").series[0].times], [0, 3, 12]);
});

Deno.test("a table that mixes months with other times is rejected with the line", () => {
  const read = (...times: string[]) => () =>
    parseCsv(["time,x", ...times.map((time, i) => `${time},${i}`)].join("\n"), "table.csv");
  assert.throws(read("1949-01", "1949-02-01"), /table\.csv, line 2: expected a date as time/);
  assert.throws(
    read("1949-01", "12"),
    /table\.csv, line 3: expected a month or a quarter as time.* got "12"/,
  );
  assert.throws(read("1949-01", "soon"), /line 3: expected a month or a quarter as time.* got "soon"/);
});
