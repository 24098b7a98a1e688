/** Tables with a row for each series. */
import assert from "node:assert/strict";
import { parseCsv } from "../../src/data/table/read_table.ts";

const read = (lines: readonly string[], options: object = {}) =>
  parseCsv(lines.join("\n"), "table.tsv", { layout: "rows", ...options });

Deno.test("a row of the UCR archive is a series: the label, then the values", () => {
  const { series, classes, channels } = read(["1\t0.5\t-1\t2", "2\t1.5\t3\t4"]);
  assert.deepEqual(classes, ["1", "2"]);
  assert.deepEqual(channels, ["value"]);
  assert.deepEqual(series.map(({ name, label }) => [name, label]), [["series 1", 0], ["series 2", 1]]);
  assert.deepEqual([...series[1].values], [1.5, 3, 4]);
  assert.deepEqual([...series[1].times], [0, 1, 2]);
});

Deno.test("columns with names give names, labels and values in their order", () => {
  const { series, classes } = read(["t0,series,t1,label", "1,a,2,up", "3,b,4,down"]);
  assert.deepEqual(classes, ["down", "up"]);
  assert.deepEqual(series.map(({ name, values }) => [name, ...values]), [["a", 1, 2], ["b", 3, 4]]);
});

Deno.test("missing values at the end shorten a series, missing values inside are skipped", () => {
  const { series } = read(["up\t1\tNaN\t3\tNaN", "down\t1\t2\t3\t4"]);
  assert.deepEqual([...series[0].times], [0, 2]);
  assert.deepEqual([...series[0].values], [1, 3]);
});

Deno.test("numeric targets of rows are read by name", () => {
  const { series, targets } = read(["speed,a,b", "7,1,2", "8,3,4"], {
    target: ["speed"],
    targets: "numbers",
  });
  assert.deepEqual(targets, ["speed"]);
  assert.deepEqual(series.map(({ targets }) => [...targets!]), [[7], [8]]);
});

Deno.test("a damaged row is rejected with its line", () => {
  assert.throws(() => read(["1\t0.5\t-1", "2\t1.5"]), /table\.tsv, line 2: 2 fields, expected 3/);
  assert.throws(() => read(["1\t0.5\t-1", "2\t1.5\tabc"]), /line 2: expected a number.*got "abc"/);
  assert.throws(() => read(["label", "1"]), /line 1: no column of values/);
  assert.throws(
    () => read(["1\t2\t3"], { wide: true }),
    /the option wide and the option layout rows exclude/,
  );
});
