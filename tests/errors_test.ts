/** Codes and fields of errors, and their messages for the command line and for clients of the server. */
import assert from "node:assert/strict";
import { init, load, scan, tensor, WeftError } from "../mod.ts";
import { outcome } from "../src/commands/command.ts";
import { parseCsv, readTable } from "../src/data/mod.ts";
import { DataError, OptionError } from "../src/device/errors.ts";
import { SafetensorsError } from "../src/files/safetensors.ts";
import { checkDataRecord } from "../src/series/record/data_record.ts";
import { ownSeries } from "../src/series/run/own_series.ts";
import { handlerOf, serviceOf } from "../src/serve/mod.ts";
import { readRunConfig } from "../src/train/run/config.ts";
import { experimentNamed, settingsOf } from "../src/train/experiment.ts";
import { runFolder } from "../src/train/run/run_folder.ts";
import { table, trainedRun } from "./serve/served.ts";
import { runTask, withFolder } from "./tasks/command_line.ts";
import { testLong } from "./devices.ts";

const csv = (text: string, options = {}) => () => parseCsv(text, "a.csv", options);
const lines = (text: string) => () => readTable({ name: "a", bytes: new TextEncoder().encode(text) });
const rows = (...rows: Record<string, unknown>[]) => () => readTable({ name: "a", rows });
const settings = (chosen: Record<string, unknown>) => () => settingsOf(ownSeries, chosen);

