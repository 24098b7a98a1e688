/**
 * Tables with faults. Each is read as documented in docs/own_data.md, or rejected with its position and a
 * remedy.
 */
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { gzipSync } from "node:zlib";
import type { SeriesSet } from "../../src/data/series.ts";
import type { ReadOptions, TableOptions } from "../../src/data/table/options.ts";
import { readTable } from "../../src/data/table/read_table.ts";
import { testLong } from "../devices.ts";
import { withFolder } from "../tasks/command_line.ts";

/** The result of reading in one line: names with times and values, then notices and ignored columns. */
function shown({ series, channels, classes, notices = [], ignored = [] }: SeriesSet): string {
  const all = series.map(({ name, times, values, label, targets, group }) =>
    [name, ...times, "|", ...values, label < 0 ? "" : classes[label], ...targets ?? [], group ?? ""].join(" ")
      .trim()
  );
  return [`${channels}`, ...all, ...notices, ...ignored].join("; ");
}

const utf16 = (text: string) =>
  new Uint8Array(Uint16Array.from(text, (letter) => letter.charCodeAt(0)).buffer);
const latin1 = (text: string) => Uint8Array.from(text, (letter) => letter.charCodeAt(0));
const head = "series,time,x,label\n";
const good = `${head}a,0,1,u\na,1,2,u\nb,0,3,v\n`;
const packed = gzipSync(good);
/** Columns series, time, x, label in three rows, compressed by Zstandard, as pyarrow 26 writes them. */
const parquet = Uint8Array.fromBase64(
  "UEFSMRUAFSoVPCwVBhUAFQYVBhwAAAAotS/9IBWpAAACAAAABgEBAAAAYQEAAABhAQAAAGIVABU8FTQsFQYVABUGFQYcAAAAKLUv/SAejQAASAIAAAAG" +
    "AQABAAIAQGIXGAEVABUsFT4sFQYVABUGFQYcAAAAKLUv/SAWsQAAAgAAAAMFAAAAAAAA+D8AAAAAAAAEQBUAFSoVPCwVBhUAFQYVBhwAAAAotS/9" +
    "IBWpAAACAAAABgEBAAAAdQEAAAB1AQAAAHYVBBlcNQAYBnNjaGVtYRUIABUMJQIYBnNlcmllcyUATBwAAAAVBCUCGAR0aW1lABUKJQIYAXgAFQwl" +
    "AhgFbGFiZWwlAEwcAAAAFgYZHBlMJgAcFQwZJQYAGRgGc2VyaWVzFQwWBhZQFmImCEkcFQAVABUCADwWBhkGGSYABgAAACYAHBUEGSUGABkYBHRp" +
    "bWUVDBYGFmIWWiZqSRwVABUAFQIAPCkGGSYABgAAACYAHBUKGSUGABkYAXgVDBYGFlIWZCbEAUkcFQAVABUCADwpBhkmAgQAAAAmABwVDBklBgAZ" +
    "GAVsYWJlbBUMFgYWUBZiJqgCSRwVABUAFQIAPBYGGQYZJgAGAAAAFtQCFgYmCBaCAwAoIHBhcnF1ZXQtY3BwLWFycm93IHZlcnNpb24gMjYuMC4x" +
    "GUwcAAAcAAAcAAAcAAAARQEAAFBBUjE=",
);
const read = "x; a 0 1 | 1 2 u; b 0 | 3 v";
const day = 1717113600;
const manyDigits = (column: string) =>
  new RegExp(
    `line 1: expected a text in column "${column}", .* got 9007199254740992; in JSON, write it in quotes$`,
  );

