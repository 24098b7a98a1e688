/** Tasks that are fitted in closed form. */
import assert from "node:assert/strict";
import { key } from "../../src/tensor/random.ts";
import { tensor } from "../../src/tensor/creation.ts";
import { ownSeries } from "../../src/series/run/own_series.ts";
import { modelRules } from "../../src/series/models/model_settings.ts";
import { loadWeights } from "../../src/train/run/checkpoint.ts";
import { evaluate } from "../../src/train/evaluate.ts";
import { settingsOf } from "../../src/train/experiment.ts";
import { profileStep, train } from "../../src/train/loop.ts";
import { execute } from "../../src/train/run/run.ts";
import { init } from "../../src/compile/init.ts";
import type { Task } from "../../src/train/task.ts";
import { withRun } from "./tiny_run.ts";
import { tinyTask } from "./tiny_task.ts";

const options = { epochs: 1, batchSize: 8, key: key(1) };

/** The tiny task with the weights of its true rule. `fits` has the number of fits. */
async function fittedTask() {
  const { optimizer: _, schedule: __, plateau: ___, plateauOf: ____, ...task } = await tinyTask();
  const parameters = task.parameters as Record<"weight" | "bias", ReturnType<typeof tensor>>;
  const fits = { count: 0 };
  const fit = () => {
    fits.count++;
    parameters.weight.assign(tensor([[-5, 5, 0], [5, -5, 0]]));
    parameters.bias.assign(tensor([0, 0]));
    return Promise.resolve();
  };
  return { task: { ...task, fit }, fits };
}

Deno.test(
  "a fitted task has one epoch without steps, and its metrics and best weights come from the fit",
  withRun(async (folder) => {
    const { task, fits } = await fittedTask();
    const { metrics, position } = await train(task, { ...options, folder });
    assert.deepEqual([fits.count, position.epoch, position.step], [1, 1, 0]);
    assert.deepEqual(metrics.map(({ epoch, step, learningRate }) => [epoch, step, learningRate]), [
      [1, 0, undefined],
    ]);
    assert.equal(metrics[0].train.accuracy, 1);
    const other = await tinyTask();
    await loadWeights(folder.best, other.parameters);
    assert.deepEqual(await evaluate(other, other.data.validation, 8), metrics[0].validation);
  }),
);

Deno.test(
  "a fitted task that was stopped before its fit is fitted when it is resumed, and then never again",
  withRun(async (folder) => {
    const { task, fits } = await fittedTask();
    const stopped = await train(task, { ...options, folder, signal: AbortSignal.abort() });
    assert.deepEqual([stopped.interrupted, fits.count], [true, 0]);
    const resumed = await train(task, { ...options, folder, resume: true });
    assert.deepEqual([resumed.interrupted, fits.count], [false, 1]);
    const again = await train(task, { ...options, folder, resume: true });
    assert.deepEqual(again.metrics, resumed.metrics);
    assert.equal(fits.count, 1);
  }),
);

Deno.test(
  "the report of a fitted task has no learning rate",
  withRun(async (folder) => {
    const { info: device } = await init({ device: "cpu" });
    const { task } = await fittedTask();
    const { key: _, ...sizes } = options;
    const config = { experiment: "tiny", device: "cpu", seed: 0, learningRate: 1, ...sizes } as const;
    const { summary } = await execute({ config, folder, task, device, resume: false });
    assert.equal(summary!.test.accuracy, 1);
    const report = await Deno.readTextFile(folder.report);
    const [, epochs] = report.split("<summary>Epochs</summary>");
    assert.match(epochs, /<th [^>]*>time</);
    assert.doesNotMatch(epochs, /<th [^>]*>learning rate</);
  }),
);

Deno.test(
  "a task learns by an optimiser or by a fit, and a fit has one epoch and no steps to profile",
  withRun(async (folder) => {
    const { task } = await fittedTask();
    const { optimizer } = await tinyTask();
    const run = (overrides: Pick<Partial<Task>, "fit" | "optimizer">, epochs = 1) =>
      train({ ...task, ...overrides }, { ...options, epochs, folder });
    await assert.rejects(run({ optimizer }), /TypeError: train: the task has both an optimiser and fit/);
    await assert.rejects(run({ fit: undefined }), /TypeError: train: the task has no optimiser and no fit/);
    await assert.rejects(run({}, 2), /RangeError: train: epochs is 2; expected 1/);
    await assert.rejects(
      profileStep(task, { batchSize: 8, key: key(1) }),
      /TypeError: profileStep: the task has no optimiser/,
    );
  }),
);

Deno.test("a model rejects options that have no effect on it, and keeps their defaults", () => {
  const kind = { takes: [], rejects: ["epochs", "patience"], defaults: { epochs: 1 } };
  const experiment = modelRules({ ...ownSeries, models: () => ({ "closed": kind }) });
  assert.equal(settingsOf(experiment, { model: "closed" }).epochs, 1);
  for (const name of kind.rejects) {
    assert.throws(
      () => settingsOf(experiment, { model: "closed", [name]: 3 }),
      new RegExp(`the model closed cannot use ${name}: leave it out, or choose another model`),
    );
  }
});
