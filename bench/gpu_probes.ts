/**
 * What a first run on a GPU shows before whole workloads: the wait, launches, products, loops alone and compile times. Figures are
 * differences between many and few runs with one wait each, so that the wait cancels out.
 */
import { key, normal, tidy, zeros } from "../mod.ts";
import { type LoopDevice, nameOf, runAs } from "../src/compile/executors/choose_executor.ts";
import type { Run } from "../src/compile/executors/run.ts";
import { secondsOfLoop } from "../src/compile/inspect/estimate.ts";
import { planFor } from "../src/compile/inspect/planned_gpu.ts";
import { observeLoops } from "../src/compile/loop/graph_loop.ts";
import { keepBuffer } from "../src/device/buffer_scope.ts";
import { machineOf } from "../src/device/machines.ts";
import { copy } from "../src/device/view.ts";
import type { WebGpuDevice } from "../src/device/webgpu/device.ts";
import { prepare } from "./workloads.ts";

/** Sizes of the probes. */
export interface ProbeScale {
  readonly launches: number;
  /** Rows, terms and columns. */
  readonly products: readonly (readonly [name: string, rows: number, terms: number, columns: number])[];
  readonly loops: readonly string[];
  /** Least seconds of a measurement. Work is repeated until it takes this time, far longer than a wait varies. */
  readonly seconds: number;
  /** Number of measurements, of which the fastest counts. */
  readonly repeats: number;
}

/** A figure of a probe. */
export interface Probe {
  readonly probe: string;
  readonly seconds: number;
  /** Scalar operations per second, of a product. */
  readonly rate?: number;
  /** Estimate in seconds from the constants of `src/device/machines.ts`, of a loop. */
  readonly estimate?: number;
}

/** Name of the probe of kernels that each read the result of the one before. */
export const dependentLaunch = "launch of a kernel that depends on the last one";

/** Maximum runs of a measurement. */
const maxRuns = 4096;

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

/** Seconds of one run of some work. `host`: the part until the last command is queued. */
async function timeOne(
  device: WebGpuDevice,
  work: () => void,
  { seconds: least, repeats }: Pick<ProbeScale, "seconds" | "repeats">,
): Promise<{ seconds: number; host: number }> {
  const times = async (runs: number) => {
    await device.synchronize();
    const start = performance.now();
    for (let run = 0; run < runs; run++) tidy(work);
    device.submit();
    const host = (performance.now() - start) / 1000;
    await device.synchronize();
    return { seconds: (performance.now() - start) / 1000, host };
  };
  // The first run compiles.
  await times(1);
  let runs = 4;
  while (runs < maxRuns && (await times(runs)).seconds < least) runs *= 2;
  const fastest = async (runs: number) => {
    const all = [];
    for (let i = 0; i < repeats; i++) all.push(await times(runs));
    return all.reduce((best, one) => one.seconds < best.seconds ? one : best);
  };
  const [few, many] = [await fastest(runs / 4), await fastest(runs)];
  const between = runs - runs / 4;
  return { seconds: (many.seconds - few.seconds) / between, host: (many.host - few.host) / between };
}

/** Seconds of a launch of a kernel on one number, where each reads the result of the one before, or none does. */
async function launches(device: WebGpuDevice, scale: ProbeScale): Promise<Probe[]> {
  const count = scale.launches;
  const one = zeros([1]);
  const dependent = await timeOne(device, () => {
    let x = one;
    for (let i = 0; i < count; i++) x = x.add(1);
  }, scale);
  const independent = await timeOne(device, () => {
    for (let i = 0; i < count; i++) one.add(i);
  }, scale);
  return [
    { probe: dependentLaunch, seconds: dependent.seconds / count },
    { probe: "launch of an independent kernel", seconds: independent.seconds / count },
    { probe: "the host's part of a launch", seconds: dependent.host / count },
  ];
}

async function product(
  device: WebGpuDevice,
  name: string,
  [rows, terms, columns]: readonly number[],
  scale: ProbeScale,
): Promise<Probe> {
  const isGradient = name.startsWith("gradient");
  const [a, b] = [key(0), key(1)].map((seed, i) =>
    normal(seed, i === 1 ? [terms, columns] : isGradient ? [terms, rows] : [rows, terms])
  );
  const { seconds } = await timeOne(device, () => void (isGradient ? a.mT : a).matmul(b), scale);
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
async function loopsOf(device: WebGpuDevice, workload: string, scale: ProbeScale): Promise<Probe[]> {
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
      const { seconds } = await timeOne(
        device,
        () => void runAs({ executor }, device as LoopDevice, run),
        scale,
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
