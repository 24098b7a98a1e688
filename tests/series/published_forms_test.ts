/** Whole tables in the published forms of archives and statistics offices. */
import assert from "node:assert/strict";
import type { DataRecord } from "../../src/series/record/data_record.ts";
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
  penLines,
  pens,
  quarter,
  recordOf,
  tser,
  ucr,
  uea,
} from "./published_forms.ts";

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
