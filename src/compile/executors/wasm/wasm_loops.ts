import type { CpuDevice } from "../../../device/cpu/device.ts";
import { evaluateAllSteps } from "../../trace/vectorize.ts";
import type { FusedLoops } from "../run.ts";
import { runOnCpu } from "./run_on_cpu.ts";

/** Fused loops on the CPU. */
export function wasmLoops(device: CpuDevice): FusedLoops {
  return {
    keepsProducts: true,
    evaluateHoisted: ({ hoisted, fusedChains }, values, steps) =>
      evaluateAllSteps(hoisted, values, steps, fusedChains),
    splitSamples: (program) => ({ program, parts: 1 }),
    // The memory that the slots would no longer share costs more than the fills.
    hoistFills: (program) => ({ program, fills: [] }),
    // A quarter of the memory that 32-bit addresses reach, and the size of caches.
    memory: 2 ** 30,
    constantMemory: 2 ** 24,
    whyNot({ dtype, inputs, outputs }) {
      const written = [...inputs.filter(({ role }) => role === "state"), ...outputs];
      const other = written.find((array) => array.dtype !== dtype);
      return other && `a state or an output is ${other.dtype}`;
    },
    run: (run) => runOnCpu(device, run),
    describe: () => "one sample per lane of a vector register",
    layout: () => undefined,
    otherWorkgroups: () => [],
  };
}
