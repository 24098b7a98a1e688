/** The device on which new tensors are made. */
import type { KernelDevice } from "./device.ts";
import { type CpuOptions, createCpuDevice, processorThreads } from "./cpu/device.ts";

/** CPU devices by number of threads and name of the native library. */
const cpus = new Map<string, KernelDevice>();
let device: KernelDevice | undefined;

/**
 * The CPU device. Each combination of options has one device.
 *
 * @param threads Default: the number of processor threads.
 */
export function cpuDevice(
  threads: number = processorThreads(),
  blas?: { readonly name: string; readonly open: CpuOptions["blas"] },
): KernelDevice {
  const choice = `${threads} ${blas?.name ?? ""}`;
  let cpu = cpus.get(choice);
  if (!cpu) cpus.set(choice, cpu = createCpuDevice({ threads, blas: blas?.open }));
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