type Options = TableOptions & ReadOptions;
const cases: [name: string, content: string | Uint8Array, expected: string | RegExp, options?: Options][] = [
  ["a whole table", good, read],
  ["tabs", good.replaceAll(",", "\t"), `${read}; fields are separated by "\\t"`],
  ["bars", good.replaceAll(",", "|"), `${read}; fields are separated by "|"`],
  [
    "a delimiter that Excel announces",
    `sep=;\n${good.replaceAll(",", ";")}`,
    `${read}; fields are separated by ";"`,
  ],
  [
    "a decimal comma",
    "series;time;x\na;0;1,5\n",
    'x; a 0 | 1.5; fields are separated by ";"; numbers have a decimal comma',
  ],
  [
    "a decimal comma in quotes",
    'series,time,x\na,0,"1,5"\n',
    /line 2: .* "x", got "1,5"; .*the option decimal to ,/,
  ],
  ["the option for decimal commas", 'series,time,x\na,0,"1,5"\n', "x; a 0 | 1.5", { decimal: "," }],
  [
    "a decimal point with the option for decimal commas",
    'series,time,x\na,0,"1,5"\na,1,1.234\n',
    /line 3: .* "x", got "1\.234"; if the point separates thousands, .*; if .* sign, set the option decimal to \.$/,
    { decimal: "," },
  ],
  [
    "a decimal point after detected decimal commas",
    `series;time;x\n${Array.from({ length: 1000 }, (_, i) => `a;${i};1,5\n`).join("")}a;1000;1.234\n`,
    /line 1002: .* "x", got "1\.234"; if the point separates thousands/,
  ],
  [
    "a decimal point in a time with decimal commas",
    'series;time;x\na;1.5;"1,5"\n',
    /line 2: .* got "1\.5" in column "time"; if the point is the decimal sign, set the option decimal to \.$/,
    { decimal: "," },
  ],
  ["a mark of UTF-8", `\uFEFF${good}`, read],
  ["UTF-16", utf16(`\uFEFF${good}`), `${read}; the text is in utf-16le`],
  ["UTF-16 without a mark", utf16(good), `${read}; the text is in utf-16le`],
  [
    "Windows-1252",
    latin1(`${head}M\xfcller,0,1,u\n`),
    /line 2: not UTF-8: "M\uFFFDller,0,1,u"; .* the option encoding/,
  ],
  ["the option for Windows-1252", latin1(`${head}M\xfcller,0,1,u\n`), "x; Müller 0 | 1 u", {
    encoding: "windows-1252",
  }],
  ["mixed encodings", latin1(`${head}\xc3\xbc,0,1,u\n\xfc,0,1,v\n`), /line 3: not UTF-8/],
  ["Windows line endings", good.replaceAll("\n", "\r\n"), read],
  ["classic Mac line endings", good.replaceAll("\n", "\r"), read],
  ["no line ending after the last line", good.trimEnd(), read],
  ["rows of blanks", good.replace("b,", ",, ,\r\nb,"), `${read}; 1 empty row left out`],
  ["empty rows", good.replace("b,", "\n,,,\nb,"), `${read}; 1 empty row left out`],
  [
    "markers of missing values",
    good.replace(",0,1,", ",0,-,").replace(/,1,[^,]+,/, ",1,-9.0,"),
    "x; a 0 1 | NaN NaN u; b 0 | 3 v",
    {
      missing: ["-", "-9"],
    },
  ],
  ["fields in quotes", 'series,time,x\n"a ""1"", b",0,"2"\n', 'x; a "1", b 0 | 2'],
  ["a line end in quotes", 'series,time,x\n"a\nb",0,2\nc,0,z\n', /line 4: .* "x", got "z"/],
  [
    "a quote that is never closed",
    `${head}"a,0,1,u\nb,0,1,v\n`,
    /line 2: a quote that is opened .* never closed/,
  ],
  ["text behind a quote", 'series,time,x\n"a"b,0,2\n', /line 2: "b" after the closing quote of field 1/],
  ["a quote in a field", 'series,time,x\na"b,0,2\n', /line 2: a quote in field 1/],
  ["a quote as delimiter", 'sep="\ntime"x\n""x""a""\n', /line 1: a quote in field 1/],
  ["a row too long", `${head}a,0,1,u,9\n`, /line 2: 5 fields, expected 4/],
  ["a truncated table", good.slice(0, -4), /line 4: 3 fields, expected 4/],
  ["names alone", head, /no rows after the names/],
  ["an empty file", "", /an empty file; expected a table/],
  ["bytes of zero", `${head}a,0,1,u\n\0\0`, /line 3: a byte of zero: the file is binary/],
  ["a picture", latin1("\x89PNG\r\n\x1a\n\0\0\0\rIHDR"), /line 1: not UTF-8|binary/],
  [
    "a workbook",
    latin1("PK\x03\x04xl/workbook.xml"),
    /a zip file, as Excel's workbooks are; save the sheet as CSV/,
  ],
  ["a million columns", `series,time${",c".repeat(1e6)}\n`, /line 1: 1000002 columns, more than 100000/],
  ["a column twice", "series,time,x,x\na,0,1,2\n", /line 1: two columns are called "x"/],
  [
    "no time",
    "series,x\na,1\n",
    /no column "time" among series, x; name another with the option time; if each row is a series, set the option layout rows/,
  ],
  ["a time in capitals", "series,Time,x\na,0,1\n", /no column "time" .* the option time, as "Time"/],
  ["a series in capitals", "Series,time,x\na,0,1\n", /no column "series".* the option series to "Series"/],
  [
    "no series",
    "time,x\n0,1\n1,2\n",
    'x; table 0 1 | 1 2; no column "series": all rows are one series, "table"',
  ],
  ["numbers as text", `${head}a,0,'1,u\n`, /line 2: expected a number, .* "x", got "'1"/],
  [
    "a word among numbers",
    `${head}a,0,1,u\na,1,high,u\n`,
    /line 3: .* "x", got "high"; use the option category or the option ignore "x"/,
  ],
  ["a formula", `${head}a,0,=A1+1,u\n`, /line 2: .* "x", got "=A1\+1"/],
  ["a formula in place of a name", `${head}=A1,0,1,u\n`, /line 2: a formula in column "series"/],
  ["an error of a spreadsheet", `${head}a,0,1,u\na,1,#REF!,u\n`, /line 3: .* got "#REF!"/],
  ["missing values", `${head}a,0,1,u\na,1,#N/A,u\na,2,null,u\n`, "x; a 0 1 2 | 1 NaN NaN u"],
  ["infinity", `${head}a,0,inf,u\n`, /line 2: .* "x", got "inf"/],
  [
    "a number beyond float32",
    `${head}a,0,1e39,u\n`,
    /line 2: expected a number up to 3.4e\+38 in column "x"/,
  ],
  ["categories", `${head}a,0,on,u\na,1,,u\na,2,off,u\n`, "x=on,x=off; a 0 1 2 | 1 0 NaN NaN 0 1 u"],
  [
    "a column with the name of another column's category channel",
    "series,time,c=on,c\na,0,1,on\n",
    /line 1: the columns "c=on" and "c" both make a channel "c=on"; rename one$/,
  ],
  ["an unknown category", `${head}a,0,on,u\n`, /line 2: expected one of "off" in column "x", got "on"/, {
    columns: { x: ["off"] },
  }],
  [
    "free text",
    `series,time,x,note\n${Array.from({ length: 60 }, (_, i) => `a,${i},1,n${i}\n`).join("")}`,
    /^x; a .* 1 1; column "note" \(text of 60 different values\)$/,
  ],
  ["a numeric category", `${head}a,0,1,u\na,1,2,u\n`, "x=1,x=2; a 0 1 | 1 0 0 1 u", { category: ["x"] }],
  [
    "two static values",
    "series,time,x,y\na,0,1,5\na,1,2,5\n",
    /line 3: series "a" has two values of the static "x": 1 and 2/,
    {
      static: ["x"],
    },
  ],
  ["two labels", `${head}a,0,1,u\na,1,2,v\n`, /line 3: series "a" is labelled "u" and "v"/],
  ["a text target", good, /line 2: expected a number, .* "label", got "u"/, { targets: "numbers" }],
  ["targets in the order of the option", "series,time,x,p,q\na,0,1,2,3\n", "x; a 0 | 1  3 2", {
    ...{ targets: "numbers", target: ["q", "p"] },
  }],
  ["a missing target column", good, /no column "y" among .* the option target/, { target: ["y"] }],
  [
    "a missing ignored column",
    good,
    /line 1: no column "y" among .*, x, label; .* the option ignore$/,
    {
      ignore: ["y"],
    },
  ],
  ["an ignored column that an earlier table had", good, read, { ignore: ["y"], columns: {} }],
  [
    "an ignored column that a later row of JSON brings",
    '{"series":"a","time":0,"x":1}\n{"series":"a","time":1,"y":2}\n',
    'x; a 0 1 | 1 NaN; column "y" (as asked)',
    { ignore: ["y"] },
  ],
  ["one column for two roles", good, /cannot be both time and static/, { static: ["time"] }],
  [
    "unsorted rows",
    `${head}a,1,2,u\na,0,1,u\n`,
    "x; a 0 1 | 1 2 u; 1 row came before an earlier row of the same series: sorted by time",
  ],
  ["a row twice", `${head}a,0,1,u\na,0,1,u\n`, /^x; a 0 \| 1 u; 1 row merged .* did not differ$/],
  [
    "a time twice",
    `${head}a,0,1,u\na,0,3,u\n`,
    /line 3: .* two observations at time 0 that differ in "x"; the option duplicates/,
  ],
  [
    "a duplicate day of eight digits",
    `${head}a,20240531,1,u\na,20240531,3,u\n`,
    /line 3: .* two observations at time 2024-05-31T00:00:00Z that differ in "x"/,
  ],
  [
    "duplicate times with the option for means",
    `${head}a,0,1,u\na,0,3,u\n`,
    /^x; a 0 \| 2 u; 1 row merged .* the mean was taken$/,
    {
      duplicates: "mean",
    },
  ],
  [
    "a word as time",
    `${head}a,later,1,u\n`,
    /line 2: expected a number or a date as time, got "later" in column "time"/,
  ],
  [
    "a date in another order",
    `${head}a,31.05.2024,1,u\n`,
    /line 2: .* got "31.05.2024" .*; write dates as 2024-05-31 18:00/,
  ],
  [
    "amounts of money",
    `${head}a,0,$5.20,u\n`,
    /line 2: expected a number, .* got "\$5.20"; use the option category/,
  ],
  ["negative numbers in brackets", `${head}a,0,(5),u\n`, /line 2: expected a number, .* got "\(5\)"/],
  ["a Unicode minus", `${head}a,0,\u22125,u\n`, /line 2: expected a number, .* got "\u22125"/],
  ["thousands", `${head}a,0,"1,234,000",u\n`, /line 2: .*; if the comma separates thousands, remove it$/],
  [
    "epochs in ms",
    `${head}a,${day}000,1,u\n`,
    /^x; a 1717113600 \| 1 u; times are whole numbers .* as milliseconds/,
  ],
  [
    "Unix times in ms after one in seconds",
    `${head}a,${day}000,1,u\n`,
    /line 2: expected seconds since 1970 .*, got "1717113600000" .* in milliseconds; use the option timeUnit milliseconds/,
    { numericTimes: "seconds" },
  ],
  [
    "Unix times in ms after one in seconds, with the option for units",
    `${head}a,${day}000,1,u\n`,
    `x; a ${day} | 1 u`,
    {
      ...{ numericTimes: "seconds", timeUnit: "milliseconds" },
    },
  ],
  [
    "fractional Unix times after one in ms",
    `${head}a,${day}.5,1,u\n`,
    /in seconds; use the option timeUnit seconds/,
    {
      numericTimes: "milliseconds",
    },
  ],
  ["small times after Unix times", `${head}a,60,1,u\n`, "x; a 60 | 1 u", { numericTimes: "seconds" }],
  ["Unix times after plain numbers", `${head}a,${day},1,u\n`, `x; a ${day} | 1 u`, {
    numericTimes: "number",
  }],
  ["dates of a zone", `${head}a,2024-05-31 02:00,1,u\n`, `x; a ${day} | 1 u`, { zone: "Europe/Berlin" }],
  [
    "an ambiguous hour at the end of daylight saving time",
    `${head}a,2024-10-27 02:30,1,u\na,2024-10-27 02:30,2,u\n`,
    /line 3: .* put back and show it twice: write times with offsets, as 2024-10-27T02:30:00\+01:00$/,
    { zone: "Europe/Berlin" },
  ],
  [
    "duplicate times outside the ambiguous hour",
    `${head}a,2024-10-27 03:30,1,u\na,2024-10-27 03:30,2,u\n`,
    /line 3: .* the option duplicates as mean, first or last decides$/,
    { zone: "Europe/Berlin" },
  ],
  ["an unknown time zone", good, /no time zone "Mars\/Olympus"; expected a name such as Europe\/Berlin/, {
    zone: "Mars/Olympus",
  }],
  [
    "a wide table",
    "time,s1,s2\n0,1,2\n1,,3\n",
    "value; s1 0 | 1; s2 0 1 | 2 3; 1 empty field taken for no observation",
    {
      wide: true,
    },
  ],
  ["milliseconds as seconds", "time,x\n1e13,1\n", /line 2: expected seconds since 1970/, {
    timeUnit: "seconds",
  }],
  ["a wide table with duplicate times", "time,s1\n0,1\n0,2\n", /line 3: .* at time 0 .* the option duplic/, {
    wide: true,
  }],
  [
    "a wide table with means of duplicate times",
    "time,s1\n0,1\n0,2\n",
    /^value; s1 0 \| 1\.5; 1 row merged/,
    {
      wide: true,
      duplicates: "mean",
    },
  ],
  [
    "a query for a file that is not SQLite",
    "time,x\n0,1\n",
    /; the query is not used: the file is not a SQ/,
    {
      query: "select 1",
    },
  ],
  ["numeric times with a time zone", "time,x\n0,1\n", /; the zone Asia\/Tokyo is not used: /, {
    zone: "Asia/Tokyo",
  }],
  ["a word in a wide table", "time,s1\n0,1\n1,x\n", /line 3: .* "s1", got "x"/, { wide: true }],
  [
    "JSON lines",
    '{"series":"a","time":0,"x":1}\n\n{"series":"a","time":1,"y":2}\n',
    "x,y; a 0 1 | 1 NaN NaN 2",
  ],
  ["a JSON array", '[{"series":"a"}]', /a JSON array; expected JSON lines/],
  ["truncated JSON", '{"series":"a","time":0,"x":1}\n{"ser', /line 2: expected a JSON object/],
  [
    "nested JSON",
    '{"series":"a","time":0,"x":[1]}\n',
    /line 1: expected a number or a text in "x", got \[1\]; flatten/,
  ],
  ["a long number as series in JSON", '{"series":9007199254740993,"time":0,"x":1}\n', manyDigits("series")],
  [
    "a long number as group in JSON",
    '{"series":"a","time":0,"x":1,"g":9007199254740993}\n',
    manyDigits("g"),
    { group: "g" },
  ],
  [
    "a long number as category in JSON",
    '{"series":"a","time":0,"x":9007199254740993}\n',
    manyDigits("x"),
    { category: ["x"] },
  ],
  [
    "new names in later rows of JSON",
    '{"time":0,"x":1}\n{"series":"b","time":0}\n',
    /line 1: no name in .* "series"/,
  ],
  ["JSON in UTF-16", utf16('\uFEFF{"time":0,"x":1}'), /^x; table 0 \| 1;/],
  ["a number as series in JSON", '{"series":9007199254740991,"time":0,"x":1}\n', "x; 9007199254740991 0 | 1"],
  ["gzip", packed, read],
  ["gzip of two parts", Uint8Array.of(...gzipSync(head), ...gzipSync(good.slice(20))), read],
  ["truncated gzip", packed.subarray(0, -12), /incomplete: the gzip file is truncated or damaged/],
  ["Parquet", parquet, "x; a 0 1 | 1.5 NaN u; b 0 | 2.5 v"],
  [
    "Parquet without a time zone",
    Uint8Array.fromBase64(
      "UEFSMRUAFSwVLCwVBBUAFQYVBhwAAAACAAAABAH64MdeuxkGAPThx167GQYAFQAVHBUcLBUEFQAVBhUGHAAAAAIAAAAEAQEAAAACAAAAFQQ" +
        "ZPDUAGAZzY2hlbWEVBAAVBCUCGAR0aW1lJRRMjBIcLAAAAAAAFQIlAhgBeAAWBBkcGSwmABwVBBklBgAZGAR0aW1lFQAWBBZSFlImCEkcFQ" +
        "AVABUCADwpBhkmAAQAAAAmABwVAhklBgAZGAF4FQAWBBZCFkImWkkcFQAVABUCADwpBhkmAAQAAAAWlAEWBCYIFpQBAACYAAAAUEFSMQ==",
    ),
    /^x; table 1717135200\.00025 /,
    { zone: "Europe/Berlin" },
  ],
  ["truncated Parquet", parquet.subarray(0, 400), /not read as Parquet .*; is it whole\?/],
  ["Parquet in gzip", gzipSync(parquet), /parquet inside gzip, .*; unpack it first/],
];

