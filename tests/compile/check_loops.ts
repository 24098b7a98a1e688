/** Compares loops on a GPU with the CPU's results, with the layouts of any adapter. */
import assert from "node:assert/strict";
import { Tensor } from "../../mod.ts";
import { withExecutors } from "../../src/compile/executors/choose_executor.ts";
import type { Executor, Run, RunResult } from "../../src/compile/executors/run.ts";
import { runOnCpu } from "../../src/compile/executors/wasm/run_on_cpu.ts";
import { adapterOf, runOnWebGpu } from "../../src/compile/executors/wgsl/run_on_webgpu.ts";
import {
  type Adapter,
  chooseWorkgroup,
  type WorkgroupShape,
} from "../../src/compile/executors/wgsl/choose_workgroup.ts";
import { type GpuLayout, layOutOnGpu } from "../../src/compile/executors/wgsl/gpu_layout.ts";
import { layoutOf } from "../../src/compile/inspect/describe_run.ts";
import type { CpuDevice } from "../../src/device/cpu/device.ts";
import type { BufferView } from "../../src/device/device.ts";
import { makeContiguous, uploadView } from "../../src/device/view.ts";
import type { WebGpuDevice } from "../../src/device/webgpu/device.ts";

function viewsOf({ finals, outputs, stepSums, sums, weightGradients }: RunResult): BufferView[] {
  return [...finals, ...outputs, ...stepSums, ...sums, ...weightGradients];
}

/** How a test runs loops. */
interface Layouts {
  readonly adapter: Adapter;
  /** Default: the workgroup that Weft chooses for the adapter. */
  readonly share?: (run: Run) => WorkgroupShape;
  /** Called after each loop has run. */
  readonly watch?: (run: Run, layout: GpuLayout, result: RunResult) => void;
}

/** Runs `body`. Its fused loops on WebGPU run with the layouts of an adapter. */
export function withLayouts({ adapter, share, watch = () => {} }: Layouts, body: () => void): void {
  const replace = (executor: Executor): Executor => {
    const { device } = executor;
    const execute = (run: Run) => {
      if (!layoutOf(executor, run)) return executor(run);
      const workgroup = share ? share(run) : chooseWorkgroup(run.program, run.batch, adapter);
      const result = runOnWebGpu(device as WebGpuDevice, run, adapter, workgroup);
      watch(run, layOutOnGpu(run.program, workgroup, adapter), result);
      return result;
    };
    return Object.assign(execute, executor);
  };
  withExecutors(replace, body);
}

/** Runs every loop of `body` with the limits of an adapter and compares the results with the CPU's. */
export async function checkLoops(
  cpu: CpuDevice,
  webgpu: WebGpuDevice,
  body: () => void,
  adapter: Adapter,
  look: (run: Run, layout: GpuLayout) => void = () => {},
  share?: (run: Run) => WorkgroupShape,
): Promise<void> {
  const loops: {
    run: Run;
    inputs: ReturnType<WebGpuDevice["read"]>;
    found: ReturnType<WebGpuDevice["read"]>;
  }[] = [];
  const read = (views: readonly BufferView[]) =>
    webgpu.read(views.map((view) => makeContiguous(webgpu, view)));
  const watch = (run: Run, layout: GpuLayout, result: RunResult) => {
    look(run, layout);
    loops.push({ run, inputs: read(run.inputs), found: read(viewsOf(result)) });
  };
  withLayouts({ adapter, share, watch }, body);
  assert.ok(loops.length >= 2, "a loop and its gradient");
  for (const { run, inputs, found } of loops) {
    const values = await inputs;
    const views = run.inputs.map(({ shape, dtype }, i) => uploadView(cpu, values[i], shape, dtype));
    const expected = viewsOf(runOnCpu(cpu, { ...run, inputs: views }));
    for (const [i, actual] of (await found).entries()) {
      const wanted = [...await new Tensor(makeContiguous(cpu, expected[i])).data()].map(Number);
      assert.equal(actual.length, wanted.length);
      const scale = wanted.reduce((most, x) => Math.max(most, Math.abs(x)), 1e-3);
      const worst = wanted.reduce((most, x, j) => Math.max(most, Math.abs(x - Number(actual[j]))), 0) / scale;
      assert.ok(worst <= 1e-5, `result ${i} of ${expected.length} differs by ${worst}`);
    }
  }
}

/** The adapter of a device, treated as hardware, so that loops may take the maximum number of iterations. */
export const asHardware = (device: WebGpuDevice): Adapter => ({
  ...adapterOf(device),
  maxIterations: Infinity,
});

/** Small workgroups. Their samples share reads of weights. */
const sharing: readonly WorkgroupShape[] = [{ samples: 4, lanes: 2 }, { samples: 2, lanes: 16 }];

/**
 * Workgroups of hardware: in turn the workgroup that Weft chooses, and small ones. llvmpipe limits the iterations of a dispatch,
 * so the steps are divided among dispatches.
 *
 * @param first Position of the workgroup of the first loop in the cycle.
 */
export function hardwareLayouts(device: WebGpuDevice, first = 0): Layouts {
  let loops = first;
  const adapter = adapterOf(device);
  const share = ({ program, batch }: Run) =>
    sharing[loops++ % 3] ?? chooseWorkgroup(program, batch, asHardware(device));
  return { adapter, share };
}

/** The limits of a device, with changes. */
export function limitsOf(
  { limits }: WebGpuDevice,
  changes: Partial<Adapter["limits"]>,
): Adapter["limits"] {
  const { maxStorageBuffersPerShaderStage, maxStorageBufferBindingSize, maxUniformBufferBindingSize } =
    limits;
  const { maxComputeWorkgroupStorageSize, maxComputeInvocationsPerWorkgroup } = limits;
  const { maxComputeWorkgroupsPerDimension } = limits;
  return {
    maxStorageBuffersPerShaderStage,
    maxStorageBufferBindingSize,
    maxUniformBufferBindingSize,
    maxComputeWorkgroupStorageSize,
    maxComputeInvocationsPerWorkgroup,
    maxComputeWorkgroupsPerDimension,
    ...changes,
  };
}
