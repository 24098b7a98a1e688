/** Words for missing values, such as NA, that are classes or categories of a table. */
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { readTable } from "../../src/data/table/read_table.ts";
import type { TableSource } from "../../src/data/table/source.ts";
import type { ReadOptions, TableOptions } from "../../src/data/table/options.ts";
import { csvOf } from "../../src/series/read/csv.ts";
import { withFolder } from "../tasks/command_line.ts";
import { parquetFile, plainTexts } from "./parquet_file.ts";

const words = ["NA", "None", "nan", "null", "N/A", "?", "NaT", "<NA>", "#N/A"];

/** A table whose column `kind` has a word in two series of three, for each format that marks texts. */
const formats: Readonly<Record<string, (word: string) => TableSource>> = {
  "quoted CSV": (word) => ({
    name: "t",
    text: `series,time,x,kind,label\na,0,1,"${word}","${word}"\nb,0,2,open,open\nc,0,3,"${word}","${word}"\n`,
  }),
  "CSV in which all fields are quoted": (word) => ({
    name: "t",
    text: ["series,time,x,kind,label", `a,0,1,${word},${word}`, "b,0,2,open,open", `c,0,3,${word},${word}`]
      .map((line) => `${line.split(",").map((field) => `"${field}"`).join(";")}\n`).join(""),
  }),
  "JSON lines": (word) => ({
    name: "t",
    text: ["a", "b", "c"].map((series, time) => {
      const kind = series === "b" ? "open" : word;
      return `${JSON.stringify({ series, time, x: time, kind, label: kind })}\n`;
    }).join(""),
  }),
  rows: (word) => ({
    name: "t",
    rows: ["a", "b", "c"].map((series, time) => {
      const kind = series === "b" ? "open" : word;
      return { series, time, x: time, kind, label: kind };
    }),
  }),
  columns: (word) => ({
    name: "t",
    columns: {
      series: ["a", "b", "c"],
      time: [0, 1, 2],
      x: [0, 1, 2],
      kind: [word, "open", word],
      label: [word, "open", word],
    },
  }),
};

for (const [format, tableOf] of Object.entries(formats)) {
  Deno.test(`words for missing values are classes and categories in ${format}`, async () => {
    for (const word of words) {
      for (const options of [{}, { category: ["kind"] }]) {
        const { channels, classes, series, notices } = await readTable(tableOf(word), options);
        assert.deepEqual(channels, ["x", `kind=${word}`, "kind=open"], word);
        assert.deepEqual(classes, [word, "open"].sort());
        assert.deepEqual(series.map(({ label }) => classes[label]), [word, "open", word]);
        assert.deepEqual(series.map(({ values }) => values[1]), [1, 0, 1]);
        assert.deepEqual(notices?.filter((notice) => notice.includes("missing")), []);
      }
    }
  });
}

Deno.test(
  "words for missing values are categories in Parquet and SQLite",
  withFolder(async (folder) => {
    const page = (bytes: Uint8Array) => [{ kind: "data", values: 2, encoding: 0, bytes }] as const;
    await Deno.writeFile(
      `${folder}/t.parquet`,
      parquetFile([
        { name: "time", type: 1, pages: page(new Uint8Array(Int32Array.of(0, 1).buffer)) },
        { name: "kind", type: 6, pages: page(plainTexts("None", "open")) },
      ], 2),
    );
    {
      using database = new DatabaseSync(`${folder}/t.db`);
      database.exec("create table t(time integer, kind text); insert into t values (0, 'None'), (1, 'open')");
    }
    for (const [name, query] of [["t.parquet"], ["t.db", "select * from t"]]) {
      const { channels } = await readTable(`${folder}/${name}`, query ? { query } : {});
      assert.deepEqual(channels, ["kind=None", "kind=open"], name);
    }
  }),
);

