/** Which executor runs a program, and how. */
import { CpuDevice } from "../device/cpu/device.ts";
import type { WebGpuDevice } from "../device/webgpu/device.ts";
import { type Choice, chooseExecutor, type ExecutorName } from "./cost.ts";
import type { Executor, Run, RunResult } from "./executor.ts";
import { identityOf } from "./identity.ts";
import { describeStepped, runStepped } from "./stepped/executor.ts";
import { Uncompilable } from "./uncompilable.ts";
import { runOnCpu } from "./wasm/executor.ts";
import { adapterOf, describeOnWebGpu, runOnWebGpu } from "./wgsl/executor.ts";
import { otherSharings, type Sharing } from "./wgsl/plan.ts";

/** A device that compiled loops run on. */
export type LoopDevice = CpuDevice | WebGpuDevice;

/** A way to run a program. */
export interface Way {
  readonly executor: ExecutorName;
  /** Of a fused loop on a GPU; chosen from the shapes by default. */
  readonly sharing?: Sharing;
}

/** A quarter of what WebAssembly can address. */
const shareOfMemory = 2 ** 30;

/** What {@linkcode keepWay} was told. */
const kept = new WeakMap<LoopDevice, Map<string, Way>>();

/** Names a program and the size of its batch. */
export function nameOf({ program, batch }: Run): string {
  return `${identityOf(program)} ${batch}`;
}

/** Has a program run in a way from now on, on this device and for this batch. */
export function keepWay(device: LoopDevice, run: Run, way: Way): void {
  const ways = kept.get(device) ?? new Map<string, Way>();
  kept.set(device, ways.set(nameOf(run), way));
}

/** The ways in which a program could run. */
export function waysOf(device: LoopDevice, { program, batch }: Run): Way[] {
  const sharings = device instanceof CpuDevice ? [] : otherSharings(program, batch, adapterOf(device));
  const fused: Way = { executor: "fused" };
  return [fused, { executor: "stepped" }, ...sharings.map((sharing) => ({ ...fused, sharing }))];
}

/** @throws {Uncompilable} If a GPU's fused loop cannot be made. */
export function runAs({ executor, sharing }: Way, device: LoopDevice, run: Run): RunResult {
  if (executor === "stepped") return runStepped(device, run);
  return device instanceof CpuDevice ? runOnCpu(device, run) : runOnWebGpu(device, run, undefined, sharing);
}

/** A device's executors as one, which chooses for each program unless it is told. */
export function executorFor(device: LoopDevice, wanted?: ExecutorName): Executor {
  const choose = (run: Run): Choice & Way => {
    if (wanted) return { executor: wanted, reason: "as asked for" };
    const known = kept.get(device)?.get(nameOf(run));
    return known ? { ...known, reason: "as tuned" } : chooseExecutor(run.program, run.batch, device.info);
  };
  const execute = (run: Run) => {
    const choice = choose(run);
    try {
      return runAs(choice, device, run);
    } catch (error) {
      // One kernel can be too much where one for each operation is not.
      if (!(error instanceof Uncompilable) || choice.reason === "as asked for") throw error;
      return runStepped(device, run);
    }
  };
  const describe = (run: Run) => {
    const { executor, sharing, reason } = choose(run);
    const details = executor === "stepped"
      ? describeStepped(run)
      : device instanceof CpuDevice
      ? "a lane of a vector register for each sample"
      : describeOnWebGpu(device, run, sharing);
    return `executor: ${executor}, ${reason}\n${details}`;
  };
  const isCpu = device instanceof CpuDevice;
  const memory = isCpu ? shareOfMemory : device.limits.maxStorageBufferBindingSize;
  return Object.assign(execute, { fuses: isCpu, memory, describe });
}
