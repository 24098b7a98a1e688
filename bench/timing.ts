/** Timing of training steps, and the device to time them on. */
import {
  init,
  type InitOptions,
  leaves,
  type ParameterTree,
  scope,
  type Tensor,
  valueAndGrad,
  vjp,
} from "../mod.ts";
import { CpuDevice, createCpuDevice } from "../src/device/cpu/device.ts";
import { setCurrentDevice } from "../src/device/current.ts";
import type { Device } from "../src/device/device.ts";

/** What to measure on. */
export interface DeviceOptions extends InitOptions {
  /** Of the CPU device; ignored on others. */
  threads: number;
}

/** Opens a device and makes it current. */
export async function openDevice({ threads, ...options }: DeviceOptions): Promise<Device> {
  if (options.device !== "cpu") return await init(options);
  const device = createCpuDevice({ threads });
  setCurrentDevice(device);
  return device;
}

/** Seconds of a training step; `memory` is the most that was allocated beside the data and parameters, in bytes. */
export interface StepTimes {
  forward: number;
  backward: number;
  step: number;
  /** The first step of all: with tracing and compiling. */
  first: number;
  memory?: number;
}

/** Seconds that some work takes, the device's share included. */
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
 * Times steps of a loss: the fastest of `repeats`, after a first one that is reported by itself. The forward pass is one
 * that a gradient could follow; the backward pass is what a step takes beyond it.
 */
export async function timeStep(
  device: Device,
  loss: () => Tensor,
  parameters: ParameterTree,
  repeats: number,
): Promise<StepTimes> {
  const forward: number[] = [];
  const step: number[] = [];
  const whole = () => valueAndGrad(loss)(parameters);
  const peak = watchMemory(device);
  const first = await secondsOf(device, whole);
  const memory = peak();
  for (let i = 0; i < repeats; i++) {
    forward.push(await secondsOf(device, () => vjp(loss, parameters).value));
    step.push(await secondsOf(device, whole));
  }
  const [fastestForward, fastest] = [Math.min(...forward), Math.min(...step)];
  return { forward: fastestForward, backward: fastest - fastestForward, step: fastest, first, memory };
}

/** Counts from now on how much memory is taken at most, on top of what is in use; only the CPU device can tell. */
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

/** The number of parameters. */
export function countParameters(parameters: ParameterTree): number {
  return leaves(parameters).reduce((sum, { size }) => sum + size, 0);
}
