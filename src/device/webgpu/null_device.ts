import type { Machine } from "../machines.ts";
import { WebGpuDevice } from "./device.ts";
import { Gpu } from "./gpu.ts";
import { type CommandCounts, nullAdapter } from "./null_adapter.ts";

/** A device with the limits of a machine, which computes nothing, and the counts of the commands that it accepted. */
export function createNullDevice(
  { name, limits, software }: Machine,
): { device: WebGpuDevice; counts: CommandCounts } {
  const adapter = nullAdapter(name, limits, software);
  return { device: new WebGpuDevice(new Gpu(adapter, adapter.device)), counts: adapter.counts };
}
