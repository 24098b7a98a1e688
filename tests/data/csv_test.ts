import assert from "node:assert/strict";
import { parseCsv } from "../../src/data/csv.ts";
import { DataFormatError } from "../../src/data/format.ts";

Deno.test("a table gives series in order of appearance, observations in order of time, empty fields as NaN", async () => {
  const set = await parseCsv(
    'time,series,"heart rate",label,o2\r\n2.5,p1,,well,0.97\r\n0,p2,88,ill,?\r\n0,p1,71,well,0.98\r\n',
    "patients.csv",
  );
  assert.equal(set.channels, 2);
  assert.deepEqual(set.classes, ["ill", "well"]);
  assert.deepEqual(set.series.map(({ label }) => label), [1, 0]);
  assert.deepEqual([...set.series[0].times], [0, 2.5]);
  assert.deepEqual([...set.series[0].values], [71, 0.98, NaN, 0.97]);
  assert.deepEqual([...set.series[1].values], [88, NaN]);
});

Deno.test("a table without labels gives series of no class, under their names", async () => {
  const set = await parseCsv("series,time,x\nb,0,1\na,0,2\n", "new.csv");
  assert.deepEqual(set.names, ["b", "a"]);
  assert.deepEqual(set.columns, ["x"]);
  assert.deepEqual(set.classes, []);
});

Deno.test("dates are seconds, in UTC where they name no zone", async () => {
  const { series: [{ times }] } = await parseCsv(
    "series,time,x,label\na,2004-10-01,1,b\na,2004-10-01 00:01:00,2,b\na,2004-10-01T01:02:00+01:00,2,b\n",
    "dates.csv",
  );
  const day = Date.UTC(2004, 9, 1) / 1000;
  assert.deepEqual([...times], [day, day + 60, day + 120]);
});

const header = "series,time,x,label\n";
const malformed: [name: string, text: string, line: number, message: RegExp][] = [
  ["no rows", header, 1, /no rows/],
  ["a column missing", "series,x,label\na,1,b\n", 1, /no column "time" among series, x, label/],
  ["no channel", "series,time,label\na,1,b\n", 1, /no channel/],
  ["a word for a value", `${header}a,0,1,b\na,1,high,b\n`, 3, /a number, or nothing .* "x", got "high"/],
  ["a word for a time", `${header}a,later,1,b\n`, 2, /a number or a date as time, got "later"/],
  ["no time", `${header}a,,1,b\n`, 2, /a number or a date as time, got ""/],
  ["a time twice", `${header}a,0,1,b\na,0,2,b\n`, 3, /"a" has two observations at time 0/],
  ["two labels", `${header}a,0,1,b\na,1,2,c\n`, 3, /"a" is labelled "b" and "c"/],
  ["a row cut short", `${header}a,0,1,b\na,1\n`, 3, /Record Length/],
];
for (const [name, text, line, message] of malformed) {
  Deno.test(`${name} in a table is an error that names the line`, async () => {
    await assert.rejects(() => parseCsv(text, "bad.csv"), (error: Error) => {
      assert.ok(error instanceof DataFormatError, String(error.stack));
      assert.equal(error.line, line);
      assert.match(error.message, message);
      return true;
    });
  });
}
