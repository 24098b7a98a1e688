import assert from "node:assert/strict";
import { epochOrder } from "../../src/data/batches.ts";
import { crossEntropy } from "../../src/nn/losses.ts";
import { odeint } from "../../src/solvers/odeint.ts";
import { tensor, zeros } from "../../src/tensor/creation.ts";
import { key } from "../../src/tensor/random.ts";
import type { Tensor } from "../../src/tensor/tensor.ts";
import { NonFiniteLossError, train, type TrainOptions } from "../../src/train/loop.ts";
import { evaluate } from "../../src/train/evaluate.ts";
import { createRun, type EpochMetrics, type RunFolder, runFolder } from "../../src/train/run_folder.ts";
import { exists } from "../../src/files/disk.ts";
import { readSafetensors } from "../../src/files/safetensors.ts";
import { loadWeights } from "../../src/train/checkpoint.ts";
import { withFolder } from "../tasks/command_line.ts";
import { tinyTask, type TinyTaskOptions } from "./tiny_task.ts";

/** Runs a test with the folder of a new run. */
function withRun(body: (folder: RunFolder) => Promise<void>): () => Promise<void> {
  return withFolder(async (out) => await body(await createRun(out, "tiny", {})));
}

/** Batches of eight from fifty samples: seven steps per epoch, the last batch is smaller. */
const batches = { batchSize: 8, key: key(1) };

async function run(folder: RunFolder, options: Partial<TrainOptions> & { task?: TinyTaskOptions } = {}) {
  const { task = {}, ...rest } = options;
  return await train(await tinyTask(task), { epochs: 4, ...batches, folder, ...rest });
}

/** The folder after training for `epochs` epochs. */
async function trained(folder: RunFolder, epochs: number): Promise<RunFolder> {
  await run(folder, { epochs });
  return folder;
}

async function newRun(folder: RunFolder): Promise<RunFolder> {
  return await createRun(folder.path, "other", {});
}

/** Everything that must not depend on interruptions. */
async function results(folder: RunFolder) {
  const lines = (await Deno.readTextFile(folder.metrics)).trimEnd().split("\n");
  const metrics = lines.map((line) => ({ ...JSON.parse(line) as EpochMetrics, seconds: 0 }));
  const last = await readSafetensors(folder.last);
  // The digest of the metrics depends on the time.
  const position = { ...JSON.parse(last.metadata["weft.position"]), seconds: 0, metrics: "" };
  return { metrics, tensors: last.tensors, position, best: (await readSafetensors(folder.best)).tensors };
}

async function assertSame(folder: RunFolder, other: RunFolder): Promise<void> {
  assert.deepEqual(await results(folder), await results(other));
}

/** A signal that is aborted after a number of training steps. */
async function trainUntilStep(
  folder: RunFolder,
  steps: number,
  options: Partial<TrainOptions> = {},
  taskOptions: TinyTaskOptions = {},
) {
  const controller = new AbortController();
  const task = await tinyTask(taskOptions);
  const schedule = (step: number) => {
    // Called before each step, which still runs.
    if (step === steps - 1) controller.abort();
    return task.schedule!(step);
  };
  return await train({ ...task, schedule }, {
    epochs: 4,
    ...batches,
    folder,
    signal: controller.signal,
    ...options,
  });
}

Deno.test(
  "training lowers the loss, writes one line per epoch and keeps the best weights",
  withRun(async (folder) => {
    const { metrics, position } = await run(folder);
    assert.deepEqual(metrics.map(({ epoch, step }) => [epoch, step]), [[1, 7], [2, 14], [3, 21], [4, 28]]);
    assert(metrics[3].train.loss < metrics[0].train.loss);
    const best = metrics.toSorted((a, b) =>
      b.validation.accuracy - a.validation.accuracy || a.validation.loss - b.validation.loss
    )[0];
    assert.equal(position.best?.epoch, best.epoch);
    const task = await tinyTask();
    await loadWeights(folder.best, task.parameters);
    assert.deepEqual(await evaluate(task, task.data.validation, 8), best.validation);
  }),
);

Deno.test(
  "two epochs and two more after resuming equal four epochs, bit for bit",
  withRun(async (folder) => {
    const other = await newRun(folder);
    await run(folder);
    await run(other, { epochs: 2 });
    await run(other, { resume: true });
    await assertSame(other, folder);
  }),
);

for (const steps of [1, 3, 6, 7, 10]) {
  Deno.test(
    `training interrupted after step ${steps} and resumed gives the same results`,
    withRun(async (folder) => {
      const other = await newRun(folder);
      await run(folder);
      const { interrupted, position } = await trainUntilStep(other, steps);
      assert.deepEqual([interrupted, position.step], [true, steps]);
      await run(other, { resume: true });
      await assertSame(other, folder);
    }),
  );
}

