import assert from "node:assert/strict";
import {
  escapeText,
  formatDate,
  formatDuration,
  formatNumber,
  formatSteps,
} from "../../src/charts/format.ts";

Deno.test("durations are written with one or two units", () => {
  const durations: [seconds: number, text: string][] = [
    [0, "0 seconds"],
    [0.0123, "0.012 seconds"],
    [1, "1 second"],
    [2.54, "2.5 seconds"],
    [59.4, "59 seconds"],
    [59.6, "1 minute"],
    [60, "1 minute"],
    [75, "1 minute 15 seconds"],
    [187.3, "3 minutes 7 seconds"],
    [1800, "30 minutes"],
    [3599.9, "1 hour"],
    [3600, "1 hour"],
    [4800, "80 minutes"],
    [21_840, "6 hours 4 minutes"],
    [86_400, "1 day"],
    [129_600, "36 hours"],
    [604_800, "7 days"],
    [NaN, "unknown time"],
  ];
  for (const [seconds, text] of durations) assert.equal(formatDuration(seconds), text);
});

Deno.test("steps are counted in the unit of the times, if it is known", () => {
  assert.equal(formatSteps(12, 1, "month"), "12 months");
  assert.equal(formatSteps(4, 3, "month"), "12 months");
  assert.equal(formatSteps(2, 12, "month"), "2 years");
  assert.equal(formatSteps(24, 1800, "date"), "12 hours");
  assert.equal(formatSteps(14, 86_400, "date"), "14 days");
  assert.equal(formatSteps(3, 0.5, "number"), "3 steps of 0.5");
});

Deno.test("dates omit seconds of 0 and a time of 00:00", () => {
  assert.equal(formatDate(0), "1970-01-01");
  assert.equal(formatDate(3600), "1970-01-01 01:00");
  assert.equal(formatDate(61), "1970-01-01 00:01:01");
});

Deno.test("numbers have four digits, and no exponent where people write none", () => {
  assert.deepEqual([0.123456, 0, 1234.5, 123_456, 1e-7, 3e9, NaN].map((value) => formatNumber(value)), [
    ...["0.1235", "0", "1235", "123,500", "1e-7", "3e9", "–"],
  ]);
});

Deno.test("escaped texts end neither elements nor attributes", () => {
  assert.equal(escapeText(`<a b="c" d='e'>&`), "&#60;a b=&#34;c&#34; d=&#39;e&#39;&#62;&#38;");
});
