import assert from "node:assert/strict";
import { type BatchSource, sampleCount, takeSamples } from "../../src/data/batches.ts";
import { evaluate } from "../../src/train/evaluate.ts";
import { trainInMemory } from "../../src/train/in_memory.ts";
import { train } from "../../src/train/loop.ts";
import { runFolder } from "../../src/train/run/run_folder.ts";
import { key } from "../../src/tensor/random.ts";
import { treeFlatten } from "../../src/tensor/tree.ts";
import type { ParameterTree } from "../../src/nn/layer.ts";
import { withFolder } from "../tasks/command_line.ts";
import { tinyTask } from "./tiny_task.ts";

async function valuesOf(parameters: ParameterTree): Promise<number[][]> {
  return await Promise.all(Array.from(treeFlatten(parameters), async ([, x]) => Array.from(await x.data())));
}

Deno.test(
  "training in memory takes the steps of a run without validation, and a run's best weights are its last",
  withFolder(async (folder) => {
    const { plateau: _, ...task } = await tinyTask();
    const { validation: __, ...data } = task.data;
    const saved = await train({ ...task, data }, {
      ...{ epochs: 3, batchSize: 8, key: key(1), folder: runFolder(folder) },
    });
    assert.deepEqual(saved.metrics.map(({ validation }) => validation), [{}, {}, {}]);
    assert.equal(saved.position.best!.epoch, 3);
    const other = await tinyTask();
    const steps = await trainInMemory({ ...other, data }, { steps: 21, batchSize: 8, key: key(1) });
    assert.equal(steps, saved.position.step);
    assert.deepEqual(await valuesOf(other.parameters), await valuesOf(task.parameters));
  }),
);

Deno.test("training in memory ends between epochs and at the signal", async () => {
  const task = await tinyTask();
  assert.equal(await trainInMemory(task, { steps: 10, batchSize: 8, key: key(0) }), 10);
  const before = await evaluate(task, task.data.train, 8);
  const options = { steps: 5, batchSize: 8, key: key(0), signal: AbortSignal.abort() };
  assert.equal(await trainInMemory(task, options), 0);
  assert.deepEqual(await evaluate(task, task.data.train, 8), before);
  assert.equal(task.optimizer!.learningRate, 0.05);
});

Deno.test("batches that are made on demand give the same steps and measures as tensors on the device", async () => {
  const [whole, other] = [await tinyTask(), await tinyTask()];
  const { train } = other.data;
  const made: number[] = [];
  const source: BatchSource<typeof train> = {
    count: sampleCount(train),
    batch(positions) {
      made.push(positions.length);
      return takeSamples(train, positions);
    },
  };
  const onDemand = { ...other, data: { ...other.data, train: source } };
  for (const task of [whole, onDemand]) await trainInMemory(task, { steps: 7, batchSize: 8, key: key(1) });
  assert.deepEqual(made, [8, 8, 8, 8, 8, 8, 2]);
  assert.deepEqual(await valuesOf(other.parameters), await valuesOf(whole.parameters));
  assert.deepEqual(await evaluate(other, source, 8), await evaluate(whole, whole.data.train, 8));
});
