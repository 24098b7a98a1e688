import assert from "node:assert/strict";
import { readSafetensors } from "../../src/files/safetensors.ts";
import { zipFile } from "../data/zip_file.ts";
import { testLong } from "../devices.ts";
import { makeCharacters, onlyRun, runTask, task, withFolder } from "./command_line.ts";

const characters = (data: string, out: string, ...more: string[]) => [
  "character-trajectories",
  ...["--data", data, "--out", out, "--device", "cpu", "--batch-size", "4", "--hidden", "4", ...more],
];

async function metricsOf(run: string) {
  const lines = (await Deno.readTextFile(`${run}/metrics.jsonl`)).trimEnd().split("\n");
  return lines.map((line) => ({ ...JSON.parse(line), seconds: 0 }));
}

/** Starts a run without an end and waits for its first epochs. */
async function startLongRun(data: string, out: string) {
  const process = task("train", characters(data, out, "--epochs", "1000000")).spawn();
  const output = process.output();
  for (let waited = 0; waited < 60_000; waited += 20) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    const run = await onlyRun(out).catch(() => undefined);
    if (run && await metricsOf(run).then(({ length }) => length >= 2, () => false)) {
      return { process, output, run };
    }
  }
  throw new Error("the run did not reach its second epoch in a minute");
}

/** Resumes a run for a few more epochs, and compares it with a run without interruption. */
async function assertSameAsWhole(data: string, folder: string, run: string): Promise<void> {
  const { epoch } = positionOf(await readSafetensors(`${run}/last.safetensors`));
  const epochs = `${epoch + 2}`;
  const resumed = await runTask("train", "--resume", run, "--epochs", epochs);
  assert.equal(resumed.code, 0, resumed.stderr);
  const whole = await runTask("train", ...characters(data, `${folder}/whole`, "--epochs", epochs));
  assert.equal(whole.code, 0, whole.stderr);
  const other = await onlyRun(`${folder}/whole`);
  assert.deepEqual(await metricsOf(run), await metricsOf(other));
  for (const file of ["last.safetensors", "best.safetensors"]) {
    const [a, b] = await Promise.all([run, other].map((path) => readSafetensors(`${path}/${file}`)));
    assert.deepEqual(a.tensors, b.tensors);
  }
}

function positionOf({ metadata }: Awaited<ReturnType<typeof readSafetensors>>) {
  return JSON.parse(metadata["weft.position"]) as { epoch: number; batch: number; step: number };
}

Deno.test(
  "a run writes its configuration, metrics, checkpoints, summary and report",
  withFolder(async (folder) => {
    const data = await makeCharacters(folder);
    const { code, stdout, stderr } = await runTask(
      "train",
      ...characters(data, folder, "--epochs", "2", "--seed", "5"),
    );
    assert.equal(code, 0, stderr);
    assert.match(
      stdout,
      /^character-trajectories on .*\ndata: 32 series.*\n( .*\n)*(for faster training, .*\n)?epoch 1\/2 {2}train loss .*\nepoch 2\/2 .*\ntest loss .*accuracy/,
    );
    assert(!stdout.includes("\r"), "no progress bar without a terminal");
    const run = await onlyRun(folder);
    const files = (await Array.fromAsync(Deno.readDir(run))).map(({ name }) => name).sort();
    assert.deepEqual(files, [
      "best.safetensors",
      "config.json",
      "data.json",
      "last.safetensors",
      "metrics.jsonl",
      "report.html",
      "summary.json",
    ]);
    const summary = JSON.parse(await Deno.readTextFile(`${run}/summary.json`));
    const { tensors } = await readSafetensors(`${run}/best.safetensors`);
    const parameters = Object.values(tensors).reduce((sum, { values }) => sum + values.length, 0);
    assert.deepEqual(
      [summary.device, summary.seed, summary.parameters, Object.keys(summary.test).sort()],
      ["cpu", 5, parameters, [
        "accuracy",
        "auc",
        "averagePrecision",
        "calibrationError",
        "logLoss",
        "loss",
        "macroF1",
      ]],
    );
    assert(summary.seconds > 0);
    assert.equal((await metricsOf(run)).length, 2);

    const evaluation = await runTask("evaluate", run, "--device", "cpu");
    assert.equal(evaluation.code, 0, evaluation.stderr);
    const accuracy = `${(100 * summary.test.accuracy).toFixed(2)} %`;
    assert.match(evaluation.stdout, new RegExp(`test accuracy ${accuracy}`));
  }),
);

