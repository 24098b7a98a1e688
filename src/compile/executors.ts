/** Which executor runs a program. */
import { CpuDevice } from "../device/cpu/device.ts";
import type { WebGpuDevice } from "../device/webgpu/device.ts";
import { type Choice, chooseExecutor, type ExecutorName } from "./cost.ts";
import type { Executor, Run } from "./executor.ts";
import { describeStepped, runStepped } from "./stepped/executor.ts";
import { runOnCpu } from "./wasm/executor.ts";
import { describeOnWebGpu, runOnWebGpu } from "./wgsl/executor.ts";

/** A quarter of what WebAssembly can address. */
const shareOfMemory = 2 ** 30;

/** A device's executors as one, which chooses for each program unless it is told. */
export function executorFor(device: CpuDevice | WebGpuDevice, wanted?: ExecutorName): Executor {
  const choose = ({ program, batch }: Run): Choice =>
    wanted ? { executor: wanted, reason: "as asked for" } : chooseExecutor(program, batch, device.info);
  const execute = (run: Run) => {
    if (choose(run).executor === "stepped") return runStepped(device, run);
    return device instanceof CpuDevice ? runOnCpu(device, run) : runOnWebGpu(device, run);
  };
  const describe = (run: Run) => {
    const { executor, reason } = choose(run);
    const details = executor === "stepped"
      ? describeStepped(run)
      : device instanceof CpuDevice
      ? "a lane of a vector register for each sample"
      : describeOnWebGpu(device, run);
    return `executor: ${executor}, ${reason}\n${details}`;
  };
  const isCpu = device instanceof CpuDevice;
  const memory = isCpu ? shareOfMemory : device.limits.maxStorageBufferBindingSize;
  return Object.assign(execute, { fuses: isCpu, memory, describe });
}
