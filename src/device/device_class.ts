import type { CpuDevice } from "./cpu/device.ts";
import type { Device, KernelDevice } from "./device.ts";
import type { WebGpuDevice } from "./webgpu/device.ts";

/** The classes of devices as one type. The property `kind` distinguishes them. */
export type AnyDevice = CpuDevice | WebGpuDevice;

/** A device with the type of its class, for code that generates separate kernels for each kind of device. */
export function asAnyDevice(device: Device): AnyDevice {
  // No other class has these kinds.
  return ((device as KernelDevice).base ?? device) as AnyDevice;
}