Deno.test("an empty text among the texts of missing values replaces the words", async () => {
  const text = "series,time,x,kind,label\na,0,1,None,NA\na,1,,open,NA\nb,0,-9,,null\n";
  const read = (...missing: string[]) => readTable({ name: "t", text }, { missing });
  const only = await read("");
  assert.deepEqual(only.classes, ["NA", "null"]);
  assert.deepEqual(only.channels, ["x", "kind=None", "kind=open"]);
  assert.deepEqual([...only.series[1].values], [-9, NaN, NaN]);
  assert.deepEqual([...(await read("", "-9", "none")).series[1].values], [NaN, NaN]);
  await assert.rejects(
    read(),
    /line 2: expected a label, got "NA"; .*in quotes, or set the option missing to ""/,
  );
  await assert.rejects(
    readTable({ name: "t", text: "time,x\n0,NA\n1,2\n" }, { missing: [""] }),
    /line 2: expected a number, or nothing .* got "NA"/,
  );
});

const notices: readonly [name: string, text: string, channels: string, notice: RegExp | undefined][] = [
  [
    "words without quotes in a column of categories",
    "time,kind\n0,None\n1,open\n2,none\n",
    "kind=open",
    /column "kind": "None" is read as a missing value, in 2 rows; if it is a category, write it in quotes/,
  ],
  [
    "words in quotes among numbers",
    'time,x\n0,"NA"\n1,2\n',
    "x",
    /column "x": "NA" is read as a missing value, in 1 row, because the other values are numbers/,
  ],
  ["words without quotes among numbers", "time,x\n0,NA\n1,2\n", "x", undefined],
  ["empty fields among categories", 'time,kind\n0,""\n1,open\n2,\n', "kind=open", undefined],
];

for (const [name, text, channels, notice] of notices) {
  Deno.test(`${notice ? "a notice names" : "no notice is made about"} ${name}`, async () => {
    const set = await readTable({ name: "t", text });
    assert.equal(set.channels.join(), channels);
    const found = set.notices!.filter((one) => one.includes("missing"));
    assert.equal(found.length, notice ? 1 : 0);
    if (notice) assert.match(found[0], notice);
  });
}

Deno.test("another table is read as the recorded categories and classes say", async () => {
  const kinds: ReadOptions = {
    columns: { x: "number", kind: ["None", "open"] },
    numericTimes: "number",
    classes: ["NA", "b"],
  };
  const read = async (text: string, options: TableOptions & ReadOptions = kinds) =>
    await readTable({ name: "t", text }, options);
  for (const quote of ["", '"']) {
    const set = await read(
      `series,time,x,kind,label\na,0,${quote}NaN${quote},${quote}None${quote},${quote}NA${quote}\n`,
    );
    assert.deepEqual(set.channels, ["x", "kind=None", "kind=open"]);
    assert.deepEqual([...set.series[0].values], [NaN, 1, 0]);
    assert.deepEqual(set.classes, ["NA"]);
  }
  // A model that learned from tables whose words were missing values reads them so.
  const other = await read('series,time,x,kind,label\na,0,1,"NA",b\n');
  assert.deepEqual([...other.series[0].values], [1, NaN, NaN]);
  assert.match(other.notices!.join(), /column "kind": "NA" is read as a missing value, in 1 row$/);
});

Deno.test("in a table of a series for each row, quoted words are values or no observations", async () => {
  const read = async (text: string) => (await readTable({ name: "t", text }, { layout: "rows" })).series;
  const numbers = await read('label,0,1,2\na,1,"NA",3\nb,4,NA,"6"\n');
  assert.deepEqual(numbers.map(({ times }) => [...times]), [[0, 2], [0, 2]]);
  const texts = await read('label,0,1,2\na,"None",open,\nb,open,None,open\n');
  assert.deepEqual(texts.map(({ times }) => [...times]), [[0, 1], [0, 2]]);
});

Deno.test("a table of predictions keeps classes that are called like missing values", async () => {
  const rows = [...words, "open"].map((label, i) => [`s${i}`, 0, i, label]);
  const text = csvOf([["series", "time", "x", "label"], ...rows]);
  const { classes } = await readTable({ name: "t", text });
  assert.deepEqual(classes, [...words, "open"].sort());
});