Deno.test(
  "a plateau of training losses lowers the learning rate within an epoch, also after an interruption",
  withRun(async (folder) => {
    const [task, other] = [{ plateauAverage: 3 }, await newRun(folder)];
    const { metrics, position } = await run(folder, { task });
    // Averages of three losses: nine averages in 28 steps, and one pending step.
    assert.equal(position.plateau?.pending?.[1], 1);
    assert.ok(position.plateau!.factor < 1 && position.plateau!.factor > 0.5 ** 9);
    const rates = metrics.map(({ learningRate }) => learningRate!);
    assert.ok(rates.some((rate, i) => i > 0 && rate < rates[i - 1]));
    const { interrupted } = await trainUntilStep(other, 10, {}, task);
    assert.equal(interrupted, true);
    await run(other, { resume: true, task });
    await assertSame(other, folder);
    const shown = await newRun(folder);
    await run(shown, { task, onProgress: () => {} });
    await assertSame(shown, folder);
  }),
);

Deno.test(
  "reading metrics for progress output does not change results",
  withRun(async (folder) => {
    const other = await newRun(folder);
    await run(folder);
    await run(other, { onProgress: () => {} });
    await assertSame(other, folder);
  }),
);

Deno.test(
  "metrics of an incomplete epoch are discarded on resuming",
  withRun(async (folder) => {
    const other = await newRun(folder);
    await run(folder);
    await run(other, { epochs: 2 });
    await Deno.writeTextFile(other.metrics, '{"epoch":3,"step":21,"tra', { append: true });
    await run(other, { resume: true });
    await assertSame(other, folder);
  }),
);

Deno.test(
  "a loss that is not finite stops training with epoch and step and keeps the last good checkpoint",
  withRun(async (folder) => {
    await run(folder, { epochs: 1 });
    const before = await Deno.readFile(folder.last);
    const stopped = run(folder, {
      epochs: 20,
      resume: true,
      task: { poison: { position: 17, value: Infinity } },
    });
    await assert.rejects(stopped, (error) => {
      assert(error instanceof NonFiniteLossError);
      assert.equal(error.epoch, 2);
      assert(error.step > 7 && error.step <= 14);
      assert.match(error.message, /the loss is NaN in epoch 2 at step \d+: .*last good checkpoint stays/);
      return true;
    });
    assert.deepEqual(await Deno.readFile(folder.last), before);
  }),
);

Deno.test(
  "the step of a loss that is not finite does not depend on how often losses are read",
  withRun(async (folder) => {
    const steps: number[] = [];
    for (const onProgress of [undefined, () => {}]) {
      const task = { poison: { position: 17, value: NaN } };
      await run(await newRun(folder), { task, onProgress }).catch((error) => steps.push(error.step));
    }
    assert.equal(steps.length, 2);
    assert.equal(steps[0], steps[1]);
  }),
);

Deno.test(
  "a validation loss that is not finite stops training before the weights are saved",
  withRun(async (folder) => {
    const task = await tinyTask();
    const broken = {
      ...task,
      evaluate: (...args: Parameters<typeof task.evaluate>) => {
        const { loss, accuracy } = task.evaluate(...args);
        return { loss: args[1] ? loss : loss.mul(NaN), accuracy };
      },
    };
    await assert.rejects(
      () => train(broken, { epochs: 1, ...batches, folder }),
      /the validation loss is NaN in epoch 1 at step 7/,
    );
    assert.equal(JSON.parse((await readSafetensors(folder.last)).metadata["weft.position"]).step, 0);
  }),
);

Deno.test(
  "weights that are not finite do not overwrite a checkpoint",
  withRun(async (folder) => {
    await run(folder, { epochs: 1 });
    const before = await Deno.readFile(folder.last);
    const task = await tinyTask();
    const controller = new AbortController();
    task.optimizer!.step = () => {
      for (const x of Object.values(task.parameters)) x.assign(x.mul(NaN));
      controller.abort();
    };
    const resumed = train(task, {
      epochs: 2,
      ...batches,
      folder,
      resume: true,
      signal: controller.signal,
    });
    await assert.rejects(
      resumed,
      /last\.safetensors: not written, because \w+ has values that are not finite/,
    );
    assert.deepEqual(await Deno.readFile(folder.last), before);
  }),
);

