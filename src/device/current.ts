/** The device on which new tensors are made. */
import type { Device } from "./device.ts";
import { createCpuDevice } from "./cpu/device.ts";

let device: Device | undefined;

/** The device chosen by `init`, or, before any choice, the CPU. */
export function currentDevice(): Device {
  return device ??= createCpuDevice();
}

/** Makes new tensors live on another device; those that exist stay where they are. */
export function setCurrentDevice(chosen: Device): void {
  device = chosen;
}
