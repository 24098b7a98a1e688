/** Loops within the limits that every GPU has in WebGPU: 8 storage buffers and 16 KiB of workgroup memory. */
import assert from "node:assert/strict";
import { key, normal, ones, scan, type Tensor, tidy, valueAndGrad } from "../../mod.ts";
import { prepare, workloadNames } from "../../bench/workloads.ts";
import { openNullGpu } from "../../bench/plans/null_gpu.ts";
import type { Run } from "../../src/compile/executors/run.ts";
import { chooseWorkgroup } from "../../src/compile/executors/wgsl/choose_workgroup.ts";
import type { GpuLayout } from "../../src/compile/executors/wgsl/gpu_layout.ts";
import { adapterOf, compile } from "../../src/compile/executors/wgsl/run_on_webgpu.ts";
import { observeLoops } from "../../src/compile/loop/graph_loop.ts";
import type { CpuDevice } from "../../src/device/cpu/device.ts";
import { setCurrentDevice } from "../../src/device/current.ts";
import { defaultLimits, machines } from "../../bench/plans/machines.ts";
import { cpu as cpuDevice, longOnSoftware, testLong, testOnBoth } from "../devices.ts";
import { openEdited, withHardwareLayouts } from "../device/edited_gpu.ts";
import { checkLoops } from "./check_loops.ts";

const { maxStorageBuffersPerShaderStage, maxComputeWorkgroupStorageSize, maxComputeInvocationsPerWorkgroup } =
  defaultLimits;

testLong("the loops of the papers' models fit the default limits of WebGPU", () => {
  const { device } = openNullGpu({ ...machines.h100, limits: defaultLimits });
  const adapter = adapterOf(device);
  let loops = 0;
  const look = ({ program, batch }: Run, workload: string) => {
    loops++;
    const { access, layout } = compile(program, chooseWorkgroup(program, batch, adapter), adapter);
    const { samples, lanes, local } = layout;
    assert.ok(samples * lanes <= maxComputeInvocationsPerWorkgroup, workload);
    assert.ok(4 * samples * local.size <= maxComputeWorkgroupStorageSize, workload);
    assert.ok(access.replaceAll("u", "").length <= maxStorageBuffersPerShaderStage, workload);
  };
  setCurrentDevice(device);
  for (const name of workloadNames) {
    const { step } = prepare(name);
    observeLoops((_, run) => look(run, name), () => tidy(() => void step()));
  }
  assert.ok(loops >= 20, `${loops} loops`);
});

/** Compares loops on a GPU with default limits, and with the layouts of hardware, with the CPU. */
async function checkWithDefaultLimits(
  cpu: CpuDevice,
  prepareBody: () => () => void,
  look?: (run: Run, layout: GpuLayout) => void,
): Promise<void> {
  const device = await openEdited({
    limits: {
      maxStorageBuffersPerShaderStage,
      maxComputeWorkgroupStorageSize,
      maxComputeInvocationsPerWorkgroup,
    },
  });
  try {
    setCurrentDevice(device);
    const adapter = adapterOf(device);
    const share = ({ program, batch }: Run) =>
      chooseWorkgroup(program, batch, { ...adapter, maxIterations: Infinity });
    const body = prepareBody();
    await checkLoops(cpu, device, () => withHardwareLayouts(device, body), adapter, look, share);
  } finally {
    device.destroy();
  }
}

/**
 * The papers' models at their sizes, with two short series. A step of the largest states of WARP needs more iterations than
 * llvmpipe runs.
 */
const papers = ["ncde-character-direct", "ncde-speech-adjoint", "ncde-hidden-128", "fwp-ode-speech-hebb"];

for (const name of [...papers, "fwp-cde-speech-delta", "fwp-cde-worms-delta", "warp-mnist"]) {
  testOnBoth(`loops of ${name} run with the default limits of WebGPU`, longOnSoftware, async (cpu) => {
    await checkWithDefaultLimits(cpu as CpuDevice, () => {
      const { forward } = prepare(`${name}@2x4`);
      return () => {
        const { value, pullback } = forward!() as { value: Tensor; pullback: (cotangent: Tensor) => unknown };
        pullback(ones(value.shape));
      };
    });
  });
}

/** A loop with every kind of array: of each sample and shared, constant and with a row per step. */
function everyKind(): () => void {
  const [weight, first, own, rows, scale] = [[6, 6], [3, 6], [3, 6], [4, 3, 6], [4, 6]].map((shape, i) =>
    normal(key(i), shape)
  );
  const step = (h: Tensor, { row, scale }: { row: Tensor; scale: Tensor }): [Tensor, Tensor] => {
    const next = h.matmul(weight).mul(scale).add(row).add(own).tanh();
    return [next, next.mul(own)];
  };
  const parameters = { weight, own, rows, scale, first };
  return () =>
    void valueAndGrad(() => {
      const [last, outputs] = scan(step, first, { row: rows, scale });
      return last.sum().add(outputs.square().sum());
    })(parameters);
}

Deno.test("a loop with more buffers than the adapter binds cannot be compiled", () => {
  const { device } = openNullGpu({ ...machines.h100, limits: defaultLimits });
  const adapter = adapterOf(device);
  const runs: Run[] = [];
  setCurrentDevice(device);
  try {
    observeLoops((_, run) => runs.push(run), everyKind());
  } finally {
    setCurrentDevice(cpuDevice);
  }
  const { program, batch } = runs.at(-1)!;
  const compileWithin = (changes: Partial<typeof defaultLimits>) => {
    const limits = { ...adapter.limits, ...changes };
    return compile(program, chooseWorkgroup(program, batch, adapter), { ...adapter, limits });
  };
  assert.equal(compileWithin({}).access.replaceAll("u", "").length, 7);
  // Without space for its calls in a uniform, and for its values in workgroup memory.
  const least = { maxUniformBufferBindingSize: 64, maxComputeWorkgroupStorageSize: 64 };
  assert.throws(() => compileWithin(least), /the loop needs 9 storage buffers, and the adapter binds 8/);
});
