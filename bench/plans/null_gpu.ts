import { setFusedLoops } from "../../src/compile/executors/choose_executor.ts";
import { wgslLoops } from "../../src/compile/executors/wgsl/wgsl_loops.ts";
import { WebGpuDevice } from "../../src/device/webgpu/device.ts";
import { Gpu } from "../../src/device/webgpu/gpu.ts";
import type { Machine } from "./machines.ts";
import { type CommandCounts, nullAdapter } from "./null_adapter.ts";

/** Opens a GPU with the limits of a machine, which computes nothing and counts the commands that it accepts. */
export function openNullGpu(
  { name, limits, software }: Machine,
): { device: WebGpuDevice; counts: CommandCounts } {
  const adapter = nullAdapter(name, limits, software);
  const device = new WebGpuDevice(new Gpu(adapter, adapter.device));
  setFusedLoops(device, wgslLoops(device));
  return { device, counts: adapter.counts };
}
