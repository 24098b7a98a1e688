/** The device on which new tensors are made. */
import type { Device } from "./device.ts";
import { type CpuOptions, createCpuDevice, processorThreads } from "./cpu/device.ts";

/** By their number of threads and the name of their native library. */
const cpus = new Map<string, Device>();
let device: Device | undefined;

/** This machine's processor, on as many threads as it has by default: for each choice one device. */
export function cpuDevice(
  threads: number = processorThreads(),
  blas?: { readonly name: string; readonly open: CpuOptions["blas"] },
): Device {
  const choice = `${threads} ${blas?.name ?? ""}`;
  let cpu = cpus.get(choice);
  if (!cpu) cpus.set(choice, cpu = createCpuDevice({ threads, blas: blas?.open }));
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
