/** Which executor runs a program. */
import { CpuDevice } from "../device/cpu/device.ts";
import type { WebGpuDevice } from "../device/webgpu/device.ts";
import type { Executor, Run } from "./executor.ts";
import { runStepped } from "./stepped/executor.ts";
import { runOnCpu } from "./wasm/executor.ts";
import { describeOnWebGpu, runOnWebGpu } from "./wgsl/executor.ts";

export type { Executor } from "./executor.ts";

/** A device's executors as one, which chooses for each program unless it is told. */
export function executorFor(
  device: CpuDevice | WebGpuDevice,
  wanted: "fused" | "stepped" | undefined,
): Executor {
  const isCpu = device instanceof CpuDevice;
  const fused = (run: Run) => isCpu ? runOnCpu(device, run) : runOnWebGpu(device, run);
  const execute = (run: Run) => wanted === "stepped" ? runStepped(device, run) : fused(run);
  return Object.assign(execute, {
    fuses: isCpu,
    describe: isCpu ? undefined : (run: Run) => describeOnWebGpu(device, run),
  });
}
