/** The device on which new tensors are made. */
import type { KernelDevice } from "./device.ts";
import { type CpuOptions, createCpuDevice, processorThreads } from "./cpu/device.ts";

/** CPU devices by their options. */
const cpus = new Map<string, KernelDevice>();
let device: KernelDevice | undefined;

/** The CPU device. Each combination of options has one device. @param blasName Name of the native library. */
export function cpuDevice(options: CpuOptions = {}, blasName?: string): KernelDevice {
  const { threads = processorThreads(), memory, worker } = options;
  const choice = JSON.stringify([threads, memory, worker, blasName]);
  let cpu = cpus.get(choice);
  if (!cpu) cpus.set(choice, cpu = createCpuDevice(options));
  return cpu;
}

/** The device chosen by `init`. Default: the CPU. */
export function currentDevice(): KernelDevice {
  return device ??= cpuDevice();
}

/** Sets the device of new tensors. Existing tensors stay on their device. */
export function setCurrentDevice(chosen: KernelDevice): void {
  device = chosen;
}
