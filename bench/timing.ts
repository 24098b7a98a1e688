/** Timing of training steps, and the device to time them on. */
import type { Command } from "commander";
import { number } from "../tasks/command.ts";
import { init, type InitOptions, scope, valueAndGrad, vjp } from "../mod.ts";
import { CpuDevice, createCpuDevice } from "../src/device/cpu/device.ts";
import { setCurrentDevice } from "../src/device/current.ts";
import type { Device } from "../src/device/device.ts";
import type { Problem } from "./models.ts";

/** What to measure on. */
export interface DeviceOptions extends InitOptions {
  /** Of the CPU device. */
  threads: number;
}

/** Adds the options that say what to measure on, and how often. */
export function withTimingOptions(program: Command): Command {
  const count = number({ from: 1, whole: true });
  return program
    .option("--device <name>", "auto, cpu or webgpu", "cpu")
    .option("--implementation <name>", "of WebGPU: native or dawn", "native")
    .option("--threads <number>", "of the CPU", count, navigator.hardwareConcurrency)
    .option("--repeats <number>", "of which the fastest counts", count, 3);
}

/** Opens a device and makes it current. */
export async function openDevice({ threads, ...options }: DeviceOptions): Promise<Device> {
  if (options.device !== "cpu") return await init(options);
  const device = createCpuDevice({ threads });
  setCurrentDevice(device);
  return device;
}

/** What a training step takes: seconds and bytes. */
export interface StepTimes {
  forward: number;
  backward: number;
  step: number;
  /** The first step of all: with tracing and compiling. */
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

/**
 * Times training steps. The forward pass is one that a gradient could follow; the backward pass is what the step takes
 * beyond it.
 */
export async function timeStep(
  device: Device,
  { loss, parameters }: Problem,
  repeats: number,
): Promise<StepTimes> {
  const peak = watchMemory(device);
  const step = await timeBest(device, () => valueAndGrad(loss)(parameters), repeats);
  const memory = peak();
  const forward = await timeBest(device, () => vjp(loss, parameters), repeats);
  return {
    forward: forward.seconds,
    backward: step.seconds - forward.seconds,
    step: step.seconds,
    first: step.first,
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
