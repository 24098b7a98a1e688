import assert from "node:assert/strict";
import { parameterOf } from "../../src/nn/layer.ts";
import { meanSquaredError } from "../../src/nn/losses.ts";
import { Adam } from "../../src/optim/adam.ts";
import { ones, zeros } from "../../src/tensor/creation.ts";
import { foldIn, key, normal } from "../../src/tensor/random.ts";
import { tidy } from "../../src/tensor/scope.ts";
import { trainInMemory } from "../../src/train/in_memory.ts";
import { train, type TrainOptions } from "../../src/train/loop.ts";
import type { RunFolder } from "../../src/train/run/run_folder.ts";
import type { Task } from "../../src/train/task.ts";
import { assertSame, newRun, withRun } from "./tiny_run.ts";

/**
 * Fits a number to data that are collected around it. `state` is the sum of the collected numbers, and the data
 * depend on it.
 */
function collectingTask() {
  const weight = parameterOf(() => ones([1]));
  const sum = parameterOf(() => zeros([1]));
  const x = parameterOf(() => zeros([6, 1]));
  const collected: number[] = [];
  const task: Task<{ x: typeof x }> = {
    parameters: { weight },
    state: { sum, x },
    optimizer: Adam({ weight }, { learningRate: 0.1 }),
    data: { train: { x }, test: { x } },
    metric: { name: "loss", mode: "min" },
    collect(epoch) {
      collected.push(epoch);
      tidy(() => {
        x.assign(normal(foldIn(key(3), epoch), [6, 1]).add(weight).add(sum.mul(0.1)));
        sum.assign(sum.add(x.sum(0)));
      });
    },
    evaluate: ({ x }) => ({ loss: meanSquaredError(weight.broadcastTo(x.shape), x.sub(2)) }),
  };
  return { task, collected, x, weight };
}

const batches = { batchSize: 2, key: key(1) };

async function run(folder: RunFolder, options: Partial<TrainOptions> = {}) {
  const collecting = collectingTask();
  await train(collecting.task, { epochs: 4, ...batches, folder, ...options });
  return collecting;
}

Deno.test(
  "a task collects once before each epoch",
  withRun(async (folder) => assert.deepEqual((await run(folder)).collected, [1, 2, 3, 4])),
);

Deno.test("training in memory collects before each epoch, too", async () => {
  const { task, collected } = collectingTask();
  await trainInMemory(task, { steps: 7, ...batches });
  assert.deepEqual(collected, [1, 2, 3]);
});

Deno.test(
  "a resumed run continues with the collected state, bit for bit",
  withRun(async (folder) => {
    const other = await newRun(folder);
    await run(folder);
    await run(other, { epochs: 2 });
    assert.deepEqual((await run(other, { resume: true })).collected, [3, 4]);
    await assertSame(folder, other);
  }),
);

Deno.test(
  "a run that is interrupted within an epoch resumes it without collecting again, bit for bit",
  withRun(async (folder) => {
    const other = await newRun(folder);
    await run(folder);
    const controller = new AbortController();
    // Two of the three steps of the second epoch.
    await run(other, {
      signal: controller.signal,
      onLoss: (_, step) => void (step === 5 && controller.abort()),
    });
    const { collected, x } = await run(other, { resume: true });
    assert.deepEqual(collected, [3, 4]);
    assert.ok((await x.data()).every((value) => value !== 0));
    await assertSame(folder, other);
  }),
);
