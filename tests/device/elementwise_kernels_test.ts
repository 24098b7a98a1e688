/** The caches of elementwise kernels. */
import assert from "node:assert/strict";
import { CpuDevice } from "../../src/device/cpu/device.ts";
import { add, mul, type ScalarFunction } from "../../src/device/scalar/scalar.ts";
import { allocateView, uploadView } from "../../src/device/view.ts";
import { testOnBoth, testOnDevices } from "../devices.ts";
import type { WebGpuDevice } from "../../src/device/webgpu/device.ts";
import { currentDevice } from "../../src/device/current.ts";
import type { KernelDevice } from "../../src/device/device.ts";

/** fn(3). */
async function applied(device: KernelDevice, fn: ScalarFunction): Promise<number> {
  const output = allocateView(device, [1], "float32");
  device.map(fn, [uploadView(device, [3], [1], "float32")], output);
  return (await device.read([output]))[0][0];
}

testOnDevices("functions of one name and different expressions have different kernels", async () => {
  const scaled = (factor: number): ScalarFunction => ({ name: "scaled", build: (x) => mul(x, factor) });
  assert.equal(await applied(currentDevice(), scaled(2)), 6);
  assert.equal(await applied(currentDevice(), scaled(3)), 9);
});

Deno.test("functions of one expression and different names share a kernel", async () => {
  const device = new CpuDevice({ threads: 1 });
  const shifted = (name: string): ScalarFunction => ({ name, build: (x) => add(x, 1.25) });
  const { Module } = WebAssembly;
  let compiled = 0;
  WebAssembly.Module = class extends Module {
    constructor(bytes: BufferSource) {
      super(bytes);
      compiled++;
    }
  };
  try {
    assert.equal(await applied(device, shifted("one")), 4.25);
    assert.equal(compiled, 1);
    assert.equal(await applied(device, shifted("other")), 4.25);
    assert.equal(compiled, 1);
  } finally {
    WebAssembly.Module = Module;
  }
});

testOnBoth("functions of one expression share a WebGPU kernel", async (_cpu, webgpu) => {
  const device = webgpu as WebGpuDevice;
  const shifted = (name: string): ScalarFunction => ({ name, build: (x) => add(x, 1.75) });
  assert.equal(await applied(device, shifted("one")), 4.75);
  const { kernels } = device.statistics;
  assert.equal(await applied(device, shifted("other")), 4.75);
  assert.equal(device.statistics.kernels, kernels);
});
