/** Forecasts of random tables of calendars; `deno task fuzz --kind calendars` has more of them. */
import assert from "node:assert/strict";
import { checkForecasts, checkTimes } from "../calendars/check_calendar.ts";
import { randomCalendar } from "../calendars/random_calendar.ts";
import { testLong } from "../devices.ts";

/** Kind of a case, for messages. */
function nameOf({ seed, kind, zone = "UTC", calendar = "auto" }: ReturnType<typeof randomCalendar>): string {
  return `calendar ${seed}, ${kind}, ${zone}, --calendar ${calendar}`;
}

testLong(
  "the steps after 60 random tables are those of their calendar, and each phase of a season has rows",
  async () => {
    for (let seed = 0; seed < 60; seed++) {
      const one = randomCalendar(seed);
      assert.equal(await checkTimes(one), undefined, nameOf(one));
    }
  },
);

for (const model of ["seasonal-naive", "linear", "autoregression"]) {
  testLong(`${model} forecasts the times of random calendars, with intervals of positive width`, async () => {
    for (let seed = 0; seed < 4; seed++) {
      const one = randomCalendar(1000 + seed);
      assert.equal(await checkForecasts(one, model), undefined, nameOf(one));
    }
  });
}
