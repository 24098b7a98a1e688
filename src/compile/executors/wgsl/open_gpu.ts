/** GPUs with the loops that run on them. */
import { createWebGpuDevice, type WebGpuDevice, type WebGpuOptions } from "../../../device/webgpu/device.ts";
import { setFusedLoops } from "../choose_executor.ts";
import { wgslLoops } from "./wgsl_loops.ts";

/** Opens a GPU. See {@linkcode createWebGpuDevice}. */
export async function openGpu(options: WebGpuOptions = {}): Promise<WebGpuDevice> {
  const device = await createWebGpuDevice(options);
  setFusedLoops(device, wgslLoops(device));
  return device;
}