testLong(
  "with only a folder and a device as arguments, train classifies spirals in less than a minute",
  withFolder(async (folder) => {
    const { code, stderr } = await runTask("train", "--out", folder, "--device", "cpu");
    assert.equal(code, 0, stderr);
    const { test, seconds } = JSON.parse(
      await Deno.readTextFile(`${await onlyRun(folder, "spirals")}/summary.json`),
    );
    assert(test.accuracy >= 0.99, `${test.accuracy}`);
    assert(seconds < 60, `${seconds} s`);
  }),
);

Deno.test(
  "Ctrl-C saves and exits with 130, and --resume gives the results of an uninterrupted run",
  withFolder(async (folder) => {
    const data = await makeCharacters(folder);
    const { process, output, run } = await startLongRun(data, `${folder}/stopped`);
    process.kill("SIGINT");
    const { code, stdout } = await output;
    assert.equal(code, 130);
    const { epoch, step } = positionOf(await readSafetensors(`${run}/last.safetensors`));
    const stopped = `stopped in epoch ${epoch + 1} after ${step} steps; resume with`;
    const last = new TextDecoder().decode(stdout).trimEnd().split("\n").at(-1);
    assert.equal(last, `${stopped} deno task train --resume ${run}`);
    await assertSameAsWhole(data, folder, run);
  }),
);

for (const model of ["neural-rde", "delta-rde"]) {
  testLong(
    `train trains ${model} along log-signatures of an archive's series`,
    withFolder(async (folder) => {
      const part = (phase: number) =>
        "@problemName BasicMotions\n@dimensions 2\n@classLabel true rise fall\n@data\n" +
        Array.from({ length: 12 }, (_, i) => {
          const series = [0, 1].map((c) =>
            Array.from({ length: 9 }, (_, t) => (i % 2 ? -t : t) / 8 + Math.sin(t + c + phase + i) / 4)
          );
          return `${series.map((values) => values.join(",")).join(":")}:${i % 2 ? "fall" : "rise"}\n`;
        }).join("");
      const files = ["TRAIN", "TEST"].map((name, i) => ({
        name: `BasicMotions_${name}.ts`,
        content: part(i),
      }));
      const data = `${folder}/BasicMotions.zip`;
      await Deno.writeFile(data, zipFile(files));
      const sizes = ["--hidden", "4", "--window", "3", "--signature-depth", "2", "--epochs", "2"];
      const { code, stderr } = await runTask(
        "train",
        ...["basic-motions", "--data", data, "--out", folder, "--device", "cpu", "--model", model, ...sizes],
      );
      assert.equal(code, 0, stderr);
      const run = await onlyRun(folder, "basic-motions");
      const { test } = JSON.parse(await Deno.readTextFile(`${run}/summary.json`));
      assert.ok(Number.isFinite(test.loss), `${test.loss}`);
      const evaluation = await runTask("evaluate", run, "--device", "cpu");
      assert.ok(
        evaluation.stdout.includes(`test loss before calibration ${Number(test.loss.toPrecision(4))}\n`),
      );
    }),
  );
}

const kills = 2;

testLong(
  `a run killed ${kills} times at random moments keeps a checkpoint and loses only the current epoch`,
  withFolder(async (folder) => {
    const data = await makeCharacters(folder);
    const { process, output, run } = await startLongRun(data, `${folder}/killed`);
    process.kill("SIGKILL");
    await output;
    let before = 0;
    for (let kill = 1;; kill++) {
      // The metrics of a complete epoch are written before its checkpoint, so the checkpoint is at most one
      // epoch behind.
      const { epoch } = positionOf(await readSafetensors(`${run}/last.safetensors`));
      const lines = (await Deno.readTextFile(`${run}/metrics.jsonl`)).split("\n").length - 1;
      assert(
        epoch >= before && lines - epoch <= 1,
        `after kill ${kill}: epoch ${epoch}, ${lines} lines, before ${before}`,
      );
      if (kill === kills) break;
      before = epoch;
      const resumed = task("train", ["--resume", run]).spawn();
      const ended = resumed.output();
      await new Promise((resolve) => setTimeout(resolve, 300 + 1200 * Math.random()));
      resumed.kill("SIGKILL");
      const { signal, stderr } = await ended;
      assert.equal(signal, "SIGKILL", new TextDecoder().decode(stderr));
    }
    await assertSameAsWhole(data, folder, run);
  }),
);

