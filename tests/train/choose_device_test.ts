/** The device that `auto` chooses, for GPUs that are not there. */
import assert from "node:assert/strict";
import { parameter, scan, type Tensor, zeros } from "../../mod.ts";
import { openNullGpu } from "../../src/compile/executors/wgsl/open_gpu.ts";
import { currentDevice } from "../../src/device/current.ts";
import { init } from "../../src/compile/init.ts";
import { type Machine, machineOf, machines } from "../../src/device/machines.ts";
import { arithmeticMetadata, arithmeticOf, trainedOn } from "../../src/train/run/arithmetic.ts";
import { chooseDevice, keptDevice, prepareOnDevice } from "../../src/train/run/choose_device.ts";
import type { Task } from "../../src/train/task.ts";
import { tinyTask } from "./tiny_task.ts";

const h100 = machineOf({
  info: { description: "NVIDIA H100 80GB HBM3, Deno's WebGPU", software: false },
  limits: machines.h100.limits,
});

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

Deno.test("a small model trains on the CPU, with its arithmetic as the reason", async () => {
  const { kind, reason } = chooseDevice(await tinyTask(), 8, h100, 4);
  assert.equal(kind, "cpu");
  assert.match(
    reason,
    /^CPU: a step is \d+ FLOP; by estimate it takes .*s on 4 threads and .*s in \d+ launches on NVIDIA H100/,
  );
});

Deno.test("a step of large products trains on the GPU", () => {
  const { kind, reason } = chooseDevice(products(512), 4096, h100, 4);
  assert.equal(kind, "webgpu");
  // Per sample ten products of 512 x 512, ten for the gradient of the weights and nine for that of the states.
  assert.match(reason, /^GPU: a step is 62 GFLOP;/);
});

Deno.test("more launches than the CPU needs for the same step keep it on the CPU", () => {
  const slow = (launch: number) => ({ ...h100, rates: { ...h100.rates, launch } });
  assert.equal(chooseDevice(products(64), 1024, slow(1e-6), 1).kind, "webgpu");
  assert.equal(chooseDevice(products(64), 1024, slow(1e-2), 1).kind, "cpu");
});

Deno.test("a loop of many steps on few samples stays on the CPU: the latency of its steps does not shrink", () => {
  const weight = parameter(zeros([8, 8]));
  const x = zeros([4, 2000, 8]);
  const task = {
    ...products(8),
    parameters: { weight },
    data: { train: { x }, test: { x } },
    evaluate({ x }: { x: Tensor }) {
      const step = (
        y: Tensor,
        row: Tensor,
      ): [Tensor, Tensor] => [y.add(row).matmul(weight).tanh(), y.sum(-1)];
      return { loss: scan(step, zeros([x.shape[0], 8]), x.transpose(0, 1))[0].square().mean() };
    },
  } as unknown as Task;
  assert.equal(chooseDevice(task, 64, h100, 1).kind, "cpu");
});

Deno.test("parameters of float64, and models without steps, stay on the CPU", () => {
  const wide = products(512);
  const parameters = { weight: zeros([2], { dtype: "float64" }) };
  assert.match(
    chooseDevice({ ...wide, parameters }, 4096, h100, 4).reason,
    /^CPU: the parameters are float64/,
  );
  const { reason } = chooseDevice({ ...wide, optimizer: undefined }, 4096, h100, 4);
  assert.match(reason, /^CPU: the parameters have a closed form/);
});

/** Prepares a task for `auto` on a machine with a GPU. Returns the devices on which it was prepared. */
async function prepared(make: () => Task | Promise<Task>, machine: Machine, device: "auto" | "cpu" = "auto") {
  const { device: gpu } = openNullGpu(machine);
  const on: string[] = [];
  const prepare = () => {
    on.push(currentDevice().kind);
    return make();
  };
  try {
    const config = { device, batchSize: 4096 };
    return { ...await prepareOnDevice(config, prepare, undefined, () => Promise.resolve(gpu)), on };
  } finally {
    await init({ device: "cpu" });
  }
}

Deno.test("a run is prepared again on the GPU only if a step is faster there", async () => {
  const large = await prepared(() => products(512), machines.h100);
  assert.deepEqual(large.on, ["cpu", "webgpu"]);
  assert.deepEqual([large.device.kind, large.device.description], ["webgpu", "NVIDIA H100 SXM"]);
  assert.match(large.deviceReason!, /^GPU: /);
  const small = await prepared(() => products(2), machines.h100);
  assert.deepEqual(small.on, ["cpu"]);
  assert.equal(small.device.kind, "cpu");
  const chosen = await prepared(() => products(512), machines.h100, "cpu");
  assert.deepEqual([chosen.on, chosen.deviceReason], [["cpu"], undefined]);
});

Deno.test("auto keeps the CPU for weights that it trained", () => {
  assert.equal(keptDevice("auto", "cpu"), "cpu");
  assert.equal(keptDevice("auto", "webgpu"), "auto");
  assert.equal(keptDevice("auto", undefined), "auto");
  assert.equal(keptDevice("webgpu", "cpu"), "webgpu");
});

Deno.test("an adapter has the rates of the most similar known machine, and its own limits", () => {
  const ratesOf = (description: string) =>
    machineOf({ info: { description, software: false }, limits: machines["default-limits"].limits }).rates;
  assert.equal(ratesOf("nvidia NVIDIA H100 PCIe, Dawn"), machines.h100.rates);
  assert.equal(ratesOf("NVIDIA GeForce GTX 1080"), machines["rtx-3060"].rates);
  assert.equal(ratesOf("Apple M1"), machines["iris-xe"].rates);
});

Deno.test("weights name the device that trained them", () => {
  const { info } = currentDevice();
  assert.equal(trainedOn(arithmeticMetadata(arithmeticOf(info, {}))), "cpu");
  assert.equal(trainedOn({}), undefined);
});
