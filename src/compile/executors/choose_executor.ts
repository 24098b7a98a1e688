/** Choice of the executor and the workgroup shape of a program. */
import { type AnyDevice, asAnyDevice } from "../../device/device_class.ts";
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
import { describeOnWebGpu, loopLayout } from "./wgsl/describe_loop.ts";
import { adapterOf, runOnWebGpu } from "./wgsl/run_on_webgpu.ts";
import { otherWorkgroups, type WorkgroupShape } from "./wgsl/choose_workgroup.ts";

/** A device with executors of compiled loops. */
export type LoopDevice = AnyDevice;

/** How a program runs. */
export interface Schedule {
  readonly executor: ExecutorName;
  /** Workgroup of a fused loop on a GPU. Default: chosen from the shapes. */
  readonly workgroup?: WorkgroupShape;
}

/**
 * Limits in bytes for the values of all steps, and for loops whose memory must not grow with the number of steps. On a CPU: a
 * quarter of the memory that WebAssembly can address, and the size of its caches. On a GPU: the largest array, and half of the
 * smallest buffer limit of WebGPU, or a part of the adapter's limit.
 */
function memoryOf(device: LoopDevice): Pick<Executor, "memory" | "constantMemory"> {
  if (device.kind === "cpu") return { memory: 2 ** 30, constantMemory: 2 ** 24 };
  const { maxBufferSize, maxStorageBufferBindingSize } = device.limits;
  return { memory: maxStorageBufferBindingSize, constantMemory: Math.max(2 ** 27, maxBufferSize / 16) };
}

/** Schedules set by {@linkcode setSchedule}. */
const schedulesByDevice = new WeakMap<LoopDevice, Map<string, Schedule>>();

/** A name for a program with a batch size. */
export function nameOf({ program, batch }: Run): string {
  return `${identityOf(program)} ${batch}`;
}

/** Sets the schedule of a program on a device, for a batch size. */
export function setSchedule(device: LoopDevice, run: Run, schedule: Schedule): void {
  const schedules = schedulesByDevice.get(device) ?? new Map<string, Schedule>();
  schedulesByDevice.set(device, schedules.set(nameOf(run), schedule));
}

/** All schedules that a program can run with. */
export function possibleSchedules(device: LoopDevice, { program, batch }: Run): Schedule[] {
  const [fused, stepped] = [{ executor: "fused" }, { executor: "stepped" }] as const;
  if (whyStepped(program, device)) return [stepped];
  const workgroups = device.kind === "cpu" ? [] : otherWorkgroups(program, batch, adapterOf(device));
  return [fused, stepped, ...workgroups.map((workgroup) => ({ ...fused, workgroup }))];
}

/** @throws {Uncompilable} If the fused loop exceeds limits of the GPU. */
export function runAs({ executor, workgroup }: Schedule, device: LoopDevice, run: Run): RunResult {
  if (executor === "stepped") return runStepped(device, run);
  return device.kind === "cpu" ? runOnCpu(device, run) : runOnWebGpu(device, run, undefined, workgroup);
}

/** The reason that a program cannot run fused, or undefined if it can. */
function whyStepped({ dtype, inputs, slots, outputs }: Program, device: LoopDevice): string | undefined {
  // WGSL cannot declare arrays without elements.
  if ([...inputs, ...slots].some(({ size }) => size === 0)) return "some arrays have no elements";
  const written = [...inputs.filter(({ role }) => role === "state"), ...outputs];
  const other = device.kind === "cpu" && written.find((array) => array.dtype !== dtype);
  return other ? `a state or an output is ${other.dtype}` : undefined;
}

/** An executor that chooses a schedule for each program, or uses the executor `wanted`. */
export function executorFor(device: LoopDevice, wanted?: ExecutorName): Executor {
  const choose = (run: Run): Choice & Schedule => {
    const reason = whyStepped(run.program, device);
    if (reason) return { executor: "stepped", reason };
    if (wanted) return { executor: wanted, reason: "as asked for" };
    const known = schedulesByDevice.get(device)?.get(nameOf(run));
    return known ? { ...known, reason: "as tuned" } : chooseExecutor(run.program, run.batch, device.info);
  };
  const decide = <T>(run: Run, act: (choice: Choice & Schedule) => T): T => {
    const choice = choose(run);
    try {
      return act(choice);
    } catch (error) {
      // A fused kernel can exceed limits that the kernels of single operations do not.
      if (!(error instanceof Uncompilable) || choice.reason === "as asked for") throw error;
      return act({ executor: "stepped", reason: error.message });
    }
  };
  const execute = (run: Run) => decide(run, (choice) => runAs(choice, device, run));
  const describe = (run: Run) =>
    decide(run, ({ executor, workgroup, reason }) => {
      const details = executor === "stepped"
        ? describeStepped(run)
        : device.kind === "cpu"
        ? "one sample per lane of a vector register"
        : describeOnWebGpu(device, run, workgroup);
      return `executor: ${executor}, ${reason}\n${details}`;
    });
  const layout = (run: Run) =>
    decide(
      run,
      ({ executor, workgroup }) =>
        device.kind === "cpu" || executor === "stepped" ? undefined : loopLayout(device, run, workgroup),
    );
  const isCpu = device.kind === "cpu";
  return Object.assign(execute, {
    device,
    keepsProducts: isCpu,
    splitsSamples: !isCpu,
    ...memoryOf(device),
    describe,
    layout,
  });
}

/** The executor of compiled loops on the device of a state and of sequences. Undefined inside another loop's trace. */
export function executorOf(
  state: readonly Tensor[],
  sequences: readonly Tensor[],
  wanted?: ExecutorName,
): Executor | undefined {
  if (wanted !== undefined) checkWord("scan", "executor", wanted, ["fused", "stepped"]);
  const given = [...state, ...sequences];
  // Inside another loop's trace, the operations of this loop become part of the outer body.
  if (state.length === 0 || given.some(({ storage }) => storage instanceof Symbolic)) return undefined;
  const executor = executorFor(asAnyDevice(deviceOf("scan", given)), wanted);
  return replaceExecutor ? replaceExecutor(executor, wanted) : executor;
}

/** Replaces the executor of a loop. */
type Replace = (executor: Executor, wanted: ExecutorName | undefined) => Executor;

let replaceExecutor: Replace | undefined;

/** Runs `body`, with other executors in place of those of its loops. */
export function withExecutors(replace: Replace, body: () => void): void {
  const before = replaceExecutor;
  replaceExecutor = replace;
  try {
    body();
  } finally {
    replaceExecutor = before;
  }
}
