import assert from "node:assert/strict";
import { recordVersion } from "../../src/series/record/data_record.ts";
import { readRecord } from "../../src/train/run/record.ts";
import { execute, type RunConfig, type RunFolder, runFolder, testBest } from "../../src/train/mod.ts";
import type { ClassPrediction } from "../../src/series/record/predictions.ts";
import { measureNew } from "../../src/series/models/trained_model.ts";
import { openRun, openTrained, readRunConfig, resumeRun, startRun } from "../runs.ts";
import { requireFinite } from "../../src/train/measure_checks.ts";
import { readSafetensors, writeSafetensors } from "../../src/files/safetensors.ts";
import { withFolder } from "../tasks/command_line.ts";
import { testLong } from "../devices.ts";

/** Options of {@linkcode table}. */
interface TableOptions {
  count?: number;
  /** Added to every height. */
  shift?: number;
  /** Generates different series of the same kind. */
  phase?: number;
  /** The names of two channels. */
  columns?: readonly [string, string];
  /** The labels of alternating series; false for a table without labels. */
  labels?: readonly [string, string] | false;
  /** Whether times are dates. */
  dates?: boolean;
  /** Prefix of the series' names. */
  prefix?: string;
}

/**
 * Series whose height determines their class, while their width is irrelevant. Rows, beginning with the
 * column names.
 */
function table(options: TableOptions = {}): string[][] {
  const {
    count = 24,
    shift = 0,
    phase = 0,
    columns = ["height", "width"],
    labels = ["low", "high"],
    dates,
    prefix = "s",
  } = options;
  const rows = Array.from({ length: count }, (_, i) =>
    Array.from({ length: 4 + i % 2 }, (_, t) => [
      `${prefix}${i}`,
      dates ? `2024-05-0${t + 1}` : `${t}`,
      `${i % 2 + 0.1 * Math.sin(i + t + phase) + shift}`,
      `${Math.cos(i + 2 * t)}`,
      ...(labels ? [labels[i % 2]] : []),
    ])).flat();
  return [["series", "time", ...columns, ...(labels ? ["label"] : [])], ...rows];
}

async function write(path: string, rows: readonly (readonly string[])[]): Promise<string> {
  await Deno.writeTextFile(path, `${rows.map((fields) => fields.join(",")).join("\n")}\n`);
  return path;
}

/** The same table with its columns in reverse order. */
const mirrored = (rows: readonly string[][]) => rows.map((fields) => fields.toReversed());

/** The same table with its rows in reverse order. */
const reversed = ([header, ...rows]: readonly string[][]) => [header, ...rows.toReversed()];

const settings: RunConfig = {
  experiment: "own-series",
  device: "cpu",
  seed: 0,
  epochs: 12,
  batchSize: 8,
  learningRate: 0.03,
  hidden: 4,
};

/** A run on the table `own.csv`. */
async function trainOn(folder: string, rows = table()) {
  const data = await write(`${folder}/own.csv`, rows);
  const run = await startRun({ ...settings, data }, `${folder}/runs`);
  const { summary } = await execute(run, {});
  return { folder: run.folder, data, test: summary!.test };
}

async function trained(folder: RunFolder) {
  return await openTrained(await readRunConfig(folder), folder);
}

async function measureTestPart(folder: RunFolder) {
  return (await testBest(await openRun(await readRunConfig(folder), folder))).measures;
}

async function answersFor(folder: RunFolder, path: string) {
  const { model } = await trained(folder);
  return await model.predict!(await model.series!(path)) as ClassPrediction[];
}