Deno.test(
  "a damaged checkpoint is rejected by name and not changed",
  withRun(async (folder) => {
    await run(folder, { epochs: 1 });
    const bytes = await Deno.readFile(folder.last);
    await Deno.writeFile(folder.last, bytes.subarray(0, bytes.length - 3));
    await assert.rejects(() => run(folder, { resume: true }), /last\.safetensors: truncated/);
    assert.equal((await Deno.stat(folder.last)).size, bytes.length - 3);
  }),
);

Deno.test(
  "a run does not resume with other data",
  withRun(async (folder) => {
    await run(folder, { epochs: 1 });
    const task = await tinyTask();
    const fewer = { ...task, data: { ...task.data, train: task.data.validation } };
    await assert.rejects(
      () => train(fewer, { epochs: 2, ...batches, folder, resume: true }),
      /last\.safetensors: saved while training on 50 samples, but the training set now has 20/,
    );
  }),
);

Deno.test(
  "a weights file is rejected as a checkpoint",
  withRun(async (folder) => {
    await run(folder, { epochs: 1 });
    await Deno.copyFile(folder.best, folder.last);
    await assert.rejects(
      () => run(folder, { resume: true }),
      /last\.safetensors: has weights but no training position/,
    );
  }),
);

Deno.test(
  "a checkpoint of another model is rejected by name",
  withRun(async (folder) => {
    await run(folder, { epochs: 1 });
    const wider = { weight: (await tinyTask()).data.train.x };
    await assert.rejects(
      () => loadWeights(folder.best, wider),
      /best\.safetensors: does not fit this model: .*unknown bias/,
    );
  }),
);

Deno.test(
  "two runs never share a folder",
  withFolder(async (out) => {
    const now = new Date("2026-01-02T03:04:05Z");
    const folders = [await createRun(out, "x", {}, now), await createRun(out, "x", {}, now)];
    assert.deepEqual(folders.map(({ path }) => path.slice(out.length)), [
      "/x/2026-01-02T03-04-05",
      "/x/2026-01-02T03-04-05-2",
    ]);
    assert.equal(runFolder(`${folders[0].path}/`).path, folders[0].path);
  }),
);

Deno.test(
  "a model that reads values, which jit rejects, is trained without jit",
  withRun(async (folder) => {
    const task = await tinyTask();
    const field = (_t: Tensor, y: Tensor) => y.neg();
    const evaluate = (batch: Parameters<typeof task.evaluate>[0]) => {
      const x = odeint(field, batch.x, [0, 1], { method: "dopri5" }).at(0, -1);
      return task.evaluate({ ...batch, x });
    };
    const options = { epochs: 2, ...batches, folder };
    const { position } = await train({ ...task, evaluate }, options);
    assert.equal(position.step, 14);
    assert.equal(task.optimizer!.state.step, 14);
  }),
);

Deno.test("an epoch of three visits uses every sample three times, each time in another order", () => {
  const visits = Array.from({ length: 3 }, (_, i) => epochOrder(key(1), 2, 10, 3).slice(10 * i, 10 * i + 10));
  for (const order of visits) assert.deepEqual([...order].sort((a, b) => a - b), [...Array(10).keys()]);
  assert.equal(new Set(visits.map(String)).size, 3);
});

Deno.test(
  "the visits of a task multiply the steps of an epoch",
  withRun(async (folder) => {
    const options = { epochs: 1, ...batches, folder };
    const { position } = await train({ ...await tinyTask(), visits: 3 }, options);
    assert.deepEqual([position.step, position.samples], [19, 150]);
  }),
);

Deno.test("a class-weighted loss does not depend on the evaluation batches", async () => {
  const task = await tinyTask();
  const weights = tensor([1, 9]);
  const weighted = {
    ...task,
    evaluate: ({ x, labels }: typeof task.data.test) => ({
      loss: crossEntropy(x.slice(1, 0, 2), labels, { weights }),
    }),
    weights: ({ labels }: typeof task.data.test) => ({ loss: weights.gather(labels).mean() }),
  };
  const [some, all] = [
    await evaluate(weighted, task.data.test, 1),
    await evaluate(weighted, task.data.test, 8),
  ];
  assert.ok(Math.abs(some.loss - all.loss) < 1e-6);
});