for (const [name, content, expected, options] of cases) {
  Deno.test(
    `a table with ${name} is read as documented or rejected with the position and a fix`,
    withFolder(async (folder) => {
      const path = `${folder}/table.csv`;
      await Deno.writeFile(path, typeof content === "string" ? new TextEncoder().encode(content) : content);
      const found = await readTable(path, options).then(shown, (error: Error) => {
        assert.ok(error.constructor !== TypeError && !error.message.includes("\n"), error.stack);
        return error.message;
      });
      if (typeof expected === "string") assert.equal(found, expected);
      else assert.match(found, expected);
    }),
  );
}

Deno.test(
  "a query on a SQLite file gives a table, and without a query the error lists the tables",
  withFolder(async (folder) => {
    const path = `${folder}/own.db`;
    const database = new DatabaseSync(path);
    database.exec(
      "create table t(id text, at integer, x real); insert into t values ('a', 0, 1), ('a', 1, null)",
    );
    database.close();
    const options = { series: "id", time: "at" };
    assert.equal(shown(await readTable(path, { ...options, query: "select * from t" })), "x; a 0 1 | 1 NaN");
    await assert.rejects(() => readTable(path), /own\.db: a SQLite file needs a query, .* its tables: t$/);
    await assert.rejects(() => readTable(path, { query: "select y from t" }), /own\.db: no such column: y/);
    await assert.rejects(() => readTable(path, { query: "drop table t" }), /own\.db: /);
  }),
);