testLong(
  "evaluation and prediction of other data use the scaling of the run",
  withFolder(async (folder) => {
    const run = await trainOn(folder);
    for (const [shift, min, max] of [[0, 0.9, 1], [1, 0, 0.6]]) {
      const path = await write(`${folder}/new.csv`, table({ count: 10, shift, phase: 0.5, prefix: "new" }));
      const answers = await answersFor(run.folder, path);
      const correct = answers.filter(({ label }, i) => label === ["low", "high"][i % 2]).length / 10;
      assert.ok(
        correct >= min && correct <= max,
        `${correct} of the series shifted by ${shift} are classified correctly`,
      );
      const { measures, count, seen } = await measureNew(await trained(run.folder), path);
      assert.deepEqual(Object.keys(measures).sort(), Object.keys(run.test).sort());
      assert.deepEqual([Math.round(measures.accuracy * 10) / 10, count, seen], [correct, 10, 0]);
    }
  }),
);

testLong(
  "the test set is the recorded one for any order of rows and columns",
  withFolder(async (folder) => {
    const run = await trainOn(folder);
    for (const rows of [table(), reversed(table()), mirrored(table())]) {
      await write(run.data, rows);
      assert.deepEqual(await measureTestPart(run.folder), run.test);
    }
  }),
);

testLong(
  "a run resumed with reordered data gives the same results, bit for bit",
  withFolder(async (folder) => {
    const run = await trainOn(folder);
    const config = await readRunConfig(run.folder);
    const whole = await execute(await startRun(config, `${folder}/whole`), {});
    const part = await startRun(config, `${folder}/part`);
    const stop = new AbortController();
    await execute(part, { signal: stop.signal, onEpoch: ({ epoch }) => epoch === 3 && stop.abort() });
    const moved = await write(`${folder}/moved.csv`, mirrored(reversed(table())));
    await Deno.remove(run.data);
    const resumed = await execute(await resumeRun({ ...config, data: moved }, part.folder), {});
    assert.deepEqual(
      resumed.metrics.map((line) => ({ ...line, seconds: 0 })),
      whole.metrics.map((line) => ({ ...line, seconds: 0 })),
    );
    assert.deepEqual(resumed.summary!.test, whole.summary!.test);
  }),
);

testLong(
  "a run with changed data is rejected with the differences",
  withFolder(async (folder) => {
    const run = await trainOn(folder);
    const [header, ...rows] = table();
    const changes: [rows: string[][], message: RegExp][] = [
      [
        table({ labels: ["a_low", "high"] }),
        /own\.csv: unknown label "a_low"; the labels of the model are "high", "low"/,
      ],
      [table({ count: 23 }), /own\.csv: not the data that the run .*: 1 series missing \("s23"\)/],
      [table({ count: 25 }), /: 1 series new \("s24"\)/],
      [[header, [...rows[0].with(2, "5")], ...rows.slice(1)], /: 1 series changed \("s0"\)/],
      [table({ columns: ["height", "depth"] }), /own\.csv: no column "width", unknown column "depth"/],
    ];
    for (const [changed, message] of changes) {
      await write(run.data, changed);
      const config = await readRunConfig(run.folder);
      await assert.rejects(() => measureTestPart(run.folder), message);
      await assert.rejects(() => resumeRun({ ...config, epochs: 99 }, run.folder), message);
    }
  }),
);

testLong(
  "a prediction needs only the run's folder and finds channels by name",
  withFolder(async (folder) => {
    const run = await trainOn(folder);
    await Deno.remove(run.data);
    const fresh = table({ count: 6, labels: false });
    const expected = await answersFor(run.folder, await write(`${folder}/new.csv`, fresh));
    assert.deepEqual(expected.map(({ label }) => label), ["low", "high", "low", "high", "low", "high"]);
    assert.deepEqual(expected[1].series, "s1");
    assert.deepEqual(
      await answersFor(run.folder, await write(`${folder}/new.csv`, mirrored(fresh))),
      expected,
    );
  }),
);

