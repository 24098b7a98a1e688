import assert from "node:assert/strict";
import { parseCsv, readTable } from "../../src/data/table/read_table.ts";
import { DataFormatError } from "../../src/data/format.ts";

Deno.test("series keep their order of appearance, rows are sorted by time, and empty fields are NaN", () => {
  const set = parseCsv(
    'time,series,"heart rate",label,o2\r\n2.5,p1,,well,0.97\r\n0,p2,88,ill,?\r\n0,p1,71,well,0.98\r\n',
    "patients.csv",
  );
  assert.deepEqual(set.channels, ["heart rate", "o2"]);
  assert.deepEqual(set.classes, ["ill", "well"]);
  assert.deepEqual(set.series.map(({ label }) => label), [1, 0]);
  assert.deepEqual([...set.series[0].times], [0, 2.5]);
  assert.deepEqual([...set.series[0].values], [71, 0.98, NaN, 0.97]);
  assert.deepEqual([...set.series[1].values], [88, NaN]);
});

Deno.test("a table without labels gives named, unlabeled series", () => {
  const set = parseCsv("series,time,x\nb,0,1\na,0,2\n", "new.csv");
  assert.deepEqual(set.series.map(({ name }) => name), ["b", "a"]);
  assert.deepEqual(set.channels, ["x"]);
  assert.deepEqual(set.classes, []);
});

Deno.test("dates are read as seconds, in UTC by default", () => {
  const { series: [{ times }] } = parseCsv(
    "series,time,x,label\na,2004-10-01,1,b\na,2004-10-01 00:01:00,2,b\na,2004-10-01T01:02:00+01:00,2,b\n",
    "dates.csv",
  );
  const day = Date.UTC(2004, 9, 1) / 1000;
  assert.deepEqual([...times], [day, day + 60, day + 120]);
});

Deno.test("eight digits are a date if other times are dates or all times are days", () => {
  const read = (...times: string[]) => {
    const rows = times.map((time) => `a,${time},1\n`);
    const { times: kind, series: [{ times: values }] } = parseCsv(
      `series,time,x\n${rows.join("")}`,
      "t.csv",
    );
    return [kind, ...values];
  };
  const day = Date.UTC(2024, 4, 31) / 1000;
  assert.deepEqual(read("2024-05-31", "20240601"), ["date", day, day + 86400]);
  assert.deepEqual(read("20240531", "20240601"), ["date", day, day + 86400]);
  assert.deepEqual(read("20240531", "20240632"), ["number", 20240531, 20240632]);
  assert.deepEqual(read("1", "20240531"), ["number", 1, 20240531]);
});

Deno.test("pandas' row numbers and empty columns are ignored with a notice", () => {
  const set = parseCsv("Unnamed: 0,series,time,x,\n0,a,0,5,\n1,a,1,6,\n", "t.csv");
  assert.deepEqual(set.channels, ["x"]);
  assert.deepEqual(set.ignored, ['column "Unnamed: 0" (row numbers)', "column 5, which has no name (empty)"]);
  const { channels } = parseCsv(",series,time,x\n0,a,0,5\n", "t.csv");
  assert.deepEqual(channels, ["x"]);
});

Deno.test("labels are ignored unless they are requested", () => {
  const set = parseCsv("series,time,x,label\na,0,1,\na,1,1,b\n", "new.csv", { targets: "none" });
  assert.deepEqual([set.classes, set.channels, set.series[0].label], [[], ["x"], -1]);
});

Deno.test("a file that is not UTF-8 is rejected with the line number", async () => {
  const path = await Deno.makeTempFile();
  try {
    await Deno.writeFile(
      path,
      Uint8Array.from(
        [..."series,time,x\nM", 0xfc, ..."ller,0,1\n"],
        (c) => typeof c === "number" ? c : c.charCodeAt(0),
      ),
    );
    await assert.rejects(() => readTable(path), new RegExp(`${path}, line 2: not UTF-8: "M\uFFFDller,0,1"`));
  } finally {
    await Deno.remove(path);
  }
});

