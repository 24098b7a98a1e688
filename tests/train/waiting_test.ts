/** When training waits for a GPU, and what it reads then. */
import assert from "node:assert/strict";
import { epochOrder, inBatches } from "../../src/data/batches.ts";
import type { Device } from "../../src/device/device.ts";
import { splitKey } from "../../src/tensor/random.ts";
import { evaluate } from "../../src/train/evaluate.ts";
import { NonFiniteLossError, train } from "../../src/train/loop.ts";
import { Pipeline } from "../../src/train/pipeline.ts";
import { test as testOnWebGpu } from "../device/webgpu_tests.ts";
import { withClock } from "../clock.ts";
import { testOnDevices } from "../devices.ts";
import { assertSame, batches, newRun, run, withRun } from "./tiny_run.ts";
import { tinyTask } from "./tiny_task.ts";

/** A GPU of which a pipeline sees the uploads alone. */
function fakeGpu(): { device: Device; statistics: { uploaded: number } } {
  const statistics = { uploaded: 0 };
  return { device: { kind: "webgpu", statistics } as unknown as Device, statistics };
}

/** Numbers of batches at which a pipeline reads. */
async function readings(
  count: number,
  batch: (advance: (milliseconds: number) => void, statistics: { uploaded: number }) => void,
): Promise<number[]> {
  const { device, statistics } = fakeGpu();
  return await withClock(async (advance) => {
    const pipeline = new Pipeline(device);
    const found: number[] = [];
    for (let i = 1; i <= count; i++) {
      batch(advance, statistics);
      if (await pipeline.next(() => Promise.resolve())) found.push(i);
    }
    return found;
  });
}

Deno.test("readings double their distance up to the batches of 200 ms", async () => {
  assert.deepEqual(await readings(170, (advance) => advance(4)), [1, 3, 7, 15, 31, 63, 113, 163]);
});

Deno.test("batches that take longer than 200 ms are read one by one", async () => {
  assert.deepEqual(await readings(4, (advance) => advance(300)), [1, 2, 3, 4]);
});

Deno.test("a batch that takes longer than those before it does not delay the reading", async () => {
  let i = 0;
  assert.deepEqual(await readings(40, (advance) => advance(++i === 35 ? 500 : 1)), [
    1,
    3,
    7,
    15,
    31,
    35,
    36,
    38,
  ]);
});

Deno.test("batches with large uploads are read before 512 MiB are queued", async () => {
  const found = await readings(40, (advance, statistics) => {
    advance(1);
    statistics.uploaded += 2 ** 26;
  });
  assert.ok(found.every((batch, i) => batch - (found[i - 1] ?? 0) <= 4), `${found}`);
});

Deno.test("batches are queued while a GPU computes those of one reading, but not of two", async () => {
  const { device } = fakeGpu();
  const pipeline = new Pipeline(device);
  const first = Promise.withResolvers<void>();
  await pipeline.next(() => first.promise, true);
  let isDone = false;
  const second = pipeline.next(() => new Promise(() => {}), true).then(() => isDone = true);
  await new Promise((resolve) => setTimeout(resolve));
  assert.equal(isDone, false);
  first.resolve();
  await second;
});

Deno.test("the error of a reading reaches the next reading, or the end", async () => {
  const broken = () => Promise.reject(new Error("the GPU failed"));
  const works = () => Promise.resolve();
  const [one, two] = [new Pipeline(fakeGpu().device), new Pipeline(fakeGpu().device)];
  for (const pipeline of [one, two]) await pipeline.next(broken, true);
  await assert.rejects(one.next(works, true), /the GPU failed/);
  await assert.rejects(two.finish(works), /the GPU failed/);
});

testOnWebGpu("100 small training steps wait for the GPU at most 12 times", async (device) => {
  const task = { ...await tinyTask(), visits: 16 };
  // The number of waits of slow steps depends on their time.
  await withClock(async (advance) => {
    const schedule = () => (advance(1), 1);
    await withRun(async (folder) => {
      const before = device.statistics.waits;
      const { position } = await train({ ...task, schedule }, { epochs: 1, ...batches, folder });
      assert.equal(position.step, 100);
      const waits = device.statistics.waits - before;
      assert.ok(waits <= 12, `${waits} waits`);
    })();
  });
});

testOnWebGpu("the ranking of many small batches is read at intervals", async (device) => {
  const task = await tinyTask();
  const scores: typeof task.scores = ({ x, labels }) => ({ scores: x.select(1, 0), labels });
  const before = device.statistics.waits;
  const measures = await withClock(async () => await evaluate({ ...task, scores }, task.data.train, 1));
  assert.ok(measures.auc > 0.5);
  const waits = device.statistics.waits - before;
  assert.ok(waits <= 6, `${waits} waits for 13 batches`);
});

testOnDevices("a loss that is not finite names its step, however many steps were queued", async () => {
  const position = 30; // not dropped by the dropout of its step
  const [orderKey] = splitKey(batches.key);
  const order = inBatches(epochOrder(orderKey, 1, 50, 1), batches.batchSize);
  const step = 1 + order.findIndex((positions) => positions.includes(position));
  await withRun(async (folder) => {
    const task = { poison: { position, value: NaN } };
    await assert.rejects(run(folder, { epochs: 1, task }), (error) => {
      assert.ok(error instanceof NonFiniteLossError);
      assert.equal(error.step, step);
      return true;
    });
  })();
});

testOnDevices("training interrupted between two readings and resumed gives the same results", async () => {
  await withRun(async (folder) => {
    const [other, controller, task] = [await newRun(folder), new AbortController(), await tinyTask()];
    await run(folder, { epochs: 2 });
    const schedule = (step: number) => {
      if (step === 5) controller.abort();
      return task.schedule!(step);
    };
    const options = { epochs: 2, ...batches, folder: other };
    const { interrupted } = await train({ ...task, schedule }, { ...options, signal: controller.signal });
    assert.equal(interrupted, true);
    await run(other, { epochs: 2, resume: true });
    await assertSame(other, folder);
  })();
});
