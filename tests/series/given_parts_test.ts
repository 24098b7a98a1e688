/** Validation and test sets in separate files, and the published split of an archive. */
import assert from "node:assert/strict";
import type { DataRecord } from "../../src/series/record/data_record.ts";
import { configOf } from "../../src/train/run/config.ts";
import { experimentNamed } from "../runs.ts";
import { withFolder } from "../tasks/command_line.ts";

const ownSeries = experimentNamed("own-series");

/** Record of a run that is prepared and not trained. */
async function recordOf(options: Record<string, unknown>): Promise<DataRecord> {
  const config = configOf(ownSeries, { device: "cpu", hidden: 4, model: "gru", ...options });
  return (await ownSeries.prepare(config)).record;
}

/** A table of short labelled series. */
function table(names: readonly string[], labels: readonly string[] = ["up", "down"], channel = "x"): string {
  const rows = names.flatMap((name, i) =>
    [0, 1, 2].map((t) => `${name},${t},${(i % 2 === 0 ? t : -t) + i / 10},${labels[i % labels.length]}`)
  );
  return [`series,time,${channel},label`, ...rows].join("\n");
}

/** Writes files into a folder. Returns their paths by name. */
async function write<Name extends string>(
  folder: string,
  files: Record<Name, string>,
): Promise<Record<Name, string>> {
  const paths = {} as Record<Name, string>;
  for (const name in files) {
    paths[name] = `${folder}/${name}.csv`;
    await Deno.writeTextFile(paths[name], files[name]);
  }
  return paths;
}

const many = ["a", "b", "c", "d", "e", "f", "g", "h"];

Deno.test(
  "a separate test file is the test set, and its series are in no other part",
  withFolder(async (folder) => {
    const { data, test } = await write(folder, { data: table(many), test: table(["a", "b"]) });
    const { split } = await recordOf({ data, test });
    assert.deepEqual(split.test.map(({ name }) => name), ["test a", "test b"]);
    const others = [...split.train, ...split.validation].map(({ name }) => name);
    assert.deepEqual(others.sort(), many);
    assert.equal(split.validation.length, 2);
  }),
);

Deno.test(
  "numbers are predicted with a separate test file, and groups stay in one part",
  withFolder(async (folder) => {
    const numbers = (names: readonly string[]) =>
      [
        "series,time,x,size,pair",
        ...names.flatMap((name, i) => [0, 1].map((t) => `${name},${t},${t + i},${i},p${i >> 1}`)),
      ].join("\n");
    const { data, test } = await write(folder, { data: numbers(many), test: numbers(["a", "b"]) });
    const table = { target: ["size"], group: "pair" };
    const { split } = await recordOf({ data, test, task: "regress", table });
    const pairs = split.validation.map(({ name }) => many.indexOf(name) >> 1);
    assert.equal(pairs.length, 2);
    assert.equal(pairs[0], pairs[1]);
    assert.equal(split.train.length, 6);
    assert.equal(split.test.length, 2);
  }),
);

Deno.test(
  "given validation and test sets leave the whole table for training",
  withFolder(async (folder) => {
    const { data, validation, test } = await write(folder, {
      data: table(many),
      validation: table(["a", "b"]),
      test: table(["c", "d"]),
    });
    const { split } = await recordOf({ data, validation, test });
    assert.deepEqual(split.train.map(({ name }) => name), many);
    assert.deepEqual(split.validation.map(({ name }) => name), ["validation a", "validation b"]);
    assert.deepEqual(split.test.map(({ name }) => name), ["test c", "test d"]);
  }),
);

Deno.test(
  "a given test set does not change the scaling of the channels",
  withFolder(async (folder) => {
    const { data, test, other } = await write(folder, {
      data: table(many),
      test: table(["a", "b"]),
      other: table(["a", "b"]).replaceAll(/,-?\d+\.?\d*,(up|down)/g, ",1000,$1"),
    });
    const [one, two] = [await recordOf({ data, test }), await recordOf({ data, test: other })];
    assert.deepEqual(one.channels, two.channels);
  }),
);

Deno.test(
  "a test file with unknown labels or channels is rejected, also with folds",
  withFolder(async (folder) => {
    const { data, label, channel } = await write(folder, {
      data: table(many),
      label: table(["a", "b"], ["up", "sideways"]),
      channel: table(["a", "b"], ["up", "down"], "y"),
    });
    await assert.rejects(recordOf({ data, test: label }), /label\.csv: unknown label "sideways"/);
    await assert.rejects(
      recordOf({ data, test: channel }),
      /channel\.csv: no column "x", unknown column "y"/,
    );
    await assert.rejects(
      recordOf({ data, test: label, folds: 3 }),
      /folds and test both choose the test set/,
    );
  }),
);

/** A monthly table. */
function monthly(from: number, to: number): string {
  const rows = Array.from({ length: to - from }, (_, i) => {
    const [year, month] = [2000 + Math.floor((from + i) / 12), (from + i) % 12 + 1];
    return `${year}-${`${month}`.padStart(2, "0")},${Math.sin(from + i)}`;
  });
  return ["time,x", ...rows].join("\n");
}

Deno.test(
  "a forecast is tested on the rows of a given test set, which continue the series",
  withFolder(async (folder) => {
    const { data, test } = await write(folder, { data: monthly(0, 48), test: monthly(48, 60) });
    const config = configOf(ownSeries, { device: "cpu", task: "forecast", horizon: "1y", data, test });
    const task = await ownSeries.prepare(config);
    const { windows } = task.record as DataRecord;
    assert.equal(windows!.horizon, 12);
    assert.equal(windows!.season, 12);
    // December 2003 is month 407 since January 1970.
    assert.equal(windows!.until.validation, 407);
    assert.equal(task.testSize, "1 window");
  }),
);

Deno.test(
  "a test set of forecasts that begins before the table ends is rejected",
  withFolder(async (folder) => {
    const { data, test } = await write(folder, { data: monthly(0, 48), test: monthly(40, 60) });
    await assert.rejects(
      recordOf({ task: "forecast", model: "linear", hidden: undefined, data, test }),
      /test\.csv: series "data" begins at 2003-05; expected a time after 2003-12/,
    );
  }),
);

const header = "@problemName Steps\n@dimensions 1\n@classLabel true up down\n@data\n";
const lines = (count: number) =>
  Array.from({ length: count }, (_, i) => `0,${i},${i % 2}:${i % 2 ? "down" : "up"}`);

Deno.test(
  "the published split of an archive is kept, and a .ts file is read alone",
  withFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/Steps_TRAIN.ts`, header + lines(8).join("\n"));
    await Deno.writeTextFile(`${folder}/Steps_TEST.ts`, header + lines(4).join("\n"));
    const published = await recordOf({ data: folder });
    assert.deepEqual(published.split.test.map(({ name }) => name), ["TEST 1", "TEST 2", "TEST 3", "TEST 4"]);
    const alone = await recordOf({ data: `${folder}/Steps_TRAIN.ts` });
    assert.equal(Object.values(alone.split).flat().length, 8);
    await assert.rejects(
      recordOf({ data: folder, test: `${folder}/Steps_TEST.ts` }),
      /already has a test set; leave out test/,
    );
    await Deno.writeTextFile(`${folder}/Steps_TEST.ts`, header + "0,1,x:up");
    await assert.rejects(recordOf({ data: folder }), /Steps_TEST\.ts, line 5: /);
  }),
);
