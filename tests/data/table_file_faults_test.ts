/** Tables with faults in other encodings and kinds of files, in folders, and in very large files. */
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { gzipSync } from "node:zlib";
import { readTable } from "../../src/data/table/read_table.ts";
import { testLong } from "../devices.ts";
import { withFolder } from "../tasks/command_line.ts";
import { good, head, read, shown, testTables } from "./table_faults.ts";

const utf16 = (text: string) =>
  new Uint8Array(Uint16Array.from(text, (letter) => letter.charCodeAt(0)).buffer);
const latin1 = (text: string) => Uint8Array.from(text, (letter) => letter.charCodeAt(0));
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
const manyDigits = (column: string) =>
  new RegExp(
    `line 1: expected a text in column "${column}", .* got 9007199254740992; in JSON, write it in quotes$`,
  );

testTables([
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
  ["zero bytes", `${head}a,0,1,u\n\0\0`, /line 3: a zero byte: the file is binary/],
  ["a picture", latin1("\x89PNG\r\n\x1a\n\0\0\0\rIHDR"), /line 1: not UTF-8|binary/],
  [
    "a workbook",
    latin1("PK\x03\x04xl/workbook.xml"),
    /a zip file, as Excel's workbooks are; save the sheet as CSV/,
  ],
  [
    "an ignored column that a later row of JSON brings",
    '{"series":"a","time":0,"x":1}\n{"series":"a","time":1,"y":2}\n',
    'x; a 0 1 | 1 NaN; column "y" (as asked)',
    { ignore: ["y"] },
  ],
  [
    "a query for a file that is not SQLite",
    "time,x\n0,1\n",
    /; the query is not used: the file is not a SQ/,
    {
      query: "select 1",
    },
  ],
  [
    "JSON lines",
    '{"series":"a","time":0,"x":1}\n\n{"series":"a","time":1,"y":2}\n',
    "x,y; a 0 1 | 1 NaN NaN 2",
  ],
  ["a JSON array", '[{"series":"a"}]', /a JSON array; expected JSON lines/],
  ["truncated JSON", '{"series":"a","time":0,"x":1}\n{"ser', /line 2: expected a complete JSON object/],
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
  ["truncated Parquet", parquet.subarray(0, 400), /not read as Parquet .*; is it complete\?/],
  ["Parquet in gzip", gzipSync(parquet), /parquet inside gzip; .*; unpack it first/],
]);

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
