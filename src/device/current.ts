/** The device on which new tensors are made. */
import type { Device } from "./device.ts";
import { createCpuDevice } from "./cpu/device.ts";

let cpu: Device | undefined;
let device: Device | undefined;

/** This machine's processor: one device, however often it is asked for. */
export function cpuDevice(): Device {
  return cpu ??= createCpuDevice();
}

/** The device chosen by `init`, or, before any choice, the CPU. */
export function currentDevice(): Device {
  return device ??= cpuDevice();
}

/** Makes new tensors live on another device; those that exist stay where they are. */
export function setCurrentDevice(chosen: Device): void {
  device = chosen;
}
