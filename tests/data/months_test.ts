/** Months, quarters and calendar steps. */
import assert from "node:assert/strict";
import { parseCsv } from "../../src/data/table/read_table.ts";
import {
  calendarMonths,
  commonMonthDay,
  formatMonth,
  fromMonthShares,
  monthOf,
  monthsOf,
  monthsSince1970,
} from "../../src/data/months.ts";

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

const secondsOf = (date: string) => Date.parse(date) / 1000;

Deno.test("each day of a month, some months later, is the same day or the last one of a shorter month", () => {
  for (let day = 1; day <= 31; day++) {
    for (const start of ["2023-01", "2023-12", "1960-01"]) {
      const from = monthsOf(secondsOf(`${start}-${`${day}`.padStart(2, "0")}`));
      for (const months of [1, 2, 3, 6, 12, 13, 24, 48]) {
        const last = new Date(Date.UTC(1970, Math.floor(from) + months + 1, 0)).getUTCDate();
        const expected = new Date(Date.UTC(1970, Math.floor(from) + months, Math.min(day, last)))
          .toISOString();
        assert.equal(formatMonth(from + months), expected.slice(0, day === 1 ? 7 : 10));
      }
    }
  }
});

Deno.test("the time of the day stays", () => {
  assert.equal(formatMonth(monthsOf(secondsOf("2024-01-28T18:30Z")) + 1), "2024-02-28T18:30");
  assert.equal(formatMonth(monthsOf(secondsOf("2024-01-31T23:59:59Z")) + 1), "2024-02-29T23:59:59");
});

Deno.test("the day of the month of a series is that of its longer months; 31 for the last day", () => {
  const dayOf = (...dates: string[]) => commonMonthDay(dates.map(secondsOf));
  assert.equal(dayOf("2023-01-15", "2023-02-15"), 15);
  assert.equal(dayOf("2023-01-30", "2023-02-28", "2023-03-30"), 30);
  assert.equal(dayOf("2023-01-29", "2023-02-28", "2024-02-29"), 29);
  assert.equal(dayOf("2023-01-28", "2023-02-28", "2023-03-28"), 28);
  assert.equal(dayOf("2023-02-28", "2023-04-30", "2023-06-30"), 31);
  assert.equal(dayOf("2023-01-31", "2023-02-27"), undefined);
  const [first, second] = ["2023-02-28", "2023-03-30"].map((date) => monthsOf(secondsOf(date), 30));
  assert.ok(Math.abs(second - first - 1) < 1e-9);
});

Deno.test("months of earlier runs, with the elapsed share of a month, are formatted as their day", () => {
  for (const date of ["2024-02-15", "1960-12-02", "2023-12-31", "2019-01-28"]) {
    assert.equal(formatMonth(fromMonthShares(monthsSince1970(secondsOf(date)))), date);
  }
  assert.equal(formatMonth(fromMonthShares(monthsSince1970(secondsOf("2019-01-28"))) + 1), "2019-02-28");
});

Deno.test("steps of months, quarters and years follow the calendar; weeks do not", () => {
  const day = 86_400;
  const steps = { 1: [28, 31], 3: [90, 91, 92], 6: [181, 184], 12: [365, 366] };
  for (const [months, lengths] of Object.entries(steps)) {
    for (const days of lengths) assert.equal(calendarMonths(days * day), Number(months), `${days} days`);
  }
  for (const days of [1, 7, 14, 27, 32, 60, 89, 93]) assert.equal(calendarMonths(days * day), undefined);
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
