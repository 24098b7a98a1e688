/** Kernels that a WebGPU implementation compiles in the background, as Dawn does. */
import assert from "node:assert/strict";
import { jit, tensor, zeros } from "../../mod.ts";
import { openGpu } from "../../src/compile/executors/wgsl/open_gpu.ts";
import { findAdapter } from "../../src/device/webgpu/adapter.ts";
import type { WebGpuDevice } from "../../src/device/webgpu/device.ts";
import { dispatchBroken, shared, test } from "./webgpu_tests.ts";

/** Kernels that a device of {@linkcode openSlow} compiles, and the most at one time. */
interface Compilation {
  current: number;
  most: number;
}

const compilations = new WeakMap<WebGpuDevice, Compilation>();

/** Opens a device that compiles in the background, and takes 20 ms longer for each kernel. */
async function openSlow(): Promise<WebGpuDevice> {
  const adapter = await findAdapter(shared!.implementation);
  const device = await openGpu({ adapter: { ...adapter!, implementation: "dawn" } });
  const { gpuDevice } = device;
  const compilation: Compilation = { current: 0, most: 0 };
  compilations.set(device, compilation);
  const compile = gpuDevice.createComputePipelineAsync.bind(gpuDevice);
  gpuDevice.createComputePipelineAsync = async (descriptor) => {
    compilation.most = Math.max(compilation.most, ++compilation.current);
    try {
      await new Promise((resolve) => setTimeout(resolve, 20));
      return await compile(descriptor);
    } finally {
      compilation.current--;
    }
  };
  return device;
}

test("kernels, uploads, copies and reads keep their order while kernels are compiled", async (device) => {
  const x = tensor([1, 2]);
  const y = x.add(1);
  const before = x.data();
  x.assign(tensor([5, 6]));
  const z = x.mul(y).sum();
  const after = x.data();
  x.assign(y.neg());
  const values = (await Promise.all([before, after, x.data(), z.data()])).map((data) => [...data]);
  assert.deepEqual(values, [[1, 2], [5, 6], [-2, -3], [28]]);
  const { most } = compilations.get(device)!;
  assert.ok(most >= 3, `${most} kernels compiled at one time`);
}, openSlow);

test("a captured function is captured once while its kernels are compiled", async () => {
  const x = zeros([3]).add(1);
  const increment = jit((by: number) => x.assign(x.add(by)));
  for (let i = 0; i < 5; i++) increment(2);
  assert.deepEqual([...await x.data()], [11, 11, 11]);
}, openSlow);

test("a loop without await does not hold its commands for longer than 1024 of them", async (device) => {
  let x = tensor([0]);
  for (let i = 0; i < 3000; i++) x = x.add(1);
  assert.ok(device.statistics.batches > 4, `${device.statistics.batches} batches`);
  assert.deepEqual([...await x.data()], [3000]);
}, openSlow);

test("the error of a kernel that is compiled in the background names it", async (device) => {
  const x = tensor([1]);
  for (let i = 0; i < 2; i++) {
    dispatchBroken(device, x);
    await assert.rejects(x.data(), /broken kernel/);
  }
  assert.deepEqual([...await tensor([1]).add(1).data()], [2]);
}, openSlow);

test("destroying a device rejects a read that waits for a kernel", async (device) => {
  const reading = tensor([1, 2]).add(1).data();
  device.destroy();
  await assert.rejects(reading, /was destroyed/);
}, openSlow);