const unsuitable: [name: string, options: TableOptions, message: RegExp][] = [
  [
    "other columns",
    { columns: ["foo", "bar"] },
    /new\.csv: no column "height", "width", unknown column "foo", "bar"; the model reads "height", "width", in any/,
  ],
  [
    "an unknown column",
    { columns: ["height,x", "width"] },
    /new\.csv: unknown column "x"; the model reads .* remove the unknown columns/,
  ],
  [
    "dates instead of numbers",
    { dates: true },
    /new\.csv: times are dates, expected numbers as in training/,
  ],
];
testLong(
  "tables that do not match the model are rejected with the differences",
  withFolder(async (folder) => {
    const run = await trainOn(folder);
    for (const [name, options, message] of unsuitable) {
      const rows = table({ count: 2, labels: false, ...options });
      if (name === "an unknown column") rows.slice(1).forEach((fields) => fields.push("1"));
      const path = await write(`${folder}/new.csv`, rows);
      await assert.rejects(() => answersFor(run.folder, path), message, name);
    }
    const measure = async (options: TableOptions) =>
      await measureNew(await trained(run.folder), await write(`${folder}/new.csv`, table(options)));
    await assert.rejects(() => measure({ labels: false }), /new\.csv: no column "label"/);
    await assert.rejects(() => measure({ labels: ["low", "huge"] }), /new\.csv: unknown label "huge"/);
  }),
);

testLong(
  "evaluation counts series of the training set in the evaluated data",
  withFolder(async (folder) => {
    const run = await trainOn(folder);
    const { split } = (await trained(run.folder)).record;
    const { count, seen } = await measureNew(await trained(run.folder), run.data);
    assert.deepEqual([count, seen], [24, split.train.length]);
  }),
);

testLong(
  "a damaged, missing or incompatible data record is rejected",
  withFolder(async (folder) => {
    const run = await trainOn(folder);
    const path = run.folder.data;
    const text = await Deno.readTextFile(path);
    const opened = async (content: string) => {
      await Deno.writeTextFile(path, content);
      await trained(run.folder);
    };
    const digit = text.replace(/("mean": \d+\.\d)\d/, (_, start) => `${start}x`.replace("x", "7"));
    assert.notEqual(digit, text);
    await assert.rejects(() => opened(digit), /data\.json: damaged: the content does not match its digest/);
    await assert.rejects(() => opened(text.slice(0, 99)), /data\.json: damaged/);
    await assert.rejects(() => opened("null"), /data\.json: damaged/);
    await Deno.remove(path);
    for (
      const open of [
        trained,
        measureTestPart,
        async () => await resumeRun(await readRunConfig(run.folder), run.folder),
      ]
    ) {
      await assert.rejects(() => open(run.folder), /data\.json: no such file; .* train again/);
    }
    await opened(text);
    assert.equal((await readRecord(path))!.version, recordVersion);
  }),
);

testLong(
  "the data record of another run is rejected",
  withFolder(async (folder) => {
    const other = await trainOn(folder, table({ shift: 1 }));
    const record = await Deno.readTextFile(other.folder.data);
    const run = await trainOn(folder);
    await Deno.writeTextFile(run.folder.data, record);
    await assert.rejects(
      () => trained(run.folder),
      /data\.json: does not describe the data that .*best\.safetensors was trained on/,
    );
  }),
);

Deno.test(
  "weights that are not finite are rejected",
  withFolder(async (folder) => {
    const run = await trainOn(folder);
    const file = await readSafetensors(run.folder.best);
    const [name, { values }] = Object.entries(file.tensors)[0];
    values[0] = NaN;
    await writeSafetensors(run.folder.best, file);
    await assert.rejects(
      () => trained(run.folder),
      new RegExp(`best\\.safetensors: damaged: ${name} contains NaN`),
    );
  }),
);

Deno.test(
  "a series without values is rejected for training and for predictions",
  withFolder(async (folder) => {
    const run = await trainOn(folder);
    const path = await write(`${folder}/new.csv`, [...table({ count: 2 }), ["empty", "0", "", "?", "low"]]);
    const message = /new\.csv: all values are missing in the series "empty"/;
    await assert.rejects(() => answersFor(run.folder, path), message);
    await assert.rejects(async () => await measureNew(await trained(run.folder), path), message);
    const rows = [...table(), ["empty", "0", "", "", "low"]];
    await assert.rejects(
      () => trainOn(folder, rows),
      /own\.csv: all values are missing in the series "empty"/,
    );
  }),
);

