import assert from "node:assert/strict";
import { execute, type RunConfig, runFolder } from "../../src/train/mod.ts";
import { readRunConfig, resumeRun, startRun } from "../runs.ts";
import { testBest } from "../../src/train/mod.ts";
import { openRun } from "../runs.ts";
import { checkSettings, sealedSettings } from "../../src/train/run/config.ts";
import { lockRun } from "../../src/train/run/run_folder.ts";
import { readSafetensors, writeSafetensors } from "../../src/files/safetensors.ts";
import { makeCharacters, runTask, task, withFolder } from "../tasks/command_line.ts";
import { testLong } from "../devices.ts";

/** A run of two epochs that takes milliseconds. */
async function makeRun(folder: string) {
  const data = await makeCharacters(folder);
  const config: RunConfig = {
    experiment: "character-trajectories",
    device: "cpu",
    seed: 0,
    epochs: 2,
    batchSize: 4,
    learningRate: 0.01,
    hidden: 4,
    drop: 0,
    data,
  };
  const run = await startRun(config, folder);
  return { config, folder: run.folder, result: await execute(run, {}) };
}

async function resume(path: string, changed: Partial<RunConfig> = {}) {
  const folder = runFolder(path);
  return await execute(await resumeRun({ ...await readRunConfig(folder), ...changed }, folder), {});
}

async function evaluateRun(path: string) {
  const folder = runFolder(path);
  return (await testBest(await openRun(await readRunConfig(folder), folder))).measures;
}

const settings: [name: string, value: unknown, message: RegExp][] = [
  ["data", null, /config\.json: damaged: character-trajectories: data is null, expected a text/],
  ["data", 5, /config\.json: damaged: character-trajectories: data is 5, expected a text/],
  ["batchSize", 0, /batchSize is 0, expected a whole number of at least 1/],
  ["batchSize", -3, /batchSize is -3, expected a whole number of at least 1/],
  ["epochs", 2.5, /epochs is 2.5, expected a whole number of at least 1/],
  ["drop", 1, /drop is 1, expected a number of at least 0 and below 1/],
  ["learningRate", "fast", /learningRate is "fast", expected a number above 0/],
  [
    "experiment",
    "spiral",
    /experiment is "spiral", and this program has no such experiment; use the commands of the program/,
  ],
  ["device", "gpu", /device is "gpu", expected one of auto, webgpu, cpu/],
  ["model", 3, /model is 3, expected a text/],
  ["depth", 1e6, /depth is 1000000, expected a whole number of at least 1 and below 33/],
];

for (const [name, value, message] of settings) {
  Deno.test(
    `a configuration with ${name} ${JSON.stringify(value)} is rejected`,
    withFolder(async (folder) => {
      const { seed, ...rest } = {
        seed: 1,
        experiment: "character-trajectories",
        device: "cpu",
        epochs: 1,
        batchSize: 4,
        learningRate: 1,
        hidden: 2,
        drop: 0,
      };
      await Deno.writeTextFile(`${folder}/config.json`, JSON.stringify({ seed, ...rest, [name]: value }));
      await assert.rejects(() => readRunConfig(runFolder(folder)), message);
    }),
  );
}

testLong(
  "a run without weights and without data in its configuration is rejected",
  withFolder(async (folder) => {
    const { config, folder: run } = await makeRun(folder);
    for (const file of [run.last, run.best, run.data]) await Deno.remove(file);
    await Deno.writeTextFile(run.config, JSON.stringify({ ...config, data: undefined }));
    await assert.rejects(() => resume(run.path), /config\.json: damaged: data is missing, expected the path/);
  }),
);

Deno.test(
  "weights are rejected if the settings of the run have changed",
  withFolder(async (folder) => {
    const { config, folder: run } = await makeRun(folder);
    await Deno.writeTextFile(run.config, JSON.stringify({ ...config, seed: 1 }));
    const message = /config\.json: seed is 1, but .*\.safetensors was trained with 0/;
    await assert.rejects(() => evaluateRun(run.path), message);
    await assert.rejects(() => resume(run.path, { epochs: 3 }), message);
  }),
);