Deno.test(
  "the tables of a folder are joined, one series per file by default, and must have equal columns",
  withFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/p1.csv`, "time,x\n0,1\n");
    await Deno.writeFile(`${folder}/p2.csv.gz`, gzipSync("x;time\n2,5;0\n"));
    await Deno.writeFile(`${folder}/._p1.csv`, new Uint8Array(9));
    const { series } = await readTable(folder);
    assert.deepEqual(series.map(({ name, values }) => [name, ...values]), [["p1", 1], ["p2", 2.5]]);
    await Deno.writeTextFile(`${folder}/p3.csv`, "time,y\n0,1\n");
    await assert.rejects(
      () => readTable(folder),
      /p3\.csv, line 1: no column "x", another column "y" than in .*p1\.csv/,
    );
  }),
);

testLong(
  "a line of two gigabytes and a quote that spans it are rejected in bounded memory",
  withFolder(async (folder) => {
    const path = `${folder}/line.csv`;
    const before = Deno.memoryUsage().rss;
    for (
      const [content, message] of [[good, /line 5: a line of more than 16777216/], [
        `${good}"`,
        /line 5: a line of/,
      ]] as const
    ) {
      await Deno.writeTextFile(path, content);
      // A sparse file, which takes no space on the disk.
      await Deno.truncate(path, 2 ** 31);
      await assert.rejects(() => readTable(path), message);
    }
    const lines = `${"a".repeat(1000)}\n`.repeat(1000);
    await Deno.writeTextFile(path, `${head}"`);
    for (let i = 0; i < 40; i++) await Deno.writeTextFile(path, lines, { append: true });
    await assert.rejects(() => readTable(path), /line 2: a quote that is opened in this row is never closed/);
    assert.ok(Deno.memoryUsage().rss - before < 4e8);
  }),
);