/** Writes a file, then reads its folder. */
const withFile = (name: string, text: string, read: (folder: string) => unknown) => async () => {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${folder}/${name}`, text);
    await read(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
};

interface Expected {
  code: string;
  option?: string;
  row?: number;
  column?: string;
  expected?: string;
}

const cases: [name: string, call: () => unknown, expected: Expected][] = [
  ["an unknown option", () => scan(() => [[], []] as never, [], tensor([1]), { excutor: 1 } as never), {
    code: "unknown-option",
    option: "excutor",
    expected: "compile, checkpoint, memory or executor",
  }],
  ["an option of a table that is not known", csv("time,x\n0,1\n", { delimeter: ";" }), {
    code: "unknown-option",
    option: "delimeter",
  }],
  ["a device that does not exist", () => init({ device: "gpu" as "cpu" }), {
    code: "invalid-option",
    option: "device",
    expected: '"auto", "webgpu", "cpu"',
  }],
  ["an unknown setting", settings({ colour: "red" }), { code: "unknown-option", option: "colour" }],
  ["a setting out of range", settings({ learningRate: -1 }), {
    code: "invalid-option",
    option: "learningRate",
    expected: "a number above 0",
  }],
  ["an unknown model", settings({ model: "oracle" }), { code: "unknown-model", option: "model" }],
  ["a setting of another task", settings({ horizon: 3 }), { code: "unusable-option", option: "horizon" }],
  ["two settings of one weight", settings({ balance: true, positiveWeight: 2 }), {
    code: "conflicting-options",
  }],
  ["an unknown experiment", () => experimentNamed([ownSeries], "own"), {
    code: "unknown-experiment",
    expected: "own-series",
  }],
  ["a time zone that does not exist", csv("time,x\n0,1\n", { zone: "Mars/Olympus" }), {
    code: "invalid-option",
    option: "zone",
  }],
  ["a missing column", csv("series,x\na,1\n"), {
    code: "missing-column",
    option: "time",
    row: 1,
    column: "time",
  }],
  ["an ignored column that is missing", csv("time,x\n0,1\n", { ignore: ["y"] }), {
    code: "missing-column",
    option: "ignore",
    row: 1,
    column: "y",
  }],
  ["a column twice", csv("time,x,x\n0,1,2\n"), { code: "conflicting-columns", row: 1, column: "x" }],
  ["a word among numbers", csv("time,x\n0,1\n1,high\n"), {
    code: "invalid-cell",
    row: 3,
    column: "x",
    expected: "a number, or nothing if the value is missing",
  }],
  ["a time that is a word", csv("time,x\n0,1\nnoon,2\n"), { code: "invalid-cell", row: 3, column: "time" }],
  ["a label that is missing", csv("series,time,x,label\na,0,1,\n"), {
    code: "invalid-cell",
    row: 2,
    column: "label",
    expected: "a label",
  }],
  ["a nested value", rows({ time: 0, x: 1 }, { time: 1, x: [1] }), {
    code: "invalid-cell",
    row: 2,
    column: "x",
    expected: "a number or a text",
  }],
  ["a row that is cut short", csv("time,x\n0,1\n1\n"), {
    code: "invalid-row",
    row: 3,
    expected: "2 fields",
  }],
  ["two labels of a series", csv("series,time,x,label\na,0,1,b\na,1,2,c\n"), {
    code: "conflicting-rows",
    row: 3,
    column: "label",
  }],
  ["two values at one time", csv("time,x\n0,1\n0,2\n"), {
    code: "conflicting-rows",
    option: "duplicates",
    row: 3,
    column: "x",
  }],
  ["a table without rows", csv("time,x\n"), { code: "empty-table", row: 1 }],
  ["a workbook", lines("PK\x03\x04"), { code: "unsupported-format" }],
  ["a table that is binary", lines("time,x\n0,\0\n"), { code: "damaged-file", row: 2 }],
  ["a file that does not exist", () => readTable("no/such.csv"), {
    code: "unreadable-file",
    expected: "a table",
  }],
  ["weights that do not exist", () => load("no/such.safetensors"), { code: "unreadable-file" }],
  ["weights that are damaged", () => load(new Uint8Array(3)), { code: "damaged-file" }],
  ["a record of another version", () => checkDataRecord({ version: 7 }, "data.json"), {
    code: "unsupported-version",
    expected: "version 1 to 4",
  }],
  [
    "the configuration of another version",
    withFile(
      "config.json",
      '{"experiment":"own-series","colour":"red"}',
      (folder) => readRunConfig(runFolder(folder), [ownSeries]),
    ),
    {
      code: "unsupported-version",
      option: "colour",
      expected: "a version in which own-series has the option colour",
    },
  ],
  [
    "a damaged configuration",
    withFile(
      "config.json",
      '{"experiment":"own-series","epochs":0}',
      (folder) => readRunConfig(runFolder(folder), [ownSeries]),
    ),
    { code: "damaged-file", option: "epochs", expected: "a whole number of at least 1" },
  ],
];

for (const [name, call, expected] of cases) {
  Deno.test(`the error of ${name} has the code ${expected.code}, and fields`, async () => {
    const error = await Promise.resolve().then(call).then(() => undefined, (error) => error);
    assert.ok(error instanceof WeftError, `${error}`);
    for (const field of ["code", "option", "row", "column"] as const) {
      assert.equal(error[field], expected[field], `${field}: ${error}`);
    }
    if (expected.expected !== undefined) assert.equal(error.expected, expected.expected);
    if (error.fix) assert.ok(error.message.endsWith(`; ${error.fix}`), error.message);
  });
}

Deno.test("the message of an error has one line, whatever the names in it", () => {
  const error = new DataError("empty-series", 'series "a\nb": no value', { fixes: ["leave\tit out"] });
  assert.equal(error.message, String.raw`series "a\nb": no value; leave\tit out`);
});

Deno.test("a message is written with the names of options that its reader sets", () => {
  const error = new OptionError(
    "conflicting-options",
    (write) => `${write("stepSize")} and ${write("grid")}`,
    {
      fixes: [(write) => `leave out ${write("grid")}`, (write) => `change ${write("stepSize")}`],
    },
  );
  assert.equal(error.message, "stepSize and grid; leave out grid; change stepSize");
  assert.deepEqual(error.writtenWith((name) => name === "grid" ? "?grid" : undefined), {
    message: "stepSize and ?grid; leave out ?grid",
    fix: "leave out ?grid",
  });
  assert.equal(new SafetensorsError("a.safetensors", "damaged").fix, undefined);
});

/** Two observations at one time, of a series whose name contains the words of a message. */
const conflicting = (header: string, rest: string) =>
  `${header}\n"a; the option time is mine",0,1${rest}\n"a; the option time is mine",0,2${rest}\n`;
const problem = 'series "a; the option time is mine" has two observations at time 0 that differ in "x"';

Deno.test(
  "the command line prints a whole message about a series with the words of a message in its name",
  withFolder(async (folder) => {
    const path = `${folder}/own.csv`;
    await Deno.writeTextFile(path, conflicting("series,time,x,label", ",b"));
    const { code, stderr } = await runTask("train", "own-series", "--data", path, "--device", "cpu");
    assert.deepEqual([code, stderr.trimEnd()], [
      1,
      `error: ${path}, line 3: ${problem}; set --duplicates to mean, first or last`,
    ]);
  }),
);

testLong(
  "the server answers with a whole message about such a series, and with the code and the fields",
  withFolder(async (folder) => {
    const handler = handlerOf(serviceOf(await trainedRun(folder)));
    const post = async (body: string, type = "text/csv", query = "") => {
      const headers = { "content-type": type };
      const url = `http://127.0.0.1:8000/predict${query}`;
      return await (await handler(new Request(url, { method: "POST", body, headers }))).json();
    };
    const fix = "set the parameter duplicates to mean, first or last";
    assert.deepEqual(await post(conflicting("series,time,x,ward", ",icu")), {
      ...{ type: "about:blank", title: "Unprocessable Content", status: 422 },
      detail: `the body, line 3: ${problem}; ${fix}`,
      ...{ code: "conflicting-rows", option: "duplicates", row: 3, column: "x", fix },
    });
    const { code, option, column, fix: none } = await post(table(2, false).replace("time", "when"));
    assert.deepEqual([code, option, column, none], ["missing-column", undefined, "time", undefined]);
    const parameter = await post(table(2, false), "text/csv", "?decimal=x");
    assert.deepEqual([parameter.code, parameter.option, parameter.expected], [
      ...["invalid-option", "decimal", 'one of ".", ","'],
    ]);
    const one = { name: "a", times: [0, 1], values: { "x/y": [1] } };
    const json = await post(JSON.stringify({ series: [one] }), "application/json");
    assert.deepEqual([json.code, json.pointer], ["invalid-series", "/series/0/values/x~1y"]);
    assert.equal((await post("")).code, "bad-request");
  }),
);

Deno.test("the command line writes options as flags, and errors of other origins as they are", async () => {
  const printed: unknown[] = [];
  const { error } = console;
  console.error = (text: unknown) => printed.push(text);
  try {
    const thrown = [
      new OptionError("invalid-option", (write) => `${write("learningRate")} is -1`),
      new Error("the option time is missing"),
    ];
    for (const one of thrown) assert.equal(await outcome(() => Promise.reject(one), []), 1);
  } finally {
    console.error = error;
  }
  assert.deepEqual(printed, ["error: --learning-rate is -1", "error: the option time is missing"]);
});
