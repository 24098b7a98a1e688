import assert from "node:assert/strict";
import { epochOrder } from "../../src/data/batches.ts";
import { readSafetensors } from "../../src/files/safetensors.ts";
import { odeint } from "../../src/solvers/odeint.ts";
import { key } from "../../src/tensor/random.ts";
import type { Tensor } from "../../src/tensor/tensor.ts";
import { loadWeights, readState, saveWeights } from "../../src/train/run/checkpoint.ts";
import { evaluate } from "../../src/train/evaluate.ts";
import { NonFiniteLossError, train, type TrainOptions } from "../../src/train/loop.ts";
import { createRun, type RunFolder, runFolder } from "../../src/train/run/run_folder.ts";
import { withFolder } from "../tasks/command_line.ts";
import { assertSame, batches, newRun, run, withRun } from "./tiny_run.ts";
import { tinyTask, type TinyTaskOptions } from "./tiny_task.ts";

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
    const task = await tinyTask();
    const fewer = { ...task, data: { ...task.data, train: task.data.validation } };
    for (const [first, second, sizes] of [[task, fewer, [50, 20]], [fewer, task, [20, 50]]] as const) {
      const options = { ...batches, folder: await newRun(folder) };
      await train(first, { epochs: 1, ...options });
      await assert.rejects(
        () => train(second, { epochs: 2, ...options, resume: true }),
        new RegExp(`saved while training on ${sizes[0]} samples, but the training set now has ${sizes[1]}`),
      );
    }
  }),
);

Deno.test(
  "best weights of another epoch are rejected when a run resumes",
  withRun(async (folder) => {
    const { position: { best } } = await run(folder);
    const other = best!.epoch === 1 ? 2 : 1;
    await saveWeights(folder.best, await readState({ parameters: (await tinyTask()).parameters }), other);
    await assert.rejects(
      () => run(folder, { epochs: 5, resume: true }),
      new RegExp(
        `best\\.safetensors: has the weights of epoch ${other}, but the best epoch is ${best!.epoch}`,
      ),
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
      const x = odeint(field, batch.x, [0, 1], { method: "dopri5" }).select(0, -1);
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

Deno.test(
  "the losses of an epoch's steps have the mean of the epoch, also after an interruption",
  withRun(async (folder) => {
    const losses: [step: number, loss: number][] = [];
    const onLoss = (loss: number, step: number) => void losses.push([step, loss]);
    await trainUntilStep(folder, 9, { onLoss });
    const { metrics } = await run(folder, { epochs: 2, resume: true, onLoss });
    assert.deepEqual(losses.map(([step]) => step), Array.from({ length: 14 }, (_, i) => i + 1));
    // Fifty samples: seven batches, the last has two.
    const sum = losses.slice(7).reduce((total, [, loss], i) => total + loss * (i < 6 ? 8 : 2), 0);
    assert.ok(Math.abs(sum / 50 - metrics[1].train.loss) < 1e-6 * sum);
  }),
);
