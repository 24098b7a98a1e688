/** Metrics of a task: their weights, and the metric that selects the best epoch. */
import assert from "node:assert/strict";
import { exists } from "../../src/files/disk.ts";
import { crossEntropy } from "../../src/nn/losses.ts";
import { tensor, zeros } from "../../src/tensor/creation.ts";
import type { Tensor } from "../../src/tensor/tensor.ts";
import { evaluate } from "../../src/train/evaluate.ts";
import { NonFiniteLossError, train } from "../../src/train/loop.ts";
import type { RunFolder } from "../../src/train/run/run_folder.ts";
import { assertSame, batches, newRun, run, withRun } from "./tiny_run.ts";
import { tinyTask } from "./tiny_task.ts";

/** The folder after training for `epochs` epochs. */
async function trained(folder: RunFolder, epochs: number): Promise<RunFolder> {
  await run(folder, { epochs });
  return folder;
}

Deno.test("a class-weighted loss does not depend on the evaluation batches", async () => {
  const task = await tinyTask();
  const weights = tensor([1, 9]);
  const weighted = {
    ...task,
    evaluate: ({ x, labels }: typeof task.data.test) => ({
      loss: crossEntropy(x.slice(1, 0, 2), labels, { weights }),
    }),
    weights: ({ labels }: typeof task.data.test) => ({ loss: weights.take(labels).mean() }),
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