Deno.test("settings that differ only at the end of a long value are reported", () => {
  const config = { experiment: "own-series", seed: 0, epochs: 1 } as RunConfig;
  const of = (last: string) => ({ ...config, table: { ignore: [..."abcdefghijklmnopqrstuvw", last] } });
  const check = () => checkSettings(runFolder("a run"), of("x"), "last.safetensors", sealedSettings(of("y")));
  assert.throws(check, /config\.json: table is .*"x"\]\}, but last\.safetensors was trained with .*"y"\]\}/);
});

/** Changes to the position in `last.safetensors`, with their errors. */
const positions: [name: string, changed: object, message: RegExp][] = [
  ["a batch of -1", { batch: -1 }, /damaged: .* is not a valid training position/],
  ["an epoch of -1", { epoch: -1 }, /damaged: .* is not a valid training position/],
  ["a batch of 9999", { batch: 9999 }, /damaged: step 12 .* do not match epoch 2, batch 9999 of 6/],
  ["epoch 9999", { epoch: 9999 }, /9999 epochs are complete, but the run has 3 epochs/],
  ["a step of 9999", { step: 9999 }, /damaged: step 9999 .* do not match epoch 2, batch 0 of 6/],
  ["no sums", { sums: null }, /damaged: .* is not a valid training position/],
  ["invalid sums", { sums: { samples: 0, totals: { loss: "x" } } }, /is not a valid training position/],
  ["an invalid best epoch", { best: { epoch: 0, value: 1, loss: 1 } }, /is not a valid training position/],
  [
    "another best epoch",
    { best: { epoch: 5, value: 1, loss: 1 } },
    /best\.safetensors: has the weights of epoch \d/,
  ],
];

testLong("an inconsistent checkpoint is rejected", async (t) =>
  await withFolder(async (folder) => {
    const { folder: run } = await makeRun(folder);
    const { tensors, metadata } = await readSafetensors(run.last);
    for (const [name, changed, message] of positions) {
      const position = { ...JSON.parse(metadata["weft.position"]), ...changed };
      await writeSafetensors(run.last, {
        tensors,
        metadata: { ...metadata, "weft.position": JSON.stringify(position) },
      });
      await t.step(`with ${name} is rejected`, () =>
        assert.rejects(() => resume(run.path, { epochs: 3 }), message));
    }
  })());

testLong("changed metrics are rejected or ignored", async (t) =>
  await withFolder(async (folder) => {
    const { folder: run } = await makeRun(folder);
    const text = await Deno.readTextFile(run.metrics);
    const damages: [name: string, damaged: string, message: RegExp][] = [
      [
        "in a key",
        text.replace('"train"', '"trayn"'),
        /metrics\.jsonl, line 1: expected the metrics of epoch 1/,
      ],
      [
        "in a number",
        text.replace(/"loss":0/, '"loss":1'),
        /its first 2 lines differ from the lines at the time of .*last\.safetensors/,
      ],
      ["by an extra line", text + text, /^no error$/],
    ];
    for (const [name, damaged, message] of damages) {
      await Deno.writeTextFile(run.metrics, damaged);
      await t.step(`${name} are rejected or ignored`, async () => {
        const outcome = await resume(run.path).then(() => "no error", (error) => error.message);
        assert.match(outcome, message);
      });
    }
    assert.equal(await Deno.readTextFile(run.metrics), text);
  })());

Deno.test(
  "a completed run without its last checkpoint is not trained again",
  withFolder(async (folder) => {
    const { folder: run } = await makeRun(folder);
    await Deno.remove(run.last);
    const best = await Deno.readFile(run.best);
    await assert.rejects(
      () => resume(run.path),
      /last\.safetensors: no such file, but .*best\.safetensors exists: without a checkpoint the run cannot be resumed/,
    );
    assert.deepEqual(await Deno.readFile(run.best), best);
  }),
);

Deno.test(
  "a run rejects fewer epochs than it has and keeps its configuration",
  withFolder(async (folder) => {
    const { folder: run } = await makeRun(folder);
    const before = await Deno.readTextFile(run.config);
    await assert.rejects(
      () => resume(run.path, { epochs: 1 }),
      /2 epochs are complete, but the run has 1 epochs/,
    );
    assert.equal(await Deno.readTextFile(run.config), before);
  }),
);

