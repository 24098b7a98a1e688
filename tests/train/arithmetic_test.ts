import assert from "node:assert/strict";
import { createCpuDevice } from "../../src/device/cpu/device.ts";
import { readSafetensors, writeSafetensors } from "../../src/files/safetensors.ts";
import { arithmeticMetadata, arithmeticOf, arithmeticWarning } from "../../src/train/run/arithmetic.ts";
import { execute, type RunConfig, runFolder } from "../../src/train/mod.ts";
import { readRunConfig, resumeRun, startRun } from "../runs.ts";
import { zeros } from "../../mod.ts";
import { makeCharacters, task, withFolder } from "../tasks/command_line.ts";
import { testLong } from "../devices.ts";

const key = "weft.arithmetic";

async function configOf(folder: string): Promise<RunConfig> {
  return {
    ...{ experiment: "character-trajectories", device: "cpu", seed: 0, epochs: 1, batchSize: 4 },
    ...{ learningRate: 0.01, hidden: 4, drop: 0, data: await makeCharacters(folder) },
  };
}

/** Resumes for one more epoch, and returns the warnings. */
async function resume(path: string): Promise<string[]> {
  const folder = runFolder(path);
  const config = await readRunConfig(folder);
  const warnings: string[] = [];
  const run = await resumeRun({ ...config, epochs: config.epochs! + 1 }, folder);
  await execute(run, { onWarning: (line) => warnings.push(line) });
  return warnings;
}

testLong(
  "a run resumed with other arithmetic warns about the difference and records the new arithmetic",
  withFolder(async (folder) => {
    const { folder: run } = await startRun(await configOf(folder), folder).then(async (run) => {
      await execute(run);
      return run;
    });
    const saved = async () => JSON.parse((await readSafetensors(run.last)).metadata[key]);
    const current = await saved();
    assert.deepEqual(Object.keys(current), [
      "device",
      "vectors",
      "multiply-add",
      "large products",
      "numbers",
    ]);
    assert.equal(current.numbers, "float32");
    const record = async (text?: string) => {
      const { tensors, metadata: { [key]: _, ...others } } = await readSafetensors(run.last);
      await writeSafetensors(run.last, {
        tensors,
        metadata: { ...others, ...(text === undefined ? {} : { [key]: text }) },
      });
    };
    assert.deepEqual(await resume(run.path), []);
    await record(undefined);
    assert.deepEqual(await resume(run.path), [], "no record");
    assert.deepEqual(await saved(), current);
    await record(JSON.stringify({ ...current, vectors: "another" }));
    const warnings = await resume(run.path);
    assert.equal(warnings.length, 1);
    assert.match(warnings[0], /last\.safetensors: saved with other arithmetic \(vectors: another, now /);
    assert.deepEqual(await saved(), current);
  }),
);

/** The arithmetic of a CPU device with one thread. */
const arithmetic = () => arithmeticOf(createCpuDevice({ threads: 1 }).info, { a: zeros([1]) });

for (const text of [undefined, "", "{", "3", "[]", '{"vectors":256}', "null"]) {
  Deno.test(`the record ${text} of the arithmetic gives no warning`, () => {
    assert.equal(arithmeticWarning("a", text === undefined ? {} : { [key]: text }, arithmetic()), undefined);
  });
}

Deno.test("a difference in any part of the arithmetic gives a warning of one line", () => {
  const current = arithmetic();
  for (const name of Object.keys(current) as (keyof typeof current)[]) {
    const warning = arithmeticWarning("a", arithmeticMetadata({ ...current, [name]: "another" }), current)!;
    assert.ok(
      warning.includes(`saved with other arithmetic (${name}: another, now ${current[name]})`),
      warning,
    );
    assert.doesNotMatch(warning, /\n/);
  }
});

testLong(
  "the train command warns about changed V8 flags of a resumed run",
  withFolder(async (folder) => {
    if (Deno.build.arch !== "x86_64") return;
    const { folder: run } = await startRun(await configOf(folder), folder);
    let epochs = 0;
    const train = async (DENO_V8_FLAGS: string) => {
      const args = ["--resume", run.path, "--epochs", `${++epochs}`];
      const { code, stderr: bytes } = await task("train", args, { DENO_V8_FLAGS }).output();
      const stderr = new TextDecoder().decode(bytes);
      assert.equal(code, 0, stderr);
      return stderr;
    };
    const [pairs, single] = [
      "--experimental-wasm-revectorize,--no-wasm-bounds-checks",
      "--no-experimental-wasm-revectorize",
    ];
    assert.equal(await train(pairs), "");
    assert.match(await train(single), /^weft: .*\(vectors: 256 bits, now 128 bits\)[^\n]*\n$/);
    // The resumed run has recorded its arithmetic.
    assert.match(await train(pairs), /^weft: .*\(vectors: 128 bits, now 256 bits\)[^\n]*\n$/);
  }),
);

Deno.test("the warning lists every difference between two devices", () => {
  const parameters = { a: zeros([1]), b: zeros([1], { dtype: "float64" }) };
  const blas = () => ({ description: "OpenBLAS 0.3.21 for Haswell", product: () => undefined });
  const [cpu, more, withBlas] = [{ threads: 1 }, { threads: 2 }, { threads: 2, blas }].map(createCpuDevice);
  const gpu = { arithmetic: { device: "webgpu", adapter: "a GPU, Dawn" } };
  const [one, two, three, four] = [cpu.info, more.info, withBlas.info, gpu].map((info) =>
    arithmeticOf(info, parameters)
  );
  assert.equal(one.numbers, "float32 and float64");
  assert.deepEqual(one, two, "the number of threads does not change results");
  assert.equal(arithmeticWarning("a", arithmeticMetadata(one), two), undefined);
  const warning = arithmeticWarning("a", arithmeticMetadata(two), three)!;
  assert.match(warning, /^a: .*\(large products: Weft, now OpenBLAS 0\.3\.21 for Haswell on 2 threads\)/);
  const other = arithmeticWarning("a", arithmeticMetadata(three), four)!;
  assert.match(
    other,
    /device: cpu, now webgpu; vectors: \d+ bits, now none; .*; adapter: none, now a GPU, Dawn\)/,
  );
});
