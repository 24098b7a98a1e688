/**
 * Choice of the executor and the workgroup shape of a program. A fused loop is one kernel for many steps; a stepped loop runs a
 * kernel of the device for each operation of each step.
 */
import { type AnyDevice, asAnyDevice } from "../../device/device_class.ts";
import type { WebGpuDevice } from "../../device/webgpu/device.ts";
import { Symbolic } from "../../tensor/symbolic.ts";
import { deviceOf } from "../../tensor/primitive.ts";
import { checkWord } from "../../tensor/checks.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { type Choice, chooseExecutor, type ExecutorName } from "../program/cost.ts";
import type { Executor, FusedLoops, Run, RunResult, Schedule } from "./run.ts";
import { identityOf } from "../program/identity.ts";
import { runStepped } from "./stepped/run_stepped.ts";
import { Uncompilable } from "../trace/uncompilable.ts";
import { wasmLoops } from "./wasm/wasm_loops.ts";

/** The loops of each GPU. Their code is loaded when a GPU is opened, because it is large and a CPU does not need it. */
const loopsOfGpus = new WeakMap<WebGpuDevice, FusedLoops>();

/** Sets the fused loops of a GPU. */
export function setFusedLoops(device: WebGpuDevice, loops: FusedLoops): void {
  loopsOfGpus.set(device, loops);
}

/** The fused loops of a device. */
export function fusedLoopsOf(device: AnyDevice): FusedLoops {
  if (device.kind === "cpu") return wasmLoops(device);
  const loops = loopsOfGpus.get(device);
  if (!loops) throw new Error("compiled loops of this GPU are not loaded: open it by openGpu");
  return loops;
}

/** Schedules set by {@linkcode setSchedule}. */
const schedulesByDevice = new WeakMap<AnyDevice, Map<string, Schedule>>();

/** A name for a program with a batch size. */
export function nameOf({ program, batch }: Run): string {
  return `${identityOf(program)} ${batch}`;
}

/** Sets the schedule of a program on a device, for a batch size. */
export function setSchedule(device: AnyDevice, run: Run, schedule: Schedule): void {
  const schedules = schedulesByDevice.get(device) ?? new Map<string, Schedule>();
  schedulesByDevice.set(device, schedules.set(nameOf(run), schedule));
}

/** All schedules that a program can run with. */
export function possibleSchedules(device: AnyDevice, run: Run): Schedule[] {
  const [fused, stepped] = [{ executor: "fused" }, { executor: "stepped" }] as const;
  const loops = fusedLoopsOf(device);
  if (whyStepped(run, loops)) return [stepped];
  return [fused, stepped, ...loops.otherWorkgroups(run).map((workgroup) => ({ ...fused, workgroup }))];
}

/** @throws {Uncompilable} If the fused loop exceeds limits of the GPU. */
export function runAs({ executor, workgroup }: Schedule, device: AnyDevice, run: Run): RunResult {
  const loops = fusedLoopsOf(device);
  return executor === "stepped" ? runStepped(device, run, loops.hoistFills) : loops.run(run, workgroup);
}

/** The reason that a program cannot run fused, or undefined if it can. */
function whyStepped({ program }: Run, loops: FusedLoops): string | undefined {
  // WGSL cannot declare arrays without elements.
  const isEmpty = [...program.inputs, ...program.slots].some(({ size }) => size === 0);
  return isEmpty ? "some arrays have no elements" : loops.whyNot(program);
}

/** An executor that chooses a schedule for each program, or uses the executor `wanted`. */
export function executorFor(device: AnyDevice, wanted?: ExecutorName): Executor {
  const loops = fusedLoopsOf(device);
  const choose = (run: Run): Choice & Schedule => {
    const reason = whyStepped(run, loops);
    if (reason) return { executor: "stepped", reason };
    if (wanted) return { executor: wanted, reason: "as requested" };
    const tuned = schedulesByDevice.get(device)?.get(nameOf(run));
    return tuned ? { ...tuned, reason: "as tuned" } : chooseExecutor(run.program, run.batch, device.info);
  };
  const decide = <T>(run: Run, act: (choice: Choice & Schedule) => T): T => {
    const choice = choose(run);
    try {
      return act(choice);
    } catch (error) {
      // A fused kernel can exceed limits that the kernels of single operations do not.
      if (!(error instanceof Uncompilable) || wanted !== undefined) throw error;
      return act({ executor: "stepped", reason: error.message });
    }
  };
  const execute = (run: Run) => decide(run, (choice) => runAs(choice, device, run));
  const { keepsProducts, evaluateHoisted, splitSamples, memory, constantMemory } = loops;
  return Object.assign(execute, {
    device,
    keepsProducts,
    evaluateHoisted,
    splitSamples,
    memory,
    constantMemory,
    decide,
  });
}

/** The executor of compiled loops on the device of a state and of sequences. Undefined inside another loop's trace. */
export function executorOf(
  state: readonly Tensor[],
  sequences: readonly Tensor[],
  wanted?: ExecutorName,
): Executor | undefined {
  if (wanted !== undefined) checkWord("scan", "executor", wanted, ["fused", "stepped"]);
  const tensors = [...state, ...sequences];
  // Inside another loop's trace, the operations of this loop become part of the outer body.
  if (state.length === 0 || tensors.some(({ storage }) => storage instanceof Symbolic)) return undefined;
  const executor = executorFor(asAnyDevice(deviceOf("scan", tensors)), wanted);
  return replaceExecutor ? replaceExecutor(executor, wanted) : executor;
}

/** Replaces the executor of a loop. */
type Replace = (executor: Executor, wanted: ExecutorName | undefined) => Executor;

let replaceExecutor: Replace | undefined;

/** Runs `body`, with other executors in place of those of its loops. For tests and benches. */
export function withExecutors(replace: Replace, body: () => void): void {
  const before = replaceExecutor;
  replaceExecutor = replace;
  try {
    body();
  } finally {
    replaceExecutor = before;
  }
}