Deno.test(
  "a run that cannot be trained further keeps its files, and can still be tested",
  withFolder(async (folder) => {
    const { folder: run, config, result } = await makeRun(folder);
    const files = async () =>
      await Promise.all([run.config, run.summary, run.last].map((path) => Deno.readFile(path)));
    const resumeTo = async (epochs: number) => {
      const resumed = await resumeRun({ ...config, epochs }, run);
      const checkTraining = () => assert.fail("this version does not train it");
      return await execute({ ...resumed, task: { ...resumed.task, checkTraining } }, {});
    };
    const before = await files();
    await assert.rejects(() => resumeTo(3), /this version does not train it/);
    assert.deepEqual(await files(), before);
    assert.deepEqual((await resumeTo(2)).summary!.test, result.summary!.test);
  }),
);

Deno.test(
  "a run that another process trains is rejected",
  withFolder(async (folder) => {
    const { folder: run } = await makeRun(folder);
    {
      await using _lock = await lockRun(run);
      await assert.rejects(() => resume(run.path, { epochs: 3 }), /another process trains this run/);
    }
    await resume(run.path, { epochs: 3 });
    assert.equal(await Deno.stat(`${run.path}/lock`).catch(() => "gone"), "gone");
  }),
);

testLong(
  "two concurrent resumptions: one trains, the other is rejected, and no metrics line is duplicated",
  withFolder(async (folder) => {
    const { folder: run } = await makeRun(folder);
    const outcomes = await Promise.all(
      [1, 2].map(() => runTask("train", "--resume", run.path, "--epochs", "30")),
    );
    const [lines] = [(await Deno.readTextFile(run.metrics)).trimEnd().split("\n")];
    assert.deepEqual(
      lines.map((line) => JSON.parse(line).epoch),
      Array.from({ length: 30 }, (_, i) => i + 1),
    );
    const refused = outcomes.filter(({ code }) => code !== 0);
    assert(refused.length <= 1, "one of them trained");
    for (const { stderr } of refused) assert.match(stderr, /^error: .*another process trains this run/);
  }),
);

testLong(
  "the lock of a killed process is ignored",
  withFolder(async (folder) => {
    const { folder: run } = await makeRun(folder);
    const process = task("train", ["--resume", run.path, "--epochs", "1000000"]).spawn();
    const output = process.output();
    const lines = async () => (await Deno.readTextFile(run.metrics)).split("\n").length;
    for (let waited = 0; await lines() < 5 && waited < 30_000; waited += 20) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await Deno.stat(`${run.path}/lock`);
    process.kill("SIGKILL");
    await output;
    const { epoch } = JSON.parse((await readSafetensors(run.last)).metadata["weft.position"]);
    await resume(run.path, { epochs: epoch + 1 });
  }),
);

testLong(
  "best weights of another run and a checkpoint in their place are rejected before any change",
  withFolder(async (folder) => {
    const { folder: run } = await makeRun(folder);
    const before = await Deno.readFile(run.last);
    const { tensors, metadata } = await readSafetensors(run.best);
    await writeSafetensors(run.best, { tensors, metadata: { ...metadata, "weft.settings": "others" } });
    await assert.rejects(() => resume(run.path, { epochs: 3 }), /best\.safetensors/);
    assert.deepEqual(await Deno.readFile(run.last), before);
    await Deno.copyFile(run.last, run.best);
    const { code, stderr } = await runTask("evaluate", run.path);
    assert.equal(code, 1);
    assert.match(stderr, /best\.safetensors: damaged: the metadata have no epoch/);
  }),
);

