/** Timing of training steps, and the device to time them on. */
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

/**
 * Times training steps: the fastest of `repeats`, after a first one. The forward pass is one that a gradient could follow;
 * the backward pass is what the step takes beyond it.
 */
export async function timeStep(
  device: Device,
  { loss, parameters }: Problem,
  repeats: number,
): Promise<StepTimes> {
  const whole = () => valueAndGrad(loss)(parameters);
  const peak = watchMemory(device);
  const first = await secondsOf(device, whole);
  const memory = peak();
  const [forwards, steps]: number[][] = [[], []];
  for (let i = 0; i < repeats; i++) {
    forwards.push(await secondsOf(device, () => vjp(loss, parameters)));
    steps.push(await secondsOf(device, whole));
  }
  const [forward, step] = [Math.min(...forwards), Math.min(...steps)];
  return { forward, backward: step - forward, step, first, memory };
}

/** Watches from now on how much is allocated at most, on top of what is in use. */
function watchMemory(device: Device): () => number | undefined {
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
