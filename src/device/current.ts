/** The device on which new tensors are made. */
import type { Device } from "./device.ts";
import { createCpuDevice, processorThreads } from "./cpu/device.ts";

/** By their number of threads. */
const cpus = new Map<number, Device>();
let device: Device | undefined;

/** This machine's processor, on as many threads as it has by default: for each number of threads one device. */
export function cpuDevice(threads: number = processorThreads()): Device {
  let cpu = cpus.get(threads);
  if (!cpu) cpus.set(threads, cpu = createCpuDevice({ threads }));
  return cpu;
}

/** The device chosen by `init`, or, before any choice, the CPU. */
export function currentDevice(): Device {
  return device ??= cpuDevice();
}

/** Makes new tensors live on another device; those that exist stay where they are. */
export function setCurrentDevice(chosen: Device): void {
  device = chosen;
}
