import assert from "node:assert/strict";
import { takeSamples } from "../../src/data/batches.ts";
import { MemoryLimitError, withMemoryLimit } from "../../src/device/memory/memory_limit.ts";
import { Linear } from "../../src/nn/linear.ts";
import { meanSquaredError } from "../../src/nn/losses.ts";
import { SGD } from "../../src/optim/sgd.ts";
import { outputsInBatches } from "../../src/series/models/series_network.ts";
import { maskedErrors } from "../../src/series/targets/metrics/masked_errors.ts";
import { tensor, zeros } from "../../src/tensor/creation.ts";
import { key, normal } from "../../src/tensor/random.ts";
import { tidy } from "../../src/tensor/scope.ts";
import type { Tensor } from "../../src/tensor/tensor.ts";
import { treeLeaves } from "../../src/tensor/tree.ts";
import { evaluate } from "../../src/train/evaluate.ts";
import { trainInMemory } from "../../src/train/in_memory.ts";
import { train } from "../../src/train/loop.ts";
import { runFolder } from "../../src/train/run/run_folder.ts";
import { type Gradient, gradientInParts, gradientOf } from "../../src/train/split_gradient.ts";
import { execute } from "../../src/train/run/run.ts";
import type { RunConfig } from "../../src/train/run/config.ts";
import { init } from "../../src/compile/init.ts";
import type { StepSplit } from "../../src/train/step.ts";
import type { Task } from "../../src/train/task.ts";
import { treeFlatten } from "../../src/tensor/tree.ts";
import { withFolder } from "../tasks/command_line.ts";
import { tinyTask } from "./tiny_task.ts";
import { testLong } from "../devices.ts";

async function numbersOf({ measures, gradients }: Gradient): Promise<number[]> {
  const all = await Promise.all(treeLeaves([measures, gradients]).map((x) => x.data()));
  return all.flatMap((values) => Array.from(values));
}

/** A linear model in float64 on 7 samples with unknown targets: all of samples 0 to 2, and one of sample 5. */
async function regressionTask() {
  const model = Linear({ inputs: 3, outputs: 2, key: key(1) });
  const parameters = Object.fromEntries(
    Object.entries(model.parameters).map(([name, x]) => [name, (x as Tensor).cast("float64")]),
  ) as Record<string, Tensor>;
  const x = normal(key(2), [7, 3], { dtype: "float64" });
  const values = await normal(key(3), [7, 2], { dtype: "float64" }).data();
  for (const unknown of [0, 1, 2, 3, 4, 5, 10]) values[unknown] = NaN;
  const targets = tensor(values, { shape: [7, 2], dtype: "float64" });
  const predict = (x: Tensor) => x.matmul(parameters.weight.transpose(0, 1)).add(parameters.bias).tanh();
  return { parameters, predict, batch: { x, targets } };
}

for (const [name, isKnown] of [["values that are all known", true], ["unknown values", false]] as const) {
  Deno.test(`the gradient in parts of unequal sizes equals the batch's gradient, with ${name}`, async () => {
    const { parameters, predict, batch } = await regressionTask();
    type Batch = typeof batch;
    const task = {
      parameters,
      ...(isKnown
        ? {
          evaluate({ x }: Batch) {
            const loss = meanSquaredError(predict(x), x.slice(1, 0, 2));
            return { loss, twice: loss.mul(2) };
          },
        }
        : {
          evaluate: ({ x, targets }: Batch) => maskedErrors(predict(x), targets),
          weights({ targets }: Batch) {
            const count = targets.isNaN().not().cast("float64").sum().div(targets.shape[0]);
            return { loss: count, mae: count };
          },
        }),
    };
    const whole = await numbersOf(gradientOf(task, batch, key(0)));
    const take = (start: number, end: number) => ({
      x: batch.x.slice(0, start, end),
      targets: batch.targets.slice(0, start, end),
    });
    const parts = await numbersOf(gradientInParts(task, take, [3, 1, 2, 1], key(0)));
    assert.equal(parts.length, whole.length);
    parts.forEach((value, i) => assert.ok(Math.abs(value - whole[i]) < 1e-12, `${value}, ${whole[i]}`));
  });
}

Deno.test("the memory limit counts the buffers that exist at one time", () => {
  const bytes = 4 * 1000;
  const four = () => {
    for (let i = 0; i < 4; i++) tidy(() => void zeros([1000]).add(tensor(1)).mul(2).exp());
  };
  withMemoryLimit(4 * bytes, four);
  assert.throws(() => withMemoryLimit(bytes, four), MemoryLimitError);
  withMemoryLimit(Infinity, four);
  assert.throws(
    () => withMemoryLimit(4 * bytes, () => tidy(() => [1, 2, 3, 4, 5].map((i) => normal(key(i), [1000])))),
    MemoryLimitError,
  );
});

/** A linear task on wide samples of 4,000 bytes. */
function wideTask(memory?: number): Task<{ x: Tensor }> & { sizes: number[] } {
  const model = Linear({ inputs: 1000, outputs: 1, key: key(1) });
  const sizes: number[] = [];
  const data = (i: number, count: number) => ({ x: normal(key(i), [count, 1000]) });
  return {
    sizes,
    ...(memory === undefined ? {} : { memory }),
    parameters: model.parameters,
    optimizer: SGD(model.parameters, { learningRate: 1e-3 }),
    data: { train: data(2, 42), validation: data(3, 64), test: data(4, 64) },
    evaluate({ x }) {
      sizes.push(x.shape[0]);
      return { loss: model(x.tanh().mul(x)).square().mean() };
    },
    metric: { name: "loss", mode: "min" },
  };
}

