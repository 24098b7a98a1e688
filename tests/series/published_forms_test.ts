/** Whole and damaged tables in the published forms of archives and statistics offices. */
import assert from "node:assert/strict";
import { WeftError } from "../../src/device/errors.ts";
import type { DataRecord } from "../../src/series/data_record.ts";
import { configOf } from "../../src/train/config.ts";
import { experimentNamed } from "../runs.ts";
import { withFolder } from "../tasks/command_line.ts";

const ownSeries = experimentNamed("own-series");

/** Files of a case by name, and the options that name them. */
interface Case {
  readonly files: Readonly<Record<string, string>>;
  readonly options: Readonly<Record<string, unknown>>;
}

/** Record of a run that is prepared and not trained. */
async function recordOf({ files, options }: Case, folder: string): Promise<DataRecord> {
  for (const [name, text] of Object.entries(files)) {
    await Deno.mkdir(`${folder}/${name}`.replace(/\/[^/]+$/, ""), { recursive: true });
    await Deno.writeTextFile(`${folder}/${name}`, text);
  }
  const placed = Object.fromEntries(
    Object.entries(options).map(([name, value]) => [
      name,
      ["data", "validation", "test"].includes(name) ? `${folder}/${value}` : value,
    ]),
  );
  const config = configOf(ownSeries, { device: "cpu", model: "gru", hidden: 4, ...placed });
  return (await ownSeries.prepare(config)).record;
}

/** Files in the exact form of UCR's `.tsv`: the label, then the values, tab-separated, without a header. */
const gunPoint = (count: number, change: (line: string, i: number) => string = (line) => line) =>
  Array.from(
    { length: count },
    (_, i) =>
      change(`${i % 2 + 1}\t-1.1250133${i}\t-1.1313338\t-1.1382833\t${i % 2 ? "" : "-"}0.5`, i) + "\n",
  ).join("");
const ucr = (test: string, train = gunPoint(8)): Case => ({
  files: { "GunPoint_TRAIN.tsv": train, "GunPoint_TEST.tsv": test },
  options: { data: "GunPoint_TRAIN.tsv", test: "GunPoint_TEST.tsv", table: { layout: "rows" } },
});

/** A file in the exact form of the UEA archive. */
const pens = (lines: readonly string[]) =>
  [
    "#The pens of the archive",
    "@problemName Pens\r\n@timeStamps false\r\n@missing false\r\n@univariate false",
    "@dimensions 2\r\n@equalLength true\r\n@seriesLength 3",
    "@classLabel true a b",
    "@data",
    ...lines,
    "",
  ].join("\r\n");
const pen = (i: number) => `${i},0.5,1:2,${i}.25,0:${i % 2 ? "b" : "a"}`;
const penLines = (count: number) => Array.from({ length: count }, (_, i) => pen(i));
const uea = (test: string, train = pens(penLines(8))): Case => ({
  files: { "Pens/Pens_TRAIN.ts": train, "Pens/Pens_TEST.ts": test },
  options: { data: "Pens" },
});

/** A file in the exact form of the TSER archive. */
const rates = (count: number) =>
  [
    "@problemname Rates\n@timestamps false\n@missing false\n@univariate true\n@equallength true\n@targetlabel true\n@data",
    ...Array.from({ length: count }, (_, i) => `0.0,1.0,${i}.0:0.${i}25`),
    "",
  ].join("\n");
const tser = (options: Case["options"], test = rates(4)): Case => ({
  files: { "Rates/Rates_TRAIN.ts": rates(8), "Rates/Rates_TEST.ts": test },
  options,
});

/** Labelled series of a long table. */
const labelled = (names: string, { label = "up,down", time = (t: number) => `${t}`, channel = "x" } = {}) =>
  [
    `series,time,${channel},label`,
    ...[...names].flatMap((name, i) =>
      [0, 1, 2].map((t) => `${name},${time(t)},${t + i / 10},${label.split(",")[i % 2]}`)
    ),
    "",
  ].join("\n");
const parts = (test: string, validation = labelled("ij")): Case => ({
  files: { "train.csv": labelled("abcdefgh"), "validation.csv": validation, "test.csv": test },
  options: { data: "train.csv", validation: "validation.csv", test: "test.csv" },
});

