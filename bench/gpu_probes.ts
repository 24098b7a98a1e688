/**
 * The first measurements on a GPU, before whole workloads: the wait, NaN, launches, products, loops alone and compile times.
 */
import { key, normal, tidy, zeros } from "../mod.ts";
import { nameOf, runAs } from "../src/compile/executors/choose_executor.ts";
import type { Run } from "../src/compile/executors/run.ts";
import { secondsOfLoop } from "./plans/estimate.ts";
import { planFor } from "./plans/planned_gpu.ts";
import { meanSeconds } from "../src/compile/inspect/seconds_of.ts";
import { observeLoops } from "../src/compile/loop/graph_loop.ts";
import { keepBuffer } from "../src/device/memory/buffer_scope.ts";
import { machineOf } from "./plans/machines.ts";
import { copy } from "../src/device/view.ts";
import type { AnyDevice } from "../src/device/device_class.ts";
import type { WebGpuDevice } from "../src/device/webgpu/device.ts";
import { prepare } from "./workloads.ts";

/** Sizes of the probes. */
export interface ProbeScale {
  readonly launches: number;
  /** Rows, terms and columns. */
  readonly products: readonly (readonly [name: string, rows: number, terms: number, columns: number])[];
  readonly loops: readonly string[];
  /** Number of measurements. The fastest counts. */
  readonly repeats: number;
}

/** A figure of a probe. */
export interface Probe {
  readonly probe: string;
  readonly seconds: number;
  /** Scalar operations per second, of a product. */
  readonly rate?: number;
  /** Estimate in seconds from the constants of `bench/plans/machines.ts`, of a loop. */
  readonly estimate?: number;
}

/** Name of the probe of kernels that each read the result of the one before. */
export const dependentLaunch = "launch of a kernel that depends on the last one";

/** Runs all probes in order. */
export async function runProbes(
  device: WebGpuDevice,
  scale: ProbeScale,
  write: (probe: Probe) => void,
): Promise<Probe[]> {
  const probes: Probe[] = [];
  const add = (found: Probe | readonly Probe[]) => {
    for (const probe of [found].flat()) {
      probes.push(probe);
      write(probe);
    }
  };
  add(await emptyWait(device));
  add(await preservesNaN(device));
  add(await launches(device, scale));
  for (const [name, ...sizes] of scale.products) add(await product(device, name, sizes, scale));
  for (const workload of scale.loops) {
    add(await compilation(device, workload));
    add(await loopsOf(device, workload, scale));
  }
  return probes;
}

/** Seconds of a wait for a queue without commands. */
async function emptyWait(device: WebGpuDevice): Promise<Probe> {
  const times: number[] = [];
  for (let i = 0; i < 20; i++) {
    const start = performance.now();
    await device.synchronize();
    times.push((performance.now() - start) / 1000);
  }
  return { probe: "wait for an empty queue, median of 20", seconds: times.toSorted((a, b) => a - b)[10] };
}

/** Whether kernels preserve NaN, a missing observation, and the seconds of the check. */
async function preservesNaN(device: WebGpuDevice): Promise<Probe> {
  const start = performance.now();
  const lost = await device.probeNaN();
  const seconds = (performance.now() - start) / 1000;
  return {
    probe: lost.length === 0 ? "kernels preserve NaN" : `kernels lose NaN: ${lost.join(", ")}`,
    seconds,
  };
}

/** Seconds of the fastest repeat of some work, after a run that compiles. */
async function fastest(device: WebGpuDevice, work: () => void, repeats: number): Promise<number> {
  const run = () => tidy(work);
  run();
  const times: number[] = [];
  for (let i = 0; i < repeats; i++) times.push(await meanSeconds(device, run));
  return Math.min(...times);
}

/** Seconds until the last command of some work is submitted, in the fastest repeat. */
async function secondsOfHost(device: WebGpuDevice, work: () => void, repeats: number): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < repeats; i++) {
    await device.synchronize();
    const start = performance.now();
    tidy(work);
    device.submit();
    times.push((performance.now() - start) / 1000);
  }
  return Math.min(...times);
}

/** Seconds of a launch of a kernel on one number, where each reads the result of the one before, or none does. */
async function launches(device: WebGpuDevice, { launches: count, repeats }: ProbeScale): Promise<Probe[]> {
  const one = zeros([1]);
  const dependent = () => {
    let x = one;
    for (let i = 0; i < count; i++) x = x.add(1);
  };
  const independent = () => {
    for (let i = 0; i < count; i++) one.add(i);
  };
  return [
    { probe: dependentLaunch, seconds: await fastest(device, dependent, repeats) / count },
    {
      probe: "launch of an independent kernel",
      seconds: await fastest(device, independent, repeats) / count,
    },
    {
      probe: "the host's part of a launch",
      seconds: await secondsOfHost(device, dependent, repeats) / count,
    },
  ];
}

async function product(
  device: WebGpuDevice,
  name: string,
  [rows, terms, columns]: readonly number[],
  { repeats }: ProbeScale,
): Promise<Probe> {
  const isGradient = name.startsWith("gradient");
  const [a, b] = [key(0), key(1)].map((seed, i) =>
    normal(seed, i === 1 ? [terms, columns] : isGradient ? [terms, rows] : [rows, terms])
  );
  const seconds = await fastest(device, () => void (isGradient ? a.mT : a).matmul(b), repeats);
  const rate = 2 * rows * terms * columns / seconds;
  return { probe: `product ${name}: ${rows} x ${terms} by ${terms} x ${columns}`, seconds, rate };
}

/** Seconds that the first step takes longer than the second one. */
async function compilation(device: WebGpuDevice, workload: string): Promise<Probe> {
  const { step } = prepare(workload);
  await device.synchronize();
  const time = async () => {
    const start = performance.now();
    tidy(() => {
      step();
    });
    await device.synchronize();
    return (performance.now() - start) / 1000;
  };
  const before = device.statistics.kernels;
  const first = await time();
  const kernels = device.statistics.kernels - before;
  return {
    probe: `tracing and compilation of ${kernels} kernels of ${workload}`,
    seconds: first - await time(),
  };
}

/** Times each loop of a workload alone, beside its estimate. */
async function loopsOf(device: WebGpuDevice, workload: string, { repeats }: ProbeScale): Promise<Probe[]> {
  const machine = machineOf(device);
  const runs: Run[] = [];
  const { step } = prepare(workload);
  const plan = planFor(machine, device, () =>
    observeLoops((_loop, run) => {
      const inputs = run.inputs.map((view) => copy(device, view));
      for (const { source } of inputs) keepBuffer(source);
      runs.push({ ...run, inputs });
    }, () =>
      tidy(() => {
        step();
      })));
  const probes: Probe[] = [];
  const seen = new Set<string>();
  for (const [i, run] of runs.entries()) {
    const name = nameOf(run);
    if (!seen.has(name)) {
      const executor = plan.loops[i].layout ? "fused" : "stepped";
      const seconds = await fastest(
        device,
        () => void runAs({ executor }, device as AnyDevice, run),
        repeats,
      );
      const direction = run.program.backward ? "backward" : "forward";
      probes.push({
        probe: `${executor} ${direction} loop of ${workload}, ${run.steps} steps of ${run.batch} samples`,
        seconds,
        estimate: secondsOfLoop(plan.loops[i], machine.rates),
      });
    }
    seen.add(name);
    for (const { source } of run.inputs) source.free();
  }
  return probes;
}
