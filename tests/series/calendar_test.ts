/** Recognition and notation of calendars. */
import assert from "node:assert/strict";
import { parseCsv } from "../../src/data/table/read_table.ts";
import { formatRecordedTime, formatTimeAfter, inRecordedTimes } from "../../src/series/record/calendar.ts";
import { parseCalendar } from "../../src/series/record/calendar_notation.ts";
import { findCalendar } from "../../src/series/read/find_calendar.ts";

const hour = 3_600_000;

/** Dates of each hour from a Monday that pass a test of the weekday from 0 for Monday and the hour. */
function hoursOf(weeks: number, isOpen: (weekday: number, hour: number, week: number) => boolean): string[] {
  const monday = Date.UTC(2024, 0, 1);
  return Array.from({ length: weeks * 168 }, (_, i) => i)
    .filter((i) => isOpen(Math.floor(i / 24) % 7, i % 24, Math.floor(i / 168)))
    .map((i) => new Date(monday + i * hour).toISOString().slice(0, 16));
}

/** Rows of a table; the value of some times may be missing. */
function tableOf(times: readonly string[], isMissing: (i: number) => boolean = () => false) {
  const rows = times.map((time, i) => `${time},${isMissing(i) ? "" : i}`);
  return parseCsv(["time,x", ...rows].join("\n"), "t.csv", { targets: "channels" });
}

const noon = (weekday: number, at: number) => at === 12 && weekday < 5;

const recognised: Record<string, [times: string[], name: string | undefined]> = {
  "two weeks of weekdays": [hoursOf(2, noon), "weekdays"],
  "weekdays with holidays": [hoursOf(8, (d, h, w) => noon(d, h) && !(w === 3 && d < 2)), "weekdays"],
  "one Saturday in a year of weekdays": [
    hoursOf(52, (d, h, w) => noon(d, h) || w === 20 && d === 5 && h === 12),
    "weekdays",
  ],
  "weekdays with one row at another time": [
    [...hoursOf(12, noon), ...hoursOf(13, (d, h, w) => w === 12 && d === 0 && h === 13)],
    "weekdays",
  ],
  "days with one row at another time": [
    [...hoursOf(12, (_, h) => h === 12), ...hoursOf(13, (d, h, w) => w === 12 && d === 0 && h === 13)],
    undefined,
  ],
  "Sundays to Thursdays": [hoursOf(4, (d, h) => h === 0 && (d < 4 || d === 6)), "sun-thu"],
  "Mondays, Wednesdays and Fridays": [hoursOf(4, (d, h) => h === 0 && [0, 2, 4].includes(d)), "mon,wed,fri"],
  "opening hours": [hoursOf(2, (_, h) => h >= 8 && h <= 17), "hours 8-17"],
  "opening hours with a break": [hoursOf(2, (_, h) => h >= 8 && h <= 17 && h !== 12), "hours 8-11,13-17"],
  "night shifts": [hoursOf(2, (_, h) => h >= 22 || h < 6), "hours 0-5,22-23"],
  "opening hours on weekdays": [hoursOf(3, (d, h) => d < 5 && h >= 8 && h <= 17), "weekdays hours 8-17"],
  "short Saturdays": [
    hoursOf(5, (d, h) => h >= 9 && (d < 5 ? h <= 17 : d === 5 && h <= 12)),
    "weekdays hours 9-17; sat hours 9-12",
  ],
  "a market from Sunday evening to Friday evening": [
    hoursOf(6, (d, h) => d < 4 || d === 4 && h < 22 || d === 6 && h >= 22),
    "mon-thu hours 0-23; fri hours 0-21; sun hours 22-23",
  ],
  "three times a day": [hoursOf(2, (_, h) => [8, 12, 18].includes(h)), "hours 8,12,18"],
  "all days": [hoursOf(8, (_, h) => h === 0), undefined],
  "days without an outage of two weekends": [
    hoursOf(10, (d, h, w) => h === 0 && !((w === 2 || w === 7) && d > 4)),
    undefined,
  ],
  "days that are missing at random": [
    hoursOf(6, (d, h, w) => h === 0 && (7 * w + d) * 7919 % 10 > 2),
    undefined,
  ],
  "all hours of two days": [hoursOf(1, (d, h) => d < 2 && h >= 0), undefined],
  "hours with an outage at night": [hoursOf(2, (d, h, w) => !(w === 0 && d === 3 && h < 9)), undefined],
  "a week of days": [hoursOf(1, (d, h) => h === 0 && d < 5), undefined],
  "weeks": [hoursOf(20, (d, h) => d === 2 && h === 0), undefined],
};

for (const [title, [times, name]] of Object.entries(recognised)) {
  Deno.test(`${title}: the calendar is ${name ?? "every step"}`, () => {
    const { kind, calendar } = findCalendar(tableOf(times));
    assert.equal(kind, "date");
    assert.equal(calendar?.name, name);
    // The name is an option that gives the same calendar.
    if (name) assert.deepEqual(findCalendar(tableOf(times), name).calendar?.open, calendar!.open);
  });
}

Deno.test("rows with empty values on weekends do not open the weekend", () => {
  const daily = hoursOf(6, (_, h) => h === 0);
  const set = tableOf(daily, (i) => i % 7 > 4);
  const time = findCalendar(set);
  assert.equal(time.calendar?.name, "weekdays");
  const converted = inRecordedTimes(set, time);
  assert.equal(converted.series[0].times.length, 30);
  assert.match(
    converted.notices!.join(),
    /12 rows outside of the calendar weekdays left out, the first at 2024-01-06/,
  );
});