/** Monthly passengers in the form of the airline table, as statistics offices write months and quarters. */
const monthly = (write: (year: number, month: number) => string, count = 120, step = 1) =>
  [
    "Month,Passengers",
    ...Array.from({ length: count }, (_, i) =>
      `${write(1949 + Math.floor(i * step / 12), i * step % 12)},${100 + i % 12}`),
    "",
  ].join("\n");
const iso = (year: number, month: number) => `${year}-${`${month + 1}`.padStart(2, "0")}`;
const named = (year: number, month: number) =>
  `${year} ${["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"][month]}`;
const quarter = (year: number, month: number) => `${year} Q${month / 3 + 1}`;
const calendar = (table: string, horizon: unknown = "1y"): Case => ({
  files: { "airline.csv": table },
  options: {
    data: "airline.csv",
    task: "forecast",
    model: "seasonal-naive",
    hidden: undefined,
    horizon,
    table: { time: "Month" },
  },
});

const wholeForms: [form: string, files: Case, found: (record: DataRecord) => unknown, expected: unknown][] = [
  [
    "UCR .tsv files with a row for each series",
    ucr(gunPoint(4)),
    (
      { classes, length, split },
    ) => [classes, length, split.train.length + split.validation.length, split.test.length],
    [["1", "2"], 4, 8, 4],
  ],
  [
    "a folder of .ts files with its published split",
    uea(pens(penLines(4))),
    ({ classes, channels, split }) => [classes, channels.length, split.test.map(({ name }) => name)],
    [["a", "b"], 2, ["TEST 1", "TEST 2", "TEST 3", "TEST 4"]],
  ],
  ...[{ data: "Rates" }, { data: "Rates/Rates_TRAIN.ts", test: "Rates/Rates_TEST.ts" }].map((
    parts,
  ): typeof wholeForms[number] => [
    `.ts files for regression in a ${Object.keys(parts).length === 1 ? "folder" : "file each"}`,
    tser({ ...parts, task: "regress" }),
    ({ targets, split }) => [targets!.map(({ name }) => name), split.test.length],
    [["target"], 4],
  ]),
  [
    "tables of the training, validation and test set",
    parts(labelled("kl")),
    ({ split }) => [split.train.length, split.validation.length, split.test.length],
    [8, 2, 2],
  ],
  ...([["1y of months such as 1949-01", monthly(iso), "1y", [1, 12, 12]], [
    "18 months such as 1991 Jul",
    monthly(named),
    "18 months",
    [1, 18, 12],
  ], ["1y of quarters such as 1970 Q1", monthly(quarter, 60, 3), "1y", [3, 4, 4]]] as const).map((
    [name, table, horizon, expected],
  ): typeof wholeForms[number] => [
    `forecasts of ${name}`,
    calendar(table, horizon),
    ({ windows }) => [windows!.gap, windows!.horizon, windows!.season],
    expected,
  ]),
];

for (const [form, files, found, expected] of wholeForms) {
  Deno.test(
    `${form} are read`,
    withFolder(async (folder) => assert.deepEqual(found(await recordOf(files, folder)), expected)),
  );
}

/** A damaged case with the code, some fields and the message of its error. */
type Damage = readonly [
  damage: string,
  damaged: Case,
  fields: Partial<Pick<WeftError, "code" | "option" | "row" | "column">>,
  message: RegExp,
];

