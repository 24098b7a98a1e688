/** The device that `auto` chooses. */
import assert from "node:assert/strict";
import { parameter, type ParameterTree, type Tensor, treeLeaves, zeros } from "../../mod.ts";
import { machines } from "../../bench/plans/machines.ts";
import { openNullGpu } from "../../bench/plans/null_gpu.ts";
import { currentDevice } from "../../src/device/current.ts";
import { init } from "../../src/compile/init.ts";
import type { WebGpuDevice } from "../../src/device/webgpu/device.ts";
import { arithmeticMetadata, arithmeticOf, trainedOn } from "../../src/train/run/arithmetic.ts";
import { keptDevice, prepareOnDevice } from "../../src/train/run/choose_device.ts";
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

/** A GPU that takes some milliseconds for the commands of a step, and computes nothing. */
function gpuThatTakes(milliseconds: number): WebGpuDevice {
  const { device } = openNullGpu(machines.h100);
  device.synchronize = () => new Promise((resolve) => setTimeout(resolve, milliseconds));
  return device;
}

/** Prepares a task for a run on a machine with a GPU. Returns also the devices on which it was prepared. */
async function prepared(
  make: () => Task | Promise<Task>,
  gpu: WebGpuDevice,
  { device = "auto" as "auto" | "cpu", batchSize = 4, trainedOn = undefined as string | undefined } = {},
) {
  const on: string[] = [];
  const prepare = () => {
    on.push(currentDevice().kind);
    return make();
  };
  try {
    const result = await prepareOnDevice(
      { device, batchSize },
      prepare,
      trainedOn,
      () => Promise.resolve(gpu),
    );
    return { ...result, on, kind: currentDevice().kind };
  } finally {
    await init({ device: "cpu" });
  }
}

Deno.test("a run trains on the device on which a training step takes less time, and says so", async () => {
  const slow = await prepared(tinyTask, gpuThatTakes(50), { batchSize: 8 });
  assert.deepEqual([slow.device.kind, slow.kind, slow.on], ["cpu", "cpu", ["cpu", "webgpu"]]);
  assert.match(
    slow.deviceReason!,
    /^CPU: a training step of 8 samples takes [\d.]+ ms on the CPU and about [\d.]+ m?s \(timed with 2\) on NVIDIA H100 SXM$/,
  );
  const fast = await prepared(() => products(256, 512), gpuThatTakes(0), { batchSize: 512 });
  assert.deepEqual([fast.device.kind, fast.kind, fast.on], ["webgpu", "webgpu", ["cpu", "webgpu"]]);
  assert.ok(treeLeaves(fast.task.parameters).every(({ device }) => device.kind === "webgpu"));
  assert.match(
    fast.deviceReason!,
    /^GPU: a training step of 512 samples takes .* on the CPU and .* on NVIDIA/,
  );
});

Deno.test("a batch of which a step would take long is timed with fewer samples", async () => {
  const { task, deviceReason } = await prepared(() => products(1024, 20_000), gpuThatTakes(1), {
    batchSize: 20_000,
  });
  const [, timed] = deviceReason!.match(
    /of 20,?000 samples takes about [\d.]+ m?s \(timed with (\d+)\) on the CPU/,
  )!;
  assert.ok(Number(timed) < 10_000, deviceReason);
  assert.ok(treeLeaves(task.parameters).every(({ device }) => device.kind === "webgpu"));
});

Deno.test("the timed steps change no parameter", async () => {
  const { parameters } = await tinyTask();
  const { task } = await prepared(tinyTask, gpuThatTakes(50), { batchSize: 8 });
  const values = (tree: ParameterTree) => Promise.all(treeLeaves(tree).map((x) => x.data()));
  assert.deepEqual(await values(task.parameters), await values(parameters));
});

Deno.test("parameters of float64, and models without steps, stay on the CPU", async () => {
  const gpu = gpuThatTakes(0);
  const wide = { ...products(8), parameters: { weight: zeros([2], { dtype: "float64" }) } };
  const ofDoubles = await prepared(() => wide, gpu);
  assert.deepEqual([ofDoubles.deviceReason, ofDoubles.on], ["CPU: the parameters are float64", ["cpu"]]);
  const { deviceReason, kind } = await prepared(() => ({ ...products(8), optimizer: undefined }), gpu);
  assert.equal(kind, "cpu");
  assert.match(deviceReason!, /^CPU: the parameters have a closed form/);
});

Deno.test("nothing is timed for a named device, or for weights that exist", async () => {
  const gpu = gpuThatTakes(0);
  for (const options of [{ device: "cpu" as const }, { trainedOn: "cpu" }]) {
    const { on, deviceReason, kind } = await prepared(() => products(8), gpu, options);
    assert.deepEqual([on, deviceReason, kind], [["cpu"], undefined, "cpu"]);
  }
});

testOnBoth("auto on a software GPU chooses the CPU", async (_cpu, gpu) => {
  if (!gpu.info.software) return;
  const { device, deviceReason } = await prepared(tinyTask, gpu as WebGpuDevice, { batchSize: 8 });
  assert.equal(device.kind, "cpu");
  assert.ok(deviceReason!.endsWith(`on ${gpu.info.description}`), deviceReason);
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