Deno.test("in the times of a calendar, all steps are equal, and each time is formatted as its date", () => {
  for (const [title, [times, name]] of Object.entries(recognised)) {
    if (!name || /holidays|one Saturday|one row/.test(title)) continue;
    const time = findCalendar(tableOf(times));
    const [{ times: found }] = inRecordedTimes(tableOf(times), time).series;
    assert.equal(found.length, times.length, title);
    for (let i = 1; i < found.length; i++) {
      assert.equal(found[i] - found[i - 1], found[1] - found[0], `${title}, ${times[i]}`);
    }
    assert.deepEqual(
      [...found].map((at) => formatRecordedTime(at, time).slice(0, 16)),
      times.map((text) => text),
      title,
    );
  }
});

Deno.test("a given calendar is recognised in the parts that it leaves open", () => {
  const times = hoursOf(4, (d, h) => d < 6 && h >= 8 && h <= 17);
  const nameOf = (option: string) => findCalendar(tableOf(times), option).calendar?.name;
  assert.equal(nameOf("weekdays"), "weekdays hours 8-17");
  assert.equal(nameOf("hours 9-12"), "mon-sat hours 9-12");
  assert.equal(nameOf("mon-sat hours 0-23"), "mon-sat");
  assert.equal(nameOf("none"), undefined);
});

Deno.test("notations of calendars", () => {
  assert.deepEqual(parseCalendar("Weekdays"), [{ days: [0, 1, 2, 3, 4] }]);
  assert.deepEqual(parseCalendar("mon-fri  hours 9:30-16"), [{
    days: [0, 1, 2, 3, 4],
    hours: [[34_200, 57_600]],
  }]);
  assert.deepEqual(parseCalendar("friday-monday"), [{ days: [0, 4, 5, 6] }]);
  for (
    const text of [
      "",
      "weekday s",
      "hours",
      "hours 17-8",
      "hours 25",
      "hours 8-9-10",
      "mon,mon",
      "x",
      "mon; tue",
    ]
  ) {
    assert.equal(parseCalendar(text), undefined, text);
  }
});

Deno.test("a calendar that does not fit the series is rejected with the reason", () => {
  const days = tableOf(hoursOf(4, (_, h) => h === 0));
  assert.throws(
    () => findCalendar(days, "hours 8-17"),
    /hours need steps of 1 minute to 12 hours.* steps of a day/,
  );
  const months = tableOf(["2024-01-31", "2024-02-29", "2024-03-31", "2024-04-30"]);
  assert.throws(() => findCalendar(months, "weekdays"), /the steps are months/);
  const numbers = parseCsv("time,x\n1,1\n2,2", "t.csv", { targets: "channels" });
  assert.throws(() => findCalendar(numbers, "weekdays"), /these times are numbers/);
  const nights = tableOf(hoursOf(2, (_, h) => h < 5));
  assert.throws(
    () => findCalendar(nights, "hours 8-17"),
    /all times of the series are outside of the calendar/,
  );
});

Deno.test("records without a calendar keep their times; forecasts of their months keep the day", () => {
  const set = tableOf(["2018-12-15", "2019-01-28"]);
  assert.equal(inRecordedTimes(set, { kind: "date" }), set);
  const months = inRecordedTimes(set, { kind: "month" });
  assert.deepEqual([...months.series[0].times], [587 + 14 / 31, 588 + 27 / 31]);
  const after = (step: number) => formatTimeAfter(months.series[0].times[1], step, { kind: "month" });
  assert.deepEqual([1, 2, 3].map(after), ["2019-02-28", "2019-03-28", "2019-04-28"]);
});

Deno.test("days stay at local midnight over changes of clocks, also where midnight is skipped", () => {
  for (
    const [zone, from] of [["Europe/Berlin", "2024-03-20"], ["America/Sao_Paulo", "2017-10-05"]] as const
  ) {
    const start = Temporal.PlainDate.from(from);
    const dates = Array.from({ length: 40 }, (_, i) => `${start.add({ days: i })}`);
    const rows = dates.slice(0, 30).map((date, i) => `${date},${i}`);
    const set = parseCsv(["time,x", ...rows].join("\n"), "t.csv", { targets: "channels", zone });
    const time = findCalendar(set);
    const { times } = inRecordedTimes(set, time).series[0];
    for (let i = 1; i < 30; i++) assert.equal(times[i] - times[i - 1], 86_400, `${zone} ${dates[i]}`);
    dates.forEach((date, i) => {
      const instant = Temporal.PlainDate.from(date).toZonedDateTime(zone).toInstant();
      assert.equal(formatTimeAfter(times[0], i * 86_400, time), `${instant}`);
    });
  }
});

Deno.test("days at midnight in UTC do not follow the clocks of the zone", () => {
  const rows = Array.from(
    { length: 40 },
    (_, i) => `${new Date(Date.UTC(2024, 2, 10 + i)).toISOString()},${i}`,
  );
  const set = parseCsv(["time,x", ...rows].join("\n"), "t.csv", {
    targets: "channels",
    zone: "Europe/Berlin",
  });
  assert.deepEqual(findCalendar(set), { kind: "date" });
});
