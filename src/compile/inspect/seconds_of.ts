/** Time of runs on a device. */
import type { Device } from "../../device/device.ts";
import { asAnyDevice } from "../../device/device_class.ts";
import type { WebGpuDevice } from "../../device/webgpu/device.ts";
import { readTimestamps } from "./timestamps.ts";

/** Kernels that do nothing, by GPU. Their passes write timestamps. */
const marks = new WeakMap<GPUDevice, GPUComputePipeline>();

/** Seconds of a wait for an idle device, by device. */
const emptyWaits = new WeakMap<Device, number>();

/** Time of all runs together, as a multiple of an empty wait, whose time varies by a fifth. */
const waitsPerMeasurement = 20;

/**
 * Seconds of a run, including the device's time, but without the time that a wait for a GPU takes after the GPU is done: 10 ms in
 * Deno's WebGPU. The host's clock measures, and the time of an empty wait is subtracted.
 */
export async function secondsOfRun(device: Device, run: () => unknown): Promise<number> {
  await device.synchronize();
  return await secondsByWait(device, run, 1);
}

/**
 * Seconds of each of several runs in sequence. On the CPU, of one run. A GPU with timestamps (feature `timestamp-query`) runs
 * twice. Other GPUs run as often as it takes until the time of a wait hardly counts.
 */
export async function meanSeconds(device: Device, run: () => unknown): Promise<number> {
  const gpu = asAnyDevice(device);
  await device.synchronize();
  if (gpu.kind === "webgpu" && gpu.gpuDevice.features.has("timestamp-query")) {
    return await secondsByTimestamps(gpu, run);
  }
  for (let runs = 1;; runs *= 2) {
    const seconds = await secondsByWait(device, run, runs);
    if (runs * seconds >= waitsPerMeasurement * await emptyWait(device)) return seconds;
  }
}

/**
 * Seconds of the second of two runs, between the timestamps at their ends. A GPU writes a timestamp when the commands before it
 * have ended. A timestamp before a single run would be late, because an idle GPU starts late.
 */
async function secondsByTimestamps(device: WebGpuDevice, run: () => unknown): Promise<number> {
  const { gpuDevice } = device;
  const timestamps = gpuDevice.createQuerySet({ type: "timestamp", count: 2 });
  for (const index of [0, 1]) {
    await run();
    device.submit();
    mark(gpuDevice, timestamps, index);
  }
  // Also throws the errors of the runs.
  const [[first, second]] = await Promise.all([
    readTimestamps(gpuDevice, timestamps),
    device.synchronize(),
  ]);
  timestamps.destroy();
  return Number(second - first) / 1e9;
}

/** Submits a pass that writes a timestamp at its end. */
function mark(device: GPUDevice, querySet: GPUQuerySet, index: number): void {
  let pipeline = marks.get(device);
  if (!pipeline) {
    const module = device.createShaderModule({ code: "@compute @workgroup_size(1) fn main() {}" });
    pipeline = device.createComputePipeline({ layout: "auto", compute: { module } });
    marks.set(device, pipeline);
  }
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass({ timestampWrites: { querySet, endOfPassWriteIndex: index } });
  pass.setPipeline(pipeline);
  pass.dispatchWorkgroups(1);
  pass.end();
  device.queue.submit([encoder.finish()]);
}

/** Mean seconds of runs on an idle device, without the time of an empty wait. */
async function secondsByWait(device: Device, run: () => unknown, runs: number): Promise<number> {
  const empty = await emptyWait(device);
  const start = performance.now();
  for (let i = 0; i < runs; i++) await run();
  await device.synchronize();
  const seconds = (performance.now() - start) / 1000;
  return Math.max(0, seconds - empty) / runs;
}

/** Seconds of a wait for an idle device: the median of five. Zero on the CPU, which is never waited for. */
async function emptyWait(device: Device): Promise<number> {
  if (device.kind === "cpu") return 0;
  let seconds = emptyWaits.get(device);
  if (seconds === undefined) {
    const times: number[] = [];
    for (let i = 0; i < 5; i++) {
      const start = performance.now();
      await device.synchronize();
      times.push((performance.now() - start) / 1000);
    }
    seconds = times.sort((a, b) => a - b)[2];
    emptyWaits.set(device, seconds);
  }
  return seconds;
}
