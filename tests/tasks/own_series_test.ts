import assert from "node:assert/strict";
import { testLong } from "../devices.ts";
import { onlyRun, runTask, withFolder } from "./command_line.ts";

/** Rising and falling series at irregular times with one value in five missing, optionally with labels. */
async function writeTable(path: string, names: readonly string[], isLabelled: boolean): Promise<void> {
  const rows = names.flatMap((name, i) =>
    Array.from({ length: 6 + i % 3 }, (_, t) => {
      const value = (t + i) % 5 === 0 && t > 0 ? "" : (i % 2 ? t : -t) + 0.1 * (i % 4);
      return [name, t + 0.1 * (t % 3), value, ...(isLabelled ? [i % 2 ? "up" : "down"] : [])].join(",");
    })
  );
  const columns = ["series", "time", "height", ...(isLabelled ? ["label"] : [])];
  await Deno.writeTextFile(path, `${columns.join(",")}\n${rows.join("\n")}\n`);
}

testLong(
  "a model trained on a table classifies the series of another table",
  withFolder(async (folder) => {
    const [data, fresh, out] = [`${folder}/own.csv`, `${folder}/new.csv`, `${folder}/runs`];
    await writeTable(data, Array.from({ length: 40 }, (_, i) => `training ${i}`), true);
    await writeTable(fresh, ["p1", "p2", "p3"], false);
    const sizes = ["--hidden", "4", "--epochs", "40", "--batch-size", "8", "--learning-rate", "0.02"];
    const trained = await runTask(
      "train",
      "own-series",
      "--data",
      data,
      "--out",
      out,
      "--device",
      "cpu",
      ...sizes,
    );
    assert.equal(trained.code, 0, trained.stderr);
    assert.match(
      trained.stdout,
      /\nown\.csv: 40 series, 28 to train, .* channels height; times are numbers; classes down, up\n/,
    );
    const run = await onlyRun(out, "own-series");
    const { test } = JSON.parse(await Deno.readTextFile(`${run}/summary.json`));
    const tested = await runTask("evaluate", run, "--device", "cpu");
    assert.match(tested.stdout, /^the test part of .*own\.csv: 6 of 40 series\n/);
    assert.ok(
      tested.stdout.includes(`test loss before calibration ${Number(test.loss.toPrecision(4))}\n`),
      tested.stdout,
    );
    await Deno.rename(data, `${folder}/moved.csv`);
    const measured = await runTask("evaluate", run, "--data", `${folder}/moved.csv`, "--device", "cpu");
    assert.match(
      measured.stdout,
      /^all of .*moved\.csv: 40 series\nthe model was trained on 28 of them/,
    );
    const moved = await runTask(
      "evaluate",
      run,
      "--data",
      `${folder}/moved.csv`,
      "--test-part",
      "--device",
      "cpu",
    );
    assert.deepEqual(moved.stdout.split("\n").slice(1), tested.stdout.split("\n").slice(1));
    const missing = await runTask("evaluate", run, "--device", "cpu");
    assert.match(
      missing.stderr,
      /own\.csv: no such file or folder; the run was started with this path; give the new path with --data;/,
    );
    const predicted = await runTask("predict", run, fresh, "--device", "cpu");
    assert.equal(predicted.code, 0, predicted.stderr);
    const answers = predicted.stdout.trimEnd().split("\n").map((line) => JSON.parse(line));
    assert.deepEqual(answers.map(({ series }) => series), ["p1", "p2", "p3"]);
    assert.deepEqual(answers.map(({ label }) => label), ["down", "up", "down"]);
    assert.ok(answers.every(({ probability }) => probability > 0.5 && probability <= 1));
  }),
);

for (
  const [problem, table, message] of [
    [
      "no label",
      "series,time,x\na,0,1\n",
      /own.csv: no column "label" with the class of each series; name the column of the classes with --target/,
    ],
    [
      "too few series",
      "series,time,x,label\na,0,1,b\nc,0,1,d\n",
      /own.csv: fewer than 3 series of the label "b"/,
    ],
    [
      "one label",
      "series,time,x,label\na,0,1,b\n",
      /own.csv: only the label "b"; expected at least two different labels/,
    ],
  ] as const
) {
  testLong(
    `training on a table with ${problem} fails with an error that names the problem`,
    withFolder(async (folder) => {
      await Deno.writeTextFile(`${folder}/own.csv`, table);
      const { code, stderr } = await runTask(
        "train",
        "own-series",
        "--data",
        `${folder}/own.csv`,
        "--device",
        "cpu",
      );
      assert.equal(code, 1);
      assert.match(stderr, message);
    }),
  );
}

testLong(
  "the train command trains log-signature models on a table, with a window and a depth",
  withFolder(async (folder) => {
    const [data, out] = [`${folder}/own.csv`, `${folder}/runs`];
    await writeTable(data, Array.from({ length: 24 }, (_, i) => `series ${i}`), true);
    for (const model of ["delta-rde", "neural-rde"]) {
      const { code, stderr, stdout } = await runTask(
        "train",
        "own-series",
        ...["--data", data, "--out", `${out}/${model}`, "--device", "cpu", "--model", model],
        ...["--hidden", "4", "--epochs", "1", "--window", "2", "--signature-depth", "2"],
        ...["--positive-weight", "2"],
      );
      assert.equal(code, 0, stderr);
      assert.match(stdout, /area under the ROC curve .*average precision/);
    }
  }),
);

testLong(
  "folds train in sequence, and the mean and standard deviation of their metrics are printed",
  withFolder(async (folder) => {
    const data = `${folder}/own.csv`;
    await writeTable(data, Array.from({ length: 7 }, (_, i) => `series ${i}`), true);
    const options = ["--data", data, "--out", folder, "--device", "cpu", "--hidden", "4", "--epochs", "1"];
    const { stdout, stderr } = await runTask("train", "own-series", ...options, "--folds", "6");
    const tests = Array.from(
      stdout.matchAll(/^test loss before calibration (\S+),/gm),
      ([, loss]) => Number(loss),
    );
    assert.equal(tests.length, 6, stdout + stderr);
    const printed = /\ntest of 6 folds loss before calibration (\S+) ± /.exec(stdout);
    const mean = tests.reduce((sum, loss) => sum + loss, 0) / 6;
    assert.ok(Math.abs(Number(printed?.[1]) / mean - 1) < 1e-3, stdout);
    assert.match(stdout, /^test .* area under the ROC curve /m, "of one fold");
    assert.doesNotMatch(stdout, /NaN/);
  }),
);

testLong(
  "evaluate prints the windows that it evaluates for a forecasting run",
  withFolder(async (folder) => {
    const [data, run] = [`${folder}/own.csv`, `${folder}/run`];
    const rows = Array.from({ length: 80 }, (_, t) => `${t},${Math.sin(t)}`);
    await Deno.writeTextFile(data, `time,x\n${rows.join("\n")}\n`);
    const options = [
      "--task",
      "forecast",
      "--horizon",
      "4",
      "--device",
      "cpu",
      "--run",
      run,
    ];
    const { code, stderr } = await runTask("train", "own-series", "--data", data, ...options);
    assert.equal(code, 0, stderr);
    // The last 16 rows are the test set. The future of its first window consists of the first four of them.
    const { stdout } = await runTask("evaluate", run, "--device", "cpu");
    assert.match(stdout, /^the test part of .*own\.csv: 13 windows\n/);
  }),
);