const damages: readonly Damage[] = [
  ...([
    ["with an unknown label", gunPoint(4, (line, i) => i === 1 ? line.replace(/^2/, "3") : line), {
      code: "unknown-label",
    }, /unknown label "3"; .* "1", "2": rename the label/],
    ["with a short row", gunPoint(4, (line, i) => i === 2 ? line.replace(/\t[^\t]*$/, "") : line), {
      code: "invalid-row",
      row: 3,
    }, /4 fields, expected 5 as in the first row: a row that is cut short/],
    ["that is cut off", gunPoint(4).slice(0, -15), { code: "invalid-row", row: 4 }, /4 fields, expected 5/],
    ["with a word", gunPoint(4, (line, i) => i === 2 ? line.replace("-1.1313338", "n/k") : line), {
      code: "invalid-cell",
      row: 3,
      column: "value",
    }, /expected a number, or nothing .* got "n\/k"/],
    ["that is empty", "", { code: "empty-table", row: 1 }, /an empty file; expected a table/],
    [
      "that is binary",
      "\0\x01",
      { code: "damaged-file", row: 1 },
      /binary, or damaged; expected a text table/,
    ],
  ] as const).map(([name, text, fields, message]): Damage => [
    `a UCR test file ${name}`,
    ucr(text),
    fields,
    message,
  ]),
  [
    "a UCR file without labels",
    ucr(gunPoint(4), gunPoint(8, (line) => line.replace(/^\d/, ""))),
    { code: "invalid-cell", row: 1, column: "label" },
    /expected a label, got ""; fill in the label/,
  ],
  ...([
    [
      "that is cut off",
      pens(penLines(4)).slice(0, -8),
      { code: "invalid-row", row: 14 },
      /complete the line/,
    ],
    [
      "with an unknown class",
      pens([pen(0), "1,2,3:1,2,3:c"]),
      { code: "invalid-row", row: 12 },
      /classes a, b .* got "c"/,
    ],
    [
      "without a header",
      penLines(4).join("\n"),
      { code: "invalid-row", row: 1 },
      /expected a directive such as @data/,
    ],
    ["without classes", pens(penLines(4)).replace("@classLabel true a b\r\n", ""), {
      code: "invalid-row",
      row: 9,
    }, /expected either @classLabel true and the classes or @targetLabel true before @data/],
    [
      "with a short series",
      pens([pen(0), "1,2:1,2:a"]),
      { code: "invalid-row", row: 12 },
      /expected 3 observations.* got 2/,
    ],
    [
      "with a word",
      pens([pen(0), "1,x,3:1,2,3:a"]),
      { code: "invalid-cell", row: 12 },
      /expected a number .* got "x"/,
    ],
    ["that is empty", "", { code: "empty-table", row: 1 }, /ends before @data; expected directives/],
    ["without series", pens([]), { code: "empty-table", row: 11 }, /without a series after @data; expected/],
    [
      "with another number of channels",
      pens(penLines(4)).replace("@dimensions 2", "@dimensions 3").replaceAll(":2,", ":0,0,0:2,")
        .replaceAll(/^(\d,0\.5,1:2)/gm, "$1"),
      { code: "conflicting-columns" },
      /3 channels, expected 2 as in Pens_TRAIN\.ts; take both files from the same archive/,
    ],
  ] as const).map(([name, text, fields, message]): Damage => [
    `a .ts test file ${name}`,
    uea(text),
    fields,
    message,
  ]),
  [
    "a .ts file with numbers for a classification",
    tser({ data: "Rates" }),
    { code: "conflicting-columns", option: "task" },
    /numbers to predict; expected classes; use the option task regress/,
  ],
  [
    "a .ts file with classes for a regression",
    { ...uea(pens(penLines(4))), options: { data: "Pens", task: "regress" } },
    { code: "conflicting-columns", option: "task" },
    /classes to predict; expected numbers; use the option task classify/,
  ],
  [
    "a .ts test file with classes beside a training file with numbers",
    tser(
      { data: "Rates", task: "regress" },
      rates(4).replace("@targetlabel true", "@classlabel true 0.025 0.125 0.225 0.325"),
    ),
    { code: "conflicting-columns" },
    /classes, expected a target as in Rates_TRAIN\.ts; take both files from the same archive/,
  ],
  [
    "a folder with a .ts test file alone",
    { files: { "Pens/Pens_TEST.ts": pens(penLines(4)) }, options: { data: "Pens" } },
    { code: "unreadable-file" },
    /expected a <name>_TRAIN\.ts, found Pens_TEST\.ts; add the file/,
  ],
  [
    "a folder with files of other kinds",
    { files: { "d/sheet.xlsx": "a", "d/notes.pdf": "b" }, options: { data: "d" } },
    { code: "unreadable-file" },
    /without tables and without \.ts files; expected a table \(\.csv, \.tsv, .*a zip file or folder of \.ts files/,
  ],
  ...([
    [
      "with an unknown class",
      labelled("kl", { label: "up,sideways" }),
      { code: "unknown-label" },
      /"sideways"; .*rename/,
    ],
    ["without labels", labelled("kl").replace(/,(label|up|down)$/gm, ""), {
      code: "missing-column",
      option: "target",
      column: "label",
    }, /no column "label"; expected the class of each series.*; name the column/],
    [
      "with another column",
      labelled("kl", { channel: "y" }),
      { code: "missing-column", column: "x" },
      /unknown column "y"; .*rename columns/,
    ],
    [
      "without a header",
      labelled("kl").replace(/^.*\n/, ""),
      { code: "conflicting-columns", row: 1 },
      /two columns are called "0"/,
    ],
    [
      "with a short row",
      labelled("kl").replace("k,1,1,up", "k,1,1"),
      { code: "invalid-row", row: 3 },
      /3 fields, expected 4/,
    ],
    [
      "with a long row",
      labelled("kl").replace("k,1,1,up", "k,1,1,up,7"),
      { code: "invalid-row", row: 3 },
      /5 fields, expected 4/,
    ],
    [
      "with dates",
      labelled("kl", { time: (t) => `2024-01-0${t + 1}` }),
      { code: "invalid-cell" },
      /times are dates, .*write them as numbers/,
    ],
    ["with a time twice", labelled("kl", { time: (t) => `${Math.min(t, 1)}` }), {
      code: "conflicting-rows",
      option: "duplicates",
      row: 4,
    }, /two observations at time 1 .*duplicates as mean, first or last/],
    ["that is empty", "", { code: "empty-table", row: 1 }, /an empty file; expected a table/],
    [
      "with a header alone",
      "series,time,x,label\n",
      { code: "empty-table", row: 1 },
      /no rows .*; add the rows/,
    ],
  ] as const).flatMap(([name, text, fields, message]): Damage[] => [
    [`a test table ${name}`, parts(text), fields, new RegExp(`test\\.csv.*${message.source}`)],
    [
      `a validation table ${name}`,
      parts(labelled("kl"), text),
      fields,
      new RegExp(`validation\\.csv.*${message.source}`),
    ],
  ]),
  ...([
    [
      "month 13",
      monthly(iso).replace("1950-12", "1950-13"),
      { code: "invalid-cell", row: 25 },
      /expected a month or a quarter .* got "1950-13"/,
    ],
    [
      "month 0",
      monthly(iso).replace("1950-12", "1950-00"),
      { code: "invalid-cell", row: 25 },
      /got "1950-00"/,
    ],
    [
      "an unknown month",
      monthly(named).replace("1950 Jul", "1950 Jux"),
      { code: "invalid-cell", row: 20 },
      /got "1950 Jux"/,
    ],
    [
      "quarter 5",
      monthly(quarter, 60, 3).replace("1950 Q4", "1950 Q5"),
      { code: "invalid-cell", row: 9 },
      /got "1950 Q5"/,
    ],
    [
      "no month",
      monthly(iso).replace("1950-12", ""),
      { code: "invalid-cell", row: 25, column: "Month" },
      /got ""/,
    ],
    [
      "a month twice",
      monthly(iso).replace("1950-12", "1950-11"),
      { code: "conflicting-rows", row: 25 },
      /two observations at time 1950-11/,
    ],
    ["a cut-off row", monthly(iso).slice(0, -5), { code: "invalid-row", row: 121 }, /1 fields, expected 2/],
    [
      "no header",
      monthly(iso).replace(/^.*\n/, ""),
      { code: "missing-column", option: "time", row: 1 },
      /no column "Month" among/,
    ],
    [
      "too few rows",
      monthly(iso, 9),
      { code: "too-small", option: "horizon" },
      /no series is long enough.*; lower the option horizon/,
    ],
  ] as const).map(([name, table, fields, message]): Damage => [
    `a monthly table with ${name}`,
    calendar(table),
    fields,
    message,
  ]),
  ...([
    [
      "a time without dates",
      monthly((year, month) => `${12 * (year - 1949) + month}`),
      "1y",
      /needs dates, .*number of steps/,
    ],
    ["less than a month", monthly(iso), "2d", /shorter than a step of 1 month; give a longer one/],
    ["an unknown unit", monthly(iso), "18 moons", /expected a whole number of at least 1, or a time such as/],
    ["zero", monthly(iso), 0, /expected a whole number of at least 1/],
  ] as const).map(([name, table, horizon, message]): Damage => [
    `a horizon of ${name}`,
    calendar(table, horizon),
    { code: "invalid-option", option: "horizon" },
    message,
  ]),
];

for (const [damage, damaged, fields, message] of damages) {
  Deno.test(
    `${damage} is rejected with a code and a fix`,
    withFolder(async (folder) => {
      await assert.rejects(recordOf(damaged, folder), (error) => {
        assert.ok(error instanceof WeftError, `${error}`);
        const found = Object.fromEntries(
          Object.keys(fields).map((name) => [name, error[name as keyof typeof fields]]),
        );
        assert.deepEqual(found, fields);
        assert.match(error.message, message);
        return true;
      });
    }),
  );
}