async function weightsOf({ parameters }: Pick<Task, "parameters">): Promise<number[]> {
  const all = await Promise.all(
    Array.from(treeFlatten(parameters), async ([, x]) => Array.from(await x.data())),
  );
  return all.flat();
}

Deno.test("a batch that exceeds the memory is split until its parts fit, and the weights are nearly equal", async () => {
  const [whole, split] = [wideTask(), wideTask(250_000)];
  const options = { steps: 6, batchSize: 32, key: key(0) };
  for (const task of [whole, split]) await trainInMemory(task, options);
  // Batches of 32 and 10 samples are traced twice: the second trace copies the positions of the samples.
  assert.deepEqual(whole.sizes, [32, 10, 32, 10]);
  assert.deepEqual(split.sizes, [32, 16, 16, 10, 5, 5, 16, 16, 5, 5]);
  const source = wideTask(150_000);
  const { train: samples } = source.data as { train: { x: Tensor } };
  const train = { count: 42, batch: (positions: ArrayLike<number>) => takeSamples(samples, positions) };
  await trainInMemory({ ...source, data: { ...source.data, train } }, options);
  assert.ok(source.sizes.includes(16) && !source.sizes.slice(1).includes(32), `${source.sizes}`);
  const expected = await weightsOf(whole);
  for (const task of [split, source]) {
    const found = await weightsOf(task);
    assert.ok(found.every((value, i) => Math.abs(value - expected[i]) < 1e-6));
  }
});

Deno.test("a step that fits into the memory limit is bitwise equal to a step without a limit", async () => {
  const [free, limited] = [await tinyTask(), { ...await tinyTask(), memory: 2 ** 30 }];
  for (const task of [free, limited]) await trainInMemory(task, { steps: 9, batchSize: 16, key: key(0) });
  assert.deepEqual(await weightsOf(limited), await weightsOf(free));
});

Deno.test("evaluation uses smaller batches if they take too much memory, with the same means", async () => {
  const [whole, split] = [wideTask(), wideTask(800_000)];
  const expected = await evaluate(whole, whole.data.test, 16);
  const found = await evaluate(split, split.data.test, 16);
  assert.deepEqual(split.sizes.slice(-4), [16, 16, 16, 16]);
  assert.ok(Math.abs(found.loss - expected.loss) < 1e-5 * expected.loss);
});

Deno.test(
  "a run whose batches are split resumes bitwise equally and reports the number of parts",
  withFolder(async (folder) => {
    const splits: StepSplit[] = [];
    const options = {
      epochs: 2,
      batchSize: 32,
      key: key(1),
      onSplit: (split: StepSplit) => splits.push(split),
    };
    const [whole, resumed] = ["whole", "resumed"].map((name) => runFolder(`${folder}/${name}`));
    for (const { path } of [whole, resumed]) await Deno.mkdir(path);
    const task = wideTask(250_000);
    await train(task, { ...options, folder: whole });
    assert.equal(splits.length, 1);
    assert.ok(splits[0].parts > 1 && !splits[0].isOverLimit);
    // Interrupted before the small last batch of the first epoch, which is then the first batch that is compiled.
    const signal = new AbortController();
    const part = wideTask(250_000);
    await train({ ...part, schedule: () => (signal.abort(), 1) }, {
      ...{ ...options, folder: resumed, signal: signal.signal },
    });
    const other = wideTask(250_000);
    await train(other, { ...options, folder: resumed, resume: true });
    assert.deepEqual(await weightsOf(other), await weightsOf(task));
  }),
);

testLong(
  "a sample that exceeds the memory by itself is trained, and reported as over the limit",
  withFolder(async (folder) => {
    const splits: StepSplit[] = [];
    // With dropout, whose key is folded with the part.
    const task = { ...await tinyTask(), memory: 50 };
    await train(task, {
      ...{ epochs: 1, batchSize: 32, key: key(1), folder: runFolder(folder) },
      onSplit: (split) => splits.push(split),
    });
    assert.deepEqual(splits, [{ parts: 32, isOverLimit: true }]);
    assert.ok((await weightsOf(task)).every(Number.isFinite));
  }),
);

Deno.test(
  "the summary and the report of a run name the number of parts",
  withFolder(async (folder) => {
    const { info } = await init({ device: "cpu" });
    const lines: string[] = [];
    const config: RunConfig = {
      ...{ experiment: "own-series", device: "cpu", seed: 0, epochs: 1, batchSize: 32, learningRate: 1e-3 },
    };
    const run = { config, task: wideTask(250_000), device: info, folder: runFolder(folder), resume: false };
    const { summary } = await execute(run, { onPlan: (line) => lines.push(line) });
    assert.equal(summary!.gradientParts, 2);
    assert.match(lines.join(), /each batch is split into 2 parts, whose gradients are added$/);
    assert.ok((await Deno.readTextFile(run.folder.report)).includes(lines[0]));
  }),
);

Deno.test("predictions use smaller batches if they take too much memory, of one size for all samples", async () => {
  const sizes: number[] = [];
  const outputs = (samples: readonly number[]) => {
    sizes.push(samples.length);
    return normal(key(0), [1, 1000]).mul(0).add(tensor([...samples]).expandDims(1));
  };
  const rows = await outputsInBatches([...Array(6).keys()], () => 1, outputs, 30_000);
  assert.deepEqual(rows.map((row) => row[0]), [0, 1, 2, 3, 4, 5]);
  assert.deepEqual(sizes, [16, 8, 4, 4]);
});
