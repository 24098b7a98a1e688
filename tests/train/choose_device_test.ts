/** The device that `auto` chooses. */
import assert from "node:assert/strict";
import { parameter, type ParameterTree, type Tensor, treeLeaves, zeros } from "../../mod.ts";
import { machines } from "../../bench/plans/machines.ts";
import { openNullGpu } from "../../bench/plans/null_gpu.ts";
import { currentDevice } from "../../src/device/current.ts";
import { init } from "../../src/compile/init.ts";
import type { WebGpuDevice } from "../../src/device/webgpu/device.ts";
import { arithmeticMetadata, arithmeticOf, trainedOn } from "../../src/train/run/arithmetic.ts";
import { keptDevice } from "../../src/train/run/arithmetic.ts";
import { prepareOnDevice } from "../../src/train/run/choose_device.ts";
import type { Task } from "../../src/train/task.ts";
import { cpu, testOnBoth } from "../devices.ts";
import { tinyTask } from "./tiny_task.ts";

/** A task whose step multiplies each sample by a square matrix, ten times. */
function products(size: number, samples = 4): Task {
  const weight = parameter(zeros([size, size]));
  const x = zeros([samples, size]);
  return {
    ...{ parameters: { weight }, optimizer: {} as Task["optimizer"], data: { train: { x }, test: { x } } },
    evaluate({ x }: { x: Tensor }) {
      let y = x;
      for (let i = 0; i < 10; i++) y = y.matmul(weight);
      return { loss: y.square().mean() };
    },
  } as unknown as Task;
}

/** Seconds of a step of a sample by device, beside those of a step without samples. */
type Rates = Readonly<Record<"cpu" | "webgpu", readonly [perSample: number, more: number]>>;

/** Prepares a task for a run on a machine with a GPU. Returns also the devices on which it was prepared, and the timed steps. */
async function prepared(
  make: () => Task | Promise<Task>,
  rates: Rates = { cpu: [1, 0], webgpu: [0, 0] },
  { device = "auto" as "auto" | "cpu", batchSize = 4, trainedOn = undefined as string | undefined } = {},
) {
  const gpu = openNullGpu(machines.h100).device;
  const on: string[] = [];
  const timed: string[] = [];
  const prepare = () => {
    on.push(currentDevice().kind);
    return make();
  };
  const search = {
    findGpu: () => Promise.resolve(gpu),
    secondsOf: (_task: Task, samples: number) => {
      const kind = currentDevice().kind as keyof Rates;
      timed.push(`${samples} on ${kind}`);
      return Promise.resolve(rates[kind][0] * samples + rates[kind][1]);
    },
  };
  try {
    const result = await prepareOnDevice({ device, batchSize }, prepare, trainedOn, search);
    const { deviceReason: reason, device: { kind }, task } = result;
    assert.equal(currentDevice().kind, kind);
    return { task, reason, kind, on, timed };
  } finally {
    await init({ device: "cpu" });
  }
}

Deno.test("a run trains on the CPU if a step fails on the GPU, and says why", async () => {
  const failing = () => {
    if (currentDevice().kind === "webgpu") throw new RangeError("no buffer of 8 GB");
    return products(8);
  };
  const { reason, kind, on, task } = await prepared(failing);
  assert.equal(reason, "CPU: a training step fails on NVIDIA H100 SXM: no buffer of 8 GB");
  assert.deepEqual([kind, on], ["cpu", ["cpu", "webgpu"]]);
  assert.ok(treeLeaves(task.parameters).every(({ device }) => device.kind === "cpu"));
  await assert.rejects(
    prepared(() => {
      throw new RangeError("no data");
    }),
    /no data/,
  );
});

