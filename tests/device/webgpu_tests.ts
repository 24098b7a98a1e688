/** Tests that run on a WebGPU device. */
import type { Tensor } from "../../mod.ts";
import { openGpu } from "../../src/compile/executors/wgsl/open_gpu.ts";
import { setCurrentDevice } from "../../src/device/current.ts";
import type { BufferView } from "../../src/device/device.ts";
import { memoryOf, type WebGpuDevice } from "../../src/device/webgpu/device.ts";
import type { GpuLimits } from "../../src/device/webgpu/gpu.ts";
import { useDevice, webgpu } from "../devices.ts";

export const shared = webgpu as WebGpuDevice | undefined;

/** A test on a WebGPU device, by default the device that all tests share. Ignored without a device. */
export function test(
  name: string,
  body: (device: WebGpuDevice) => void | Promise<void>,
  open?: () => Promise<WebGpuDevice>,
): void {
  Deno.test({
    name: `${name} [webgpu]`,
    ignore: !shared,
    sanitizeOps: false,
    sanitizeResources: false,
    async fn() {
      useDevice(shared!);
      const device = open ? await open() : shared!;
      setCurrentDevice(device);
      try {
        await body(device);
      } finally {
        if (open) device.destroy();
      }
    },
  });
}

/** Opens a separate device, for tests that would disturb others. */
export const fresh = (limits?: GpuLimits) => () =>
  openGpu({ implementation: shared!.implementation, ...limits });

export const viewOf = (x: Tensor) => x.view as BufferView;

/** Queues a kernel that does not compile, with a tensor as its output. */
export function dispatchBroken(device: WebGpuDevice, x: Tensor): void {
  device.dispatch({
    key: "broken",
    source: () => ({ name: "broken kernel", code: "fn main( {", access: "w" }),
    buffers: [memoryOf(viewOf(x).source)],
    words: [0],
    workgroups: 1,
    operations: 1,
    shapes: [[1]],
  });
}

/** A kernel that writes its parameter to its output. */
export const copyOne = `
  @group(0) @binding(0) var<storage, read_write> output: array<f32>;
  struct Params { value: u32 }
  @group(1) @binding(0) var<uniform> params: Params;
  @compute @workgroup_size(1) fn main() { output[0] = f32(params.value); }
`;
