import { asAnyDevice } from "../../device/device_class.ts";
import { fusedLoopsOf } from "../executors/choose_executor.ts";
import type { LoopLayout } from "../executors/loop_layout.ts";
import type { Executor, Run } from "../executors/run.ts";
import { defaultBounds } from "../executors/stepped/run_stepped.ts";
import { splitKernels } from "../program/passes/split_kernels.ts";

/** Describes how a run is executed: executor, reason, source code, workgroups or threads. */
export function describeRun({ device, decide }: Executor, run: Run): string {
  const loops = fusedLoopsOf(asAnyDevice(device));
  return decide(run, ({ executor, workgroup, reason }) => {
    const details = executor === "stepped" ? describeStepped(run) : loops.describe(run, workgroup);
    return `executor: ${executor}, ${reason}\n${details}`;
  });
}

function describeStepped(run: Run): string {
  const { kernels, outputs, stepSums, next } = splitKernels(run.program, defaultBounds.maxOperands);
  const others = outputs.length + stepSums.length + next.length;
  return `${kernels.length} kernels and ${others} copies and sums per step, each for all samples`;
}

/** The layout of a fused loop on a GPU. Undefined on the CPU and for stepped loops. */
export function layoutOf({ device, decide }: Executor, run: Run): LoopLayout | undefined {
  const loops = fusedLoopsOf(asAnyDevice(device));
  return decide(
    run,
    ({ executor, workgroup }) => executor === "stepped" ? undefined : loops.layout(run, workgroup),
  );
}
