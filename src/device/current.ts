/** The device on which new tensors are made. */
import type { Device } from "./device.ts";
import { type CpuOptions, createCpuDevice, processorThreads } from "./cpu/device.ts";

/** CPU devices by number of threads and name of the native library. */
const cpus = new Map<string, Device>();
let device: Device | undefined;

/**
 * The CPU device. Each combination of options has one device.
 *
 * @param threads Default: the number of processor threads.
 */
export function cpuDevice(
  threads: number = processorThreads(),
  blas?: { readonly name: string; readonly open: CpuOptions["blas"] },
): Device {
  const choice = `${threads} ${blas?.name ?? ""}`;
  let cpu = cpus.get(choice);
  if (!cpu) cpus.set(choice, cpu = createCpuDevice({ threads, blas: blas?.open }));
  return cpu;
}

/** The device chosen by `init`. Default: the CPU. */
export function currentDevice(): Device {
  return device ??= cpuDevice();
}

/** Sets the device of new tensors. Existing tensors stay on their device. */
export function setCurrentDevice(chosen: Device): void {
  device = chosen;
}
