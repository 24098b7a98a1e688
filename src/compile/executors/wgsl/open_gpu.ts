/** GPUs with the loops that run on them. */
import type { Machine } from "../../../device/machines.ts";
import { createWebGpuDevice, type WebGpuDevice, type WebGpuOptions } from "../../../device/webgpu/device.ts";
import type { CommandCounts } from "../../../device/webgpu/null_adapter.ts";
import { createNullDevice } from "../../../device/webgpu/null_device.ts";
import { setFusedLoops } from "../choose_executor.ts";
import { wgslLoops } from "./wgsl_loops.ts";

/** Opens a GPU. See {@linkcode createWebGpuDevice}. */
export async function openGpu(options: WebGpuOptions = {}): Promise<WebGpuDevice> {
  const device = await createWebGpuDevice(options);
  setFusedLoops(device, wgslLoops(device));
  return device;
}

/** Opens a GPU that computes nothing. See {@linkcode createNullDevice}. */
export function openNullGpu(machine: Machine): { device: WebGpuDevice; counts: CommandCounts } {
  const opened = createNullDevice(machine);
  setFusedLoops(opened.device, wgslLoops(opened.device));
  return opened;
}
