/** Timing of training steps, and the device to time them on. */
import type { Command } from "commander";
import { wholeFrom } from "../src/commands/command.ts";
import { init, type InitOptions, scope } from "../mod.ts";
import { CpuDevice, createCpuDevice } from "../src/device/cpu/device.ts";
import { setCurrentDevice } from "../src/device/current.ts";
import type { Device } from "../src/device/device.ts";

/** Device to measure on. */
export interface DeviceOptions extends InitOptions {
  /** Of the CPU device. */
  threads: number;
}

/** Adds the options that say what to measure on, and how often. */
export function withTimingOptions(program: Command): Command {
  return program
    .option("--device <name>", "auto, cpu or webgpu", "cpu")
    .option("--implementation <name>", "of WebGPU: native or dawn", "native")
    .option("--threads <number>", "of the CPU", wholeFrom(1), navigator.hardwareConcurrency)
    .option(
      "--blas <library>",
      "of the CPU: the path of a native library for large products, or auto; takes --allow-ffi",
    )
    .option("--repeats <number>", "of which the fastest counts", wholeFrom(1), 3);
}

/** Opens a device and makes it current. */
export async function openDevice({ threads, ...options }: DeviceOptions): Promise<Device> {
  if (options.device !== "cpu") return await init(options);
  if (options.blas !== undefined) return await init({ device: "cpu", threads, blas: options.blas });
  const device = createCpuDevice({ threads });
  setCurrentDevice(device);
  return device;
}

/** A workload whose data are made. */
export interface PreparedWorkload {
  /** The work that is timed. */
  readonly step: () => unknown;
  /** Its forward pass alone, as a gradient could follow it, where there is one. */
  readonly forward?: () => unknown;
}

/** Seconds and bytes of a step. */
export interface StepTimes {
  /** The fastest forward pass. */
  forward?: number;
  /** The fastest step. */
  step: number;
  /** The very first step: with tracing and compiling. */
  first: number;
  /** The most that a step held at a time, besides data and parameters. The CPU device alone can tell. */
  memory?: number;
}

/** Seconds that some work takes, the device's share included. What it makes is freed. */
export async function secondsOf(device: Device, work: () => unknown): Promise<number> {
  await device.synchronize();
  const start = performance.now();
  scope(() => {
    work();
  });
  await device.synchronize();
  return (performance.now() - start) / 1000;
}

/** Runs before the repeats, in which the engine compiles what is called often: so many, or for so long. */
const warmUp = { runs: 10, seconds: 0.5 };

/** The fastest of some repeats in seconds, and the very first run: with tracing and compiling. */
export async function timeBest(
  device: Device,
  work: () => unknown,
  repeats: number,
): Promise<{ seconds: number; first: number }> {
  const run = () => secondsOf(device, work);
  const first = await run();
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

/** Watches from now on how much is allocated at most, on top of what is in use. */
export function watchMemory(device: Device): () => number | undefined {
  if (!(device instanceof CpuDevice)) return () => undefined;
  const { memory } = device;
  const { allocate } = memory;
  const before = memory.usedBytes;
  let most = before;
  memory.allocate = (byteLength) => {
    const block = allocate.call(memory, byteLength);
    most = Math.max(most, memory.usedBytes);
    return block;
  };
  return () => {
    memory.allocate = allocate;
    return most - before;
  };
}
