import type { WebGpuDevice } from "../../../device/webgpu/device.ts";
import { evaluateStages } from "../../loop/stage_groups.ts";
import type { FusedLoops } from "../run.ts";
import { hoistFills } from "../../program/passes/hoist_fills.ts";
import { splitSamples } from "../../program/passes/split_samples.ts";
import { otherWorkgroups } from "./choose_workgroup.ts";
import { describeOnWebGpu, loopLayout } from "./describe_loop.ts";
import { adapterOf, runOnWebGpu } from "./run_on_webgpu.ts";

/** Fused loops on a GPU. */
export function wgslLoops(device: WebGpuDevice): FusedLoops {
  const { maxBufferSize, maxStorageBufferBindingSize } = device.limits;
  return {
    keepsProducts: false,
    evaluateHoisted: evaluateStages,
    splitSamples,
    hoistFills,
    // The largest array, and half of the smallest buffer limit of WebGPU, or a part of the adapter's limit.
    memory: maxStorageBufferBindingSize,
    constantMemory: Math.max(2 ** 27, maxBufferSize / 16),
    whyNot: () => undefined,
    run: (run, workgroup) => runOnWebGpu(device, run, undefined, workgroup),
    describe: (run, workgroup) => describeOnWebGpu(device, run, workgroup),
    layout: (run, workgroup) => loopLayout(device, run, workgroup),
    otherWorkgroups: ({ program, batch }) => otherWorkgroups(program, batch, adapterOf(device)),
  };
}