Deno.test("metrics keep their names when they have weights", async () => {
  const task = await tinyTask();
  const [two, four] = [tensor(2), tensor(4)];
  const measured = await evaluate(
    {
      ...task,
      evaluate: () => ({ loss: two, "loss weight": four, " weight": two, weights: four, samples: two }),
      weights: ({ labels }: typeof task.data.test) => ({
        loss: labels.cast("float32").mean(),
        "loss weight": labels.cast("float32").mean(),
      }),
    },
    task.data.test,
    3,
  );
  assert.deepEqual(measured, { loss: 2, "loss weight": 4, " weight": 2, weights: 4, samples: 2 });
  await assert.rejects(
    () => evaluate({ ...task, weights: () => ({ mae: two }) }, task.data.test, 8),
    /weights of "mae", which the task does not measure; it measures "loss", "accuracy"/,
  );
});

/**
 * Tasks that select the best epoch by a metric that they do not measure, with the error message and the
 * number of epochs before it.
 */
const unmeasured: readonly [string, Partial<Awaited<ReturnType<typeof tinyTask>>>, RegExp, number][] = [
  [
    "a misspelt metric",
    { metric: { name: "acuracy", mode: "max" } },
    /metric.name is "acuracy", which is not measured on the validation part; expected one of "loss", "accuracy"$/,
    0,
  ],
  [
    "a metric that needs scores",
    { metric: { name: "auc", mode: "max" } },
    /metric.name is "auc".*; auc needs the task's scores, and samples of both classes/,
    0,
  ],
  [
    "a metric that is undefined for a single class",
    {
      metric: { name: "auc", mode: "max" },
      scores: ({ labels }: { labels: Tensor }) => ({ scores: labels.cast("float32"), labels: labels.mul(0) }),
    },
    /metric.name is "auc".*samples of both classes/,
    1,
  ],
  [
    "a misspelt metric of a stop rule",
    { stop: { after: 1, unless: [{ part: "train", measure: "Loss", mode: "min", threshold: 0 }] } },
    /stop.unless is "Loss", which is not measured on the train part; expected one of "loss", "accuracy"/,
    0,
  ],
  [
    "another mode",
    { metric: { name: "loss", mode: "least" as "min" } },
    /metric.mode is "least", expected/,
    0,
  ],
  [
    "another metric of the plateau",
    { plateauOf: "accuracy" as "training" },
    /plateauOf is "accuracy", expected one of "validation", "validation loss", "training"/,
    0,
  ],
];

for (const [name, changed, message, epochs] of unmeasured) {
  Deno.test(
    `${name} is rejected by name, and training resumes with the correct name`,
    withRun(async (folder) => {
      const task = await tinyTask();
      // The check before training uses a batch of one sample. Do not count it.
      let validated = 0;
      const evaluate: typeof task.evaluate = (batch, key) => {
        if (!key && batch.labels.shape[0] > 1) validated++;
        return task.evaluate(batch, key);
      };
      const options = { epochs: 2, ...batches, folder };
      await assert.rejects(() => train({ ...task, evaluate, ...changed }, options), message);
      assert.equal(validated, epochs);
      if (await exists(folder.last)) {
        await train(await tinyTask(), { ...options, resume: true });
        await assertSame(folder, await trained(await newRun(folder), 2));
      }
    }),
  );
}

Deno.test(
  "a metric that is only measured on the validation set can select the best epoch",
  withRun(async (folder) => {
    const task = await tinyTask();
    const evaluate: typeof task.evaluate = (batch, key) => {
      const measures = task.evaluate(batch, key);
      return key ? measures : { ...measures, error: measures.accuracy.neg().add(1) };
    };
    const metric = { name: "error", mode: "min" } as const;
    const { position, metrics } = await train({ ...task, evaluate, metric }, {
      epochs: 4,
      ...batches,
      folder,
    });
    assert.equal(position.best!.value, Math.min(...metrics.map(({ validation }) => validation.error)));
  }),
);

Deno.test(
  "a NaN metric stops training before an invalid checkpoint is written",
  withRun(async (folder) => {
    const task = await tinyTask();
    const evaluate: typeof task.evaluate = (batch, key) => ({
      ...task.evaluate(batch, key),
      ratio: tensor(0).div(0),
    });
    const metric = { name: "ratio", mode: "min" } as const;
    await assert.rejects(
      () => train({ ...task, evaluate, metric }, { epochs: 4, ...batches, folder }),
      (error) =>
        error instanceof NonFiniteLossError && /^the validation ratio is NaN in epoch 1/.test(error.message),
    );
    await train(await tinyTask(), { epochs: 2, ...batches, folder, resume: true });
  }),
);

Deno.test("a data set without known targets cannot be used for metrics", async () => {
  const task = await tinyTask();
  const nothing = { ...task, weights: () => ({ loss: zeros([]) }) };
  await assert.rejects(
    () => evaluate(nothing, task.data.validation, 8),
    /evaluate: all true values are missing/,
  );
});
