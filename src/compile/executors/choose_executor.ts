/** The choice of a program's executor and of its workgroups. */
import { CpuDevice } from "../../device/cpu/device.ts";
import { WebGpuDevice } from "../../device/webgpu/device.ts";
import { Symbolic } from "../../tensor/symbolic.ts";
import { deviceOf } from "../../tensor/primitive.ts";
import { checkWord } from "../../tensor/checks.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { type Choice, chooseExecutor, type ExecutorName } from "../program/cost.ts";
import type { Program } from "../program/program.ts";
import type { Executor, Run, RunResult } from "./run.ts";
import { identityOf } from "../program/identity.ts";
import { describeStepped, runStepped } from "./stepped/run_stepped.ts";
import { Uncompilable } from "../trace/uncompilable.ts";
import { runOnCpu } from "./wasm/run_on_cpu.ts";
import { adapterOf, describeOnWebGpu, runOnWebGpu } from "./wgsl/run_on_webgpu.ts";
import { otherWorkgroups, type WorkgroupShape } from "./wgsl/gpu_layout.ts";

/** A device that compiled loops run on. */
export type LoopDevice = CpuDevice | WebGpuDevice;

/** Executor of a program, and the shape of its workgroups. */
export interface Schedule {
  readonly executor: ExecutorName;
  /** Workgroup of a fused loop on a GPU; chosen from the shapes by default. */
  readonly workgroup?: WorkgroupShape;
}

/** A quarter of what WebAssembly can address. */
const shareOfMemory = 2 ** 30;

/** Schedules given to {@linkcode keepSchedule}. */
const kept = new WeakMap<LoopDevice, Map<string, Schedule>>();

/** Names a program and the size of its batch. */
export function nameOf({ program, batch }: Run): string {
  return `${identityOf(program)} ${batch}`;
}

/** Has a program run by a schedule from now on, on this device and for this batch. */
export function keepSchedule(device: LoopDevice, run: Run, schedule: Schedule): void {
  const schedules = kept.get(device) ?? new Map<string, Schedule>();
  kept.set(device, schedules.set(nameOf(run), schedule));
}

/** The schedules by which a program could run. */
export function schedulesOf(device: LoopDevice, { program, batch }: Run): Schedule[] {
  const [fused, stepped] = [{ executor: "fused" }, { executor: "stepped" }] as const;
  if (whyStepped(program, device)) return [stepped];
  const workgroups = device instanceof CpuDevice ? [] : otherWorkgroups(program, batch, adapterOf(device));
  return [fused, stepped, ...workgroups.map((workgroup) => ({ ...fused, workgroup }))];
}

/** @throws {Uncompilable} If a GPU's fused loop cannot be made. */
export function runAs({ executor, workgroup }: Schedule, device: LoopDevice, run: Run): RunResult {
  if (executor === "stepped") return runStepped(device, run);
  return device instanceof CpuDevice ? runOnCpu(device, run) : runOnWebGpu(device, run, undefined, workgroup);
}

/** Why a program cannot run as one kernel, if it cannot. */
function whyStepped({ dtype, inputs, slots, outputs }: Program, device: LoopDevice): string | undefined {
  // An operation on an array without elements does nothing, and a fused kernel cannot declare it.
  if ([...inputs, ...slots].some(({ size }) => size === 0)) return "it has arrays without elements";
  const written = [...inputs.filter(({ role }) => role === "state"), ...outputs];
  const other = device instanceof CpuDevice && written.find((array) => array.dtype !== dtype);
  return other ? `a state or an output is ${other.dtype}` : undefined;
}

/** A device's executors as one, which chooses for each program unless it is told. */
function executorFor(device: LoopDevice, wanted?: ExecutorName): Executor {
  const choose = (run: Run): Choice & Schedule => {
    const reason = whyStepped(run.program, device);
    if (reason) return { executor: "stepped", reason };
    if (wanted) return { executor: wanted, reason: "as asked for" };
    const known = kept.get(device)?.get(nameOf(run));
    return known ? { ...known, reason: "as tuned" } : chooseExecutor(run.program, run.batch, device.info);
  };
  const decide = <T>(run: Run, act: (choice: Choice & Schedule) => T): T => {
    const choice = choose(run);
    try {
      return act(choice);
    } catch (error) {
      // One kernel can be too much where one for each operation is not.
      if (!(error instanceof Uncompilable) || choice.reason === "as asked for") throw error;
      return act({ executor: "stepped", reason: error.message });
    }
  };
  const execute = (run: Run) => decide(run, (choice) => runAs(choice, device, run));
  const describe = (run: Run) =>
    decide(run, ({ executor, workgroup, reason }) => {
      const details = executor === "stepped"
        ? describeStepped(run)
        : device instanceof CpuDevice
        ? "a lane of a vector register for each sample"
        : describeOnWebGpu(device, run, workgroup);
      return `executor: ${executor}, ${reason}\n${details}`;
    });
  const isCpu = device instanceof CpuDevice;
  const memory = isCpu ? shareOfMemory : device.limits.maxStorageBufferBindingSize;
  return Object.assign(execute, { device, keepsProducts: isCpu, memory, describe });
}

/** The executor of compiled loops on the device of a state and of sequences, if there is one. */
export function executorOf(
  state: readonly Tensor[],
  sequences: readonly Tensor[],
  wanted?: ExecutorName,
): Executor | undefined {
  if (wanted !== undefined) checkWord("scan", "executor", wanted, ["fused", "stepped"]);
  const given = [...state, ...sequences];
  // Inside another loop's trace there is no device: the operations of this one become part of the other's body.
  if (state.length === 0 || given.some(({ storage }) => storage instanceof Symbolic)) return undefined;
  const device = deviceOf("scan", given);
  return device instanceof CpuDevice || device instanceof WebGpuDevice
    ? executorFor(device, wanted)
    : undefined;
}