Deno.test(
  "values without a finite prediction give an error, not NaN",
  withFolder(async (folder) => {
    const run = await trainOn(folder);
    const extreme = (rows: string[][], name: string) =>
      rows.map((fields) => fields[0] === name && fields[1] === "1" ? fields.with(2, "3e38") : fields);
    const path = await write(`${folder}/new.csv`, extreme(table({ count: 4 }), "s1"));
    await assert.rejects(() => answersFor(run.folder, path), /series "s1".*a value is too large for float32/);
    const { split } = (await trained(run.folder)).record;
    await assert.rejects(
      () => trainOn(folder, extreme(table(), split.test[0].name)),
      /a value is too large for float32/,
    );
  }),
);

Deno.test("a metric that is NaN is an error", () => {
  assert.throws(
    () => requireFinite({ accuracy: 0.5, loss: NaN }, "test"),
    /the test loss is NaN: .* extreme/,
  );
});

Deno.test("an experiment with generated data rejects other data", async () => {
  await assert.rejects(
    () => openTrained({ ...settings, experiment: "sine" }, runFolder("runs/sine/one")),
    /runs\/sine\/one: sine generates its data from the seed, and its models cannot be used on other data; measure /,
  );
});

Deno.test("unused settings are rejected by name with a list of valid settings", async () => {
  const config: RunConfig = {
    ...settings,
    experiment: "sine",
    drop: 0.5,
    method: "dopri5",
    data: "nowhere.csv",
  };
  await assert.rejects(
    () => startRun(config, "no/such/folder"),
    /^OptionError: startRun: unknown option drop; expected experiment, .*model/,
  );
  for (
    const [experiment, unsuitable, message] of [
      ["sine", { model: "gru", clipWeights: 5 }, /the model gru cannot use clipWeights/],
      ["spirals", { model: "direct-map", stepSize: 2 }, /the model direct-map cannot use stepSize/],
      [
        "spirals",
        { model: "gru", width: 8 },
        /the model gru cannot use width: .* or choose neural-cde, .*ode-rnn$/,
      ],
      [
        "spirals",
        { model: "gru-d", depth: 2 },
        /the model gru-d cannot use depth: leave it out, or choose neural-/,
      ],
      [
        "own-series",
        { model: "gru-d", online: true },
        /the model gru-d cannot use online: .* delta, .* structured-cde$/,
      ],
      ["own-series", { task: "forecast", model: "linear", depth: 2 }, /the model linear cannot use depth/],
      ["spirals", { model: "gru-x" }, /unknown model "gru-x"; did you mean gru\?/],
      ["own-series", { task: "forecast", folds: 3 }, /task forecast cannot use folds: leave it out/],
      ["own-series", { horizon: 9, balance: true }, /task classify cannot use horizon: leave it out/],
      ["own-series", { positiveWeight: 2, balance: true }, /leave one out/],
    ] as const
  ) {
    await assert.rejects(
      () => startRun({ ...settings, experiment, ...unsuitable }, "no/such/folder"),
      message,
    );
  }
});

Deno.test(
  "the prediction for a series does not depend on other series of the request",
  withFolder(async (folder) => {
    const { folder: run } = await trainOn(folder);
    const { model } = await openTrained(await readRunConfig(run), run);
    const rows = table({ labels: false, count: 6, phase: 1 });
    const [header, ...body] = rows;
    // Longer than any training series.
    const long = Array.from({ length: 9 }, (_, t) => ["long", `${t}`, "0.5", "0.2"]);
    const ask = async (asked: readonly (readonly string[])[]) => {
      const set = await model.series!(await write(`${folder}/asked.csv`, [header, ...asked]));
      return await model.predict!(set);
    };
    const joint = await ask([...body, ...long]);
    for (const name of ["s0", "s1", "s4", "long"]) {
      const single = await ask([...body, ...long].filter(([series]) => series === name));
      assert.deepEqual(single, joint.filter(({ series }) => series === name));
    }
  }),
);