testLong(
  "the error of a full disk names the file",
  withFolder(async (folder) => {
    const { folder: run } = await makeRun(folder);
    // Writing to a device file needs more permissions than tests and commands have.
    const link = `Deno.symlinkSync("/dev/full", ${JSON.stringify(`${run.last}.tmp`)})`;
    await new Deno.Command(Deno.execPath(), { args: ["eval", link] }).output();
    const train = ["run", "-A", new URL("../../tasks/train.ts", import.meta.url).pathname];
    const { code, stderr } = await new Deno.Command(Deno.execPath(), {
      args: [...train, "--resume", run.path, "--epochs", "3"],
    }).output();
    assert.equal(code, 1);
    assert.match(
      new TextDecoder().decode(stderr),
      /last\.safetensors: cannot be written \(ENOSPC: no space left on device/,
    );
  }),
);

Deno.test(
  "the error of a file in place of a run's folder names its path",
  withFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/notes`, "");
    await assert.rejects(
      () => resume(`${folder}/notes`),
      /notes: not a run's folder: a file, not a folder; expected a folder such as/,
    );
  }),
);

/** Trains in a process, and calls a function at the first line about an epoch. Returns the exit code and the errors. */
async function trainUntil(args: readonly string[], onEpoch: () => Promise<void>) {
  const child = task("train", [...args]).spawn();
  const errors = new Response(child.stderr).text();
  let text = "";
  for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
    if (!/^epoch /m.test(text) && /^epoch /m.test(text += chunk)) await onEpoch();
  }
  return { code: (await child.status).code, stderr: await errors };
}

testLong(
  "the error of a run whose folder is deleted while it trains names the missing folder",
  withFolder(async (folder) => {
    const run = `${folder}/run`;
    const settings = [
      "--epochs",
      "1000",
      "--samples",
      "40",
      "--hidden",
      "2",
      "--device",
      "cpu",
      "--run",
      run,
    ];
    const { code, stderr } = await trainUntil(
      ["sine", ...settings],
      () => Deno.remove(run, { recursive: true }),
    );
    assert.equal(code, 1);
    assert.match(stderr, /^error: .*run\/\S+: cannot be written \(its folder does not exist any more\)$/m);
    assert.doesNotMatch(stderr, /suppressed/i);
  }),
);

testLong(
  "a run whose report does not fit on the disk has not ended, and a later start writes the report",
  withFolder(async (folder) => {
    const run = runFolder(`${folder}/run`);
    await Deno.mkdir(run.path);
    const link = `Deno.symlinkSync("/dev/full", ${JSON.stringify(`${run.report}.tmp`)})`;
    await new Deno.Command(Deno.execPath(), { args: ["eval", link] }).output();
    const settings = ["--epochs", "1", "--samples", "40", "--hidden", "2", "--device", "cpu"];
    const train = () =>
      new Deno.Command(Deno.execPath(), {
        args: ["run", "-A", "--quiet", "tasks/train.ts", "sine", ...settings, "--run", run.path],
        cwd: new URL("../..", import.meta.url),
      }).output();
    const first = await train();
    assert.equal(first.code, 1);
    const message = /^error: .*report\.html: cannot be written \(ENOSPC: no space left on device/m;
    assert.match(new TextDecoder().decode(first.stderr), message);
    // The temporary file was removed after the error, as on a disk that is no longer full.
    const second = await train();
    assert.equal(second.code, 0, new TextDecoder().decode(second.stderr));
    assert.match(await Deno.readTextFile(run.report), /<h1>/);
    assert.match(new TextDecoder().decode((await train()).stdout), /run has ended: test /);
  }),
);

/** Makes a named pipe. Tests have no permission to run mkfifo. */
async function makePipe(path: string): Promise<void> {
  const code = `await new Deno.Command("mkfifo", { args: [${JSON.stringify(path)}] }).output()`;
  await new Deno.Command(Deno.execPath(), { args: ["eval", code] }).output();
  assert.ok((await Deno.stat(path)).isFifo);
}

testLong(
  "pipes in place of a run's files are rejected instead of waiting for another process",
  withFolder(async (folder) => {
    for (const name of ["config.json", "data.json", "best.safetensors"]) {
      await Deno.mkdir(`${folder}/${name}`);
      const { folder: run } = await makeRun(`${folder}/${name}`);
      await Deno.remove(`${run.path}/${name}`);
      await makePipe(`${run.path}/${name}`);
      await assert.rejects(
        () => evaluateRun(run.path),
        (error: Error) =>
          error.message.includes(`${name}: `) && /a pipe or a device, not a file/.test(error.message),
      );
    }
    await Deno.mkdir(`${folder}/locked`);
    const { folder: run } = await makeRun(`${folder}/locked`);
    for (const name of ["lock", "last.safetensors.tmp"]) {
      await Deno.remove(`${run.path}/${name}`).catch(() => {});
      await makePipe(`${run.path}/${name}`);
      await assert.rejects(() => resume(run.path, { epochs: 3 }), /lock: not a file|a pipe, not a file/);
      await Deno.remove(`${run.path}/${name}`).catch(() => {});
    }
  }),
);