Deno.test("a run trains on the device on which a training step takes less time, and says so", async () => {
  const onGpu = await prepared(() => products(8, 100), { cpu: [1e-4, 0], webgpu: [0, 5e-3] }, {
    batchSize: 64,
  });
  assert.equal(
    onGpu.reason,
    "GPU: a training step of 64 samples takes 6.4 ms on the CPU and 5 ms on NVIDIA H100 SXM",
  );
  assert.ok(treeLeaves(onGpu.task.parameters).every(({ device }) => device.kind === "webgpu"));
  assert.deepEqual([onGpu.kind, onGpu.on], ["webgpu", ["cpu", "webgpu"]]);
  const onCpu = await prepared(() => products(8, 100), { cpu: [1e-4, 0], webgpu: [0, 5e-3] }, {
    batchSize: 32,
  });
  assert.match(
    onCpu.reason!,
    /^CPU: a training step of 32 samples takes 3.2 ms on the CPU and about 80 ms \(timed with 2\) on/,
  );
  assert.ok(treeLeaves(onCpu.task.parameters).every(({ device }) => device.kind === "cpu"));
  assert.deepEqual(
    onCpu.timed,
    ["2 on cpu", "32 on cpu", "2 on webgpu"],
    "two samples took longer than a batch on the CPU",
  );
});

Deno.test("a large batch is timed with fewer samples on both devices", async () => {
  const { reason, timed } = await prepared(
    () => products(2, 5000),
    { cpu: [0.01, 0], webgpu: [0.001, 0.01] },
    { batchSize: 1000 },
  );
  assert.deepEqual(timed, ["2 on cpu", "20 on cpu", "2 on webgpu", "20 on webgpu"]);
  assert.equal(
    reason,
    "GPU: a training step of 1000 samples takes about 10 s (timed with 20) on the CPU and about 1 s (timed with 20) on NVIDIA H100 SXM",
  );
});

testOnBoth("the timed steps change no parameter", async (_cpu, gpu) => {
  const values = (tree: ParameterTree) => Promise.all(treeLeaves(tree).map((x) => x.data()));
  const { parameters } = await tinyTask();
  const findGpu = () => Promise.resolve(gpu as WebGpuDevice);
  const config = { device: "auto", batchSize: 8 } as const;
  const { task, deviceReason } = await prepareOnDevice(config, tinyTask, undefined, { findGpu });
  assert.deepEqual(await values(task.parameters), await values(parameters));
  if (gpu.info.software) {
    assert.match(deviceReason!, /^CPU: a training step of 8 samples takes [\d.]+ ms on the CPU/);
  }
});

Deno.test("parameters of float64, and models without steps, stay on the CPU", async () => {
  const wide = { ...products(8), parameters: { weight: zeros([2], { dtype: "float64" }) } };
  const ofDoubles = await prepared(() => wide);
  assert.deepEqual([ofDoubles.reason, ofDoubles.on], ["CPU: the parameters are float64", ["cpu"]]);
  const { reason, kind } = await prepared(() => ({ ...products(8), optimizer: undefined }));
  assert.equal(kind, "cpu");
  assert.match(reason!, /^CPU: the parameters have a closed form/);
});

Deno.test("nothing is timed for a named device, or for weights that exist", async () => {
  for (const options of [{ device: "cpu" as const }, { trainedOn: "cpu" }]) {
    const { on, timed, reason, kind } = await prepared(() => products(8), undefined, options);
    assert.deepEqual([on, timed, reason, kind], [["cpu"], [], undefined, "cpu"]);
  }
});

Deno.test("auto keeps the CPU for weights that it trained", () => {
  assert.equal(keptDevice("auto", "cpu"), "cpu");
  assert.equal(keptDevice("auto", "webgpu"), "auto");
  assert.equal(keptDevice("auto", undefined), "auto");
  assert.equal(keptDevice("webgpu", "cpu"), "webgpu");
});

Deno.test("weights name the device that trained them", () => {
  assert.equal(trainedOn(arithmeticMetadata(arithmeticOf(cpu.info, {}))), "cpu");
  assert.equal(trainedOn({}), undefined);
});