const rejected: [name: string, args: string[], message: RegExp][] = [
  [
    "an unknown experiment",
    ["spiral"],
    /unknown experiment "spiral"; did you mean spirals\? $/,
  ],
  [
    "an experiment that resembles no other",
    ["oracle"],
    /unknown experiment "oracle"; expected spirals, own-series, character-trajectories/,
  ],
  [
    "an unknown option",
    ["--colour"],
    /^error: unknown option '--colour'; deno task train spirals --help lists the options $/,
  ],
  ["an unknown device", ["--device", "gpu"], /'gpu' is invalid.*one of auto, webgpu, cpu/],
  ["a word in place of a number", ["--epochs", "ten"], /'ten' is invalid.*whole number of at least 1/],
  ["a hexadecimal number", ["--epochs", "0x1F"], /'0x1F' is invalid.*whole number of at least 1/],
  [
    "a fraction of one",
    ["character-trajectories", "--drop", "1"],
    /'1' is invalid.*number of at least 0 and below 1/,
  ],
  ["an empty path for runs", ["--out", ""], /'--out <folder>' argument '' is invalid. Expected a path/],
  ["a learning rate of zero", ["--learning-rate", "0"], /'0' is invalid.*number above 0/],
  [
    "a missing data file",
    ["character-trajectories", "--data", "no/such.zip"],
    /no\/such\.zip: no such file/,
  ],
  [
    "an option that the experiment cannot use",
    ["sine", "--drop", "0.5", "--method", "dopri5", "--data", "nowhere.csv"],
    /sine has no option --drop, --method, --data; experiments with these options: own-series, .*; options of sine: .*--model/,
  ],
  [
    "a resumed folder that is not a run",
    ["--resume", "tests"],
    /tests: not a run's folder, since it has no config\.json/,
  ],
  [
    "a changed seed of a resumed run",
    ["--resume", "x", "--seed", "2"],
    /--seed cannot change when a run is resumed/,
  ],
];

for (const [name, args, message] of rejected) {
  testLong(`train rejects ${name} with the valid alternative`, async () => {
    const { code, stderr } = await runTask("train", ...args);
    assert.equal(code, 1);
    assert.match(stderr.replaceAll(/\s+/g, " "), message);
  });
}

testLong(
  "a run of the paper's recipe with clipped weights resumes with the same optimizer and plateau state",
  withFolder(async (folder) => {
    const options = ["--recipe", "paper", "--clip-weights", "0.4", "--learning-rate", "1e-5"];
    const sizes = [
      "--samples",
      "20",
      "--hidden",
      "2",
      "--batch-size",
      "100",
      "--epochs",
      "1",
      "--device",
      "cpu",
    ];
    const { code, stderr } = await runTask("train", "sine", ...options, ...sizes, "--out", folder);
    assert.equal(code, 0, stderr);
    const run = await onlyRun(folder, "sine");
    const { recipe, clipWeights } = JSON.parse(await Deno.readTextFile(`${run}/config.json`));
    assert.deepEqual([recipe, clipWeights], ["paper", 0.4]);
    const resumed = await runTask("train", "--resume", run, "--epochs", "2");
    assert.equal(resumed.code, 0, resumed.stderr);
    const { tensors, metadata } = await readSafetensors(`${run}/last.safetensors`);
    assert.ok(Object.keys(tensors).some((name) => name.endsWith(".B.s")), `${Object.keys(tensors)}`);
    // The plateau averages 50 losses. Two epochs of ten steps gave twenty.
    assert.equal(JSON.parse(metadata["weft.position"]).plateau.pending[1], 20);
  }),
);

testLong(
  "--profile measures a training step and writes a table and a trace",
  withFolder(async (folder) => {
    const { code, stdout, stderr } = await runTask(
      "train",
      "spirals",
      "--device",
      "cpu",
      "--profile",
      "--out",
      folder,
    );
    assert.equal(code, 0, stderr);
    assert.match(
      stdout,
      /measured by the host\n *own ms .*\n[^]* loop: backward, 63 steps of 32 samples\n/,
    );
    const { traceEvents } = JSON.parse(await Deno.readTextFile(`${folder}/spirals/profile.json`));
    assert.ok(traceEvents.length > 10);
    // No subfolder that a command could mistake for the newest run.
    assert.deepEqual(Array.from(Deno.readDirSync(`${folder}/spirals`), ({ name }) => name), ["profile.json"]);
  }),
);

testLong(
  "a model kind sets default settings, and the command line overrides them",
  withFolder(async (folder) => {
    const rows = Array.from({ length: 80 }, (_, t) => `${t},${Math.sin(t)}`);
    await Deno.writeTextFile(`${folder}/load.csv`, `time,load\n${rows.join("\n")}\n`);
    const { code, stderr } = await runTask("train", "own-series", ...["--data", `${folder}/load.csv`], ...[
      ...["--task", "forecast", "--model", "warp", "--hidden", "4", "--horizon", "4"],
      ...["--epochs", "1", "--device", "cpu", "--run", `${folder}/run`],
    ]);
    assert.equal(code, 0, stderr);
    const { learningRate, hidden } = JSON.parse(await Deno.readTextFile(`${folder}/run/config.json`));
    assert.deepEqual({ learningRate, hidden }, { learningRate: 0.001, hidden: 4 });
  }),
);