Deno.test("the line number of invalid UTF-8 counts the lines of all blocks", async () => {
  const path = await Deno.makeTempFile();
  try {
    const rows = Array.from({ length: 150_000 }, (_, i) => `a,${i},1\n`).join("");
    const text = new TextEncoder().encode(`series,time,x\n${rows}M?ller,0,1\n`);
    text[text.lastIndexOf("?".charCodeAt(0))] = 0xfc;
    await Deno.writeFile(path, text);
    await assert.rejects(() => readTable(path), /, line 150002: not UTF-8: "M/);
  } finally {
    await Deno.remove(path);
  }
});

Deno.test("a table that cannot be read is rejected with its path", async () => {
  await assert.rejects(
    () => readTable("no/such.csv"),
    /^WeftError: no\/such\.csv: no such file; expected a table/,
  );
  await assert.rejects(
    () => readTable("tests"),
    /^WeftError: tests: no tables in this folder; expected .csv/,
  );
});

const header = "series,time,x,label\n";
const malformed: [name: string, text: string, line: number, message: RegExp][] = [
  ["no rows", header, 1, /no rows/],
  ["a column missing", "series,x,label\na,1,b\n", 1, /no column "time" among series, x, label/],
  ["no channel", "series,time,label\na,1,b\n", 1, /no channel/],
  [
    "a word in place of a value",
    `${header}a,0,1,b\na,1,high,b\n`,
    3,
    /a number, or nothing .* "x", got "high"/,
  ],
  ["a word in place of a time", `${header}a,later,1,b\n`, 2, /a number or a date as time, got "later"/],
  ["no time", `${header}a,,1,b\n`, 2, /a number or a date as time, got ""/],
  ["a time twice", `${header}a,0,1,b\na,0,2,b\n`, 3, /"a" has two observations at time 0/],
  ["two labels", `${header}a,0,1,b\na,1,2,c\n`, 3, /"a" is labelled "b" and "c"/],
  ["an empty label", `${header}a,0,1,b\nc,0,1,\n`, 3, /expected a label, got ""; fill in the label/],
  ["a missing label", `${header}a,0,1,NaN\n`, 2, /expected a label, got "NaN"/],
  ["a missing series name", `${header},0,1,b\n`, 2, /no name in the column "series"/],
  ["a column twice", "series,time,x,x\na,0,1,2\n", 1, /two columns are called "x"; rename one/],
  ["a column without a name", "series,time,x,\na,0,1,2\n", 1, /column 4, which has no name, is neither/],
  ["values in an index", "Unnamed: 0,series,time,x\n0.5,a,0,1\n", 1, /column "Unnamed: 0", is neither/],
  ["a hexadecimal value", `${header}a,0,0x1F,b\n`, 2, /a number, or nothing .* got "0x1F"/],
  ["a hexadecimal time", `${header}a,0x1F,1,b\n`, 2, /a number or a date as time, got "0x1F"/],
  [
    "a value beyond float32",
    `${header}a,0,1e300,b\n`,
    2,
    /a number up to 3.4e\+38 in column "x", got "1e300"/,
  ],
  ["a number among dates", `${header}a,2024-05-31,1,b\na,17,1,b\n`, 3, /a date as time, as .*, got "17"/],
  ["a date that does not exist", `${header}a,2024-02-31,1,b\n`, 2, /a date as time, .*got "2024-02-31"/],
  ["a control character", `${header}a,0,\x1b[2J,b\n`, 2, /got "\\u001b\[2J"/],
  ["a row cut short", `${header}a,0,1,b\na,1\n`, 3, /2 fields, expected 4/],
];
for (const [name, text, line, message] of malformed) {
  Deno.test(`${name} in a table throws an error with the line number`, () => {
    assert.throws(() => parseCsv(text, "bad.csv"), (error: Error) => {
      assert.ok(error instanceof DataFormatError, String(error.stack));
      assert.equal(error.row, line);
      assert.match(error.message, message);
      return true;
    });
  });
}
