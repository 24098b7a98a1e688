/** Damaged tables in the published forms of archives and statistics offices. */
import assert from "node:assert/strict";
import { WeftError } from "../../src/device/errors.ts";
import { withFolder } from "../tasks/command_line.ts";
import {
  calendar,
  type Case,
  gunPoint,
  iso,
  labelled,
  monthly,
  named,
  parts,
  pen,
  penLines,
  pens,
  quarter,
  rates,
  recordOf,
  tser,
  ucr,
  uea,
} from "./published_forms.ts";

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
    }, /two observations at time 1 .*set .*duplicates to mean, first or last/],
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
