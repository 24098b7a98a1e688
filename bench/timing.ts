/** Timing of training steps, and the device to time them on. */
import type { Command } from "commander";
import { wholeFrom } from "../src/commands/command.ts";
import { init, type InitOptions, tidy } from "../mod.ts";
import { createCpuDevice } from "../src/device/cpu/device.ts";
import { asAnyDevice } from "../src/device/device_class.ts";
import { setCurrentDevice } from "../src/device/current.ts";
import type { Device } from "../src/device/device.ts";
import { meanSeconds, secondsOfRun } from "../src/compile/inspect/seconds_of.ts";

/** Device to measure on. */
export interface DeviceOptions extends InitOptions {
  /** Number of threads of the CPU device. */
  threads: number;
}

/** Adds the options for the device and the number of repeats. */
export function withTimingOptions(program: Command): Command {
  return program
    .option("--device <name>", "auto, cpu or webgpu", "cpu")
    .option("--implementation <name>", "WebGPU implementation: native or dawn", "native")
    .option("--threads <number>", "threads of the CPU device", wholeFrom(1), navigator.hardwareConcurrency)
    .option(
      "--blas <library>",
      "native library for large products on the CPU: a path, or auto; requires --allow-ffi",
    )
    .option("--repeats <number>", "number of repeats; the fastest is reported", wholeFrom(1), 3);
}

/** Opens a device and makes it current. */
export async function openDevice({ threads, ...options }: DeviceOptions): Promise<Device> {
  if (options.device !== "cpu") return await init(options);
  if (options.blas !== undefined) return await init({ device: "cpu", threads, blas: options.blas });
  const device = createCpuDevice({ threads });
  setCurrentDevice(device);
  return device;
}

/** A workload with prepared data. */
export interface PreparedWorkload {
  /** The function to time. */
  readonly step: () => unknown;
  /** The forward pass alone, recorded for a gradient, if available. */
  readonly forward?: () => unknown;
}

/** Seconds and bytes of a step. */
interface StepTimes {
  /** Seconds of the fastest forward pass. */
  forward?: number;
  /** Seconds of the fastest step. */
  step: number;
  /** Seconds of the first step, including tracing and compilation. */
  first: number;
  /** Peak memory of a step in bytes, besides data and parameters. Only available on the CPU device. */
  memory?: number;
}

/**
 * Seconds of some work, including the time of the device. Tensors made by the work are released. A GPU runs the
 * work at least twice, see `meanSeconds`.
 */
export function secondsOf(device: Device, work: () => unknown): Promise<number> {
  return meanSeconds(device, () => tidy(() => void work()));
}

/** Seconds of the first run of some work, which traces and compiles. */
export function secondsOfFirst(device: Device, work: () => unknown): Promise<number> {
  return secondsOfRun(device, () => tidy(() => void work()));
}

/**
 * Warm-up before the repeats, until the JavaScript engine has compiled hot functions: at most this number of
 * runs, or this time.
 */
const warmUp = { runs: 10, seconds: 0.5 };

/** The fastest of some repeats in seconds, and the first run including tracing and compilation. */
export async function timeBest(
  device: Device,
  work: () => unknown,
  repeats: number,
): Promise<{ seconds: number; first: number }> {
  const run = () => secondsOf(device, work);
  const first = await secondsOfFirst(device, work);
  for (let i = 0, spent = 0; i < warmUp.runs && spent < warmUp.seconds; i++) spent += await run();
  const times: number[] = [];
  for (let i = 0; i < repeats; i++) times.push(await run());
  return { seconds: Math.min(...times), first };
}

/** Times a workload's step and its forward pass. */
export async function timeStep(
  device: Device,
  { step, forward }: PreparedWorkload,
  repeats: number,
): Promise<StepTimes> {
  const peak = watchMemory(device);
  const { seconds, first } = await timeBest(device, step, repeats);
  const memory = peak();
  return {
    forward: forward && (await timeBest(device, forward, repeats)).seconds,
    step: seconds,
    first,
    memory,
  };
}

/**
 * Starts watching the peak of allocated memory above the memory in use now. Memory that `jit` keeps for captured commands counts
 * as allocated.
 */
export function watchMemory(device: Device): () => number | undefined {
  const watched = asAnyDevice(device);
  if (watched.kind !== "cpu") return () => undefined;
  const { memory } = watched;
  const { allocate } = memory;
  const before = memory.usedBytes;
  let peak = before;
  memory.allocate = (byteLength) => {
    const block = allocate.call(memory, byteLength);
    peak = Math.max(peak, memory.usedBytes);
    return block;
  };
  return () => {
    memory.allocate = allocate;
    return Math.max(peak, memory.usedBytes) - before;
  };
}
