/** Loops with the layouts that GPUs of hardware get, on any GPU, compared with the CPU. */
import assert from "node:assert/strict";
import { key, normal, odeint, ones, scan, splitKey, type Tensor, valueAndGrad } from "../../mod.ts";
import { emitWgsl } from "../../src/compile/executors/wgsl/emit_wgsl.ts";
import { observeLoops } from "../../src/compile/loop/graph_loop.ts";
import type { CpuDevice } from "../../src/device/cpu/device.ts";
import type { Run } from "../../src/compile/executors/run.ts";
import { planFor } from "../../bench/plans/planned_gpu.ts";
import { machines } from "../../bench/plans/machines.ts";
import { tileOf } from "../../src/compile/executors/wgsl/chain_functions.ts";
import { chooseWorkgroup, type WorkgroupShape } from "../../src/compile/executors/wgsl/choose_workgroup.ts";
import { type GpuLayout, layOutOnGpu } from "../../src/compile/executors/wgsl/gpu_layout.ts";
import type { WebGpuDevice } from "../../src/device/webgpu/device.ts";
import { cpu as cpuDevice, hardwareOnly, longOnSoftware, testOnBoth } from "../devices.ts";
import { asHardware, checkLoops, hardwareLayouts, limitsOf, withLayouts } from "./check_loops.ts";
import { randomBody } from "./random_body.ts";
import { difference, tolerances } from "./run_body.ts";

/** Chains whose first item computes partial sums. */
const partialSums = ({ chains }: GpuLayout) =>
  chains.filter(([head]) => "terms" in head && head.terms !== undefined);

/** A loop with long sums: products with a matrix and of each sample, a softmax and the largest of absolute values. */
function longSums(batch: number, size: number, outputs: number, steps: number): () => void {
  const keys = splitKey(key(2), 4);
  const parameters = {
    first: normal(keys[0], [batch, size]),
    down: normal(keys[1], [size, outputs], { standardDeviation: 0.2 }),
    up: normal(keys[2], [outputs, size], { standardDeviation: 0.5 }),
    rows: normal(keys[3], [steps, batch, size]),
  };
  const { first, down, up, rows } = parameters;
  const step = (h: Tensor, x: Tensor): [Tensor, Tensor] => {
    const narrow = h.matmul(down).tanh();
    const inner = h.mul(x).softmax(1).expandDims(1).matmul(h.expandDims(2)).squeeze(2);
    const next = narrow.matmul(up).add(inner).div(h.abs().max(1, { keepDims: true }).add(1));
    return [next, narrow];
  };
  return () =>
    void valueAndGrad(() => {
      const [last, outputs] = scan(step, first, rows);
      return last.square().sum().add(outputs.mean());
    })(parameters);
}

for (
  const [name, batch, size, outputs] of [
    ["a length that the parts divide", 2, 96, 3],
    ["a prime length", 3, 97, 4],
    ["a single output", 1, 61, 1],
  ] as const
) {
  testOnBoth(`long sums of ${name} are split over idle invocations`, async (cpu, webgpu) => {
    const device = webgpu as WebGpuDevice;
    let count = 0;
    await checkLoops(
      cpu as CpuDevice,
      device,
      longSums(batch, size, outputs, 3),
      asHardware(device),
      (_, layout) => count += partialSums(layout).length,
    );
    assert.ok(count >= 6, `${count} sums are split`);
  });
}

/** Chains whose first item computes elements for all samples of the workgroup. */
const sharedProducts = (layout: GpuLayout) =>
  layout.chains.filter(([head]) => tileOf(head, layout).samples > 1);

for (
  const [name, batch, shape, options] of [
    ["two samples, the last workgroup not full", 5, { samples: 2, lanes: 16 }, {}],
    ["four samples", 10, { samples: 4, lanes: 8 }, hardwareOnly],
    ["eight samples, more than the batch has", 3, { samples: 8, lanes: 4 }, longOnSoftware],
  ] as const
) {
  testOnBoth(`invocations that compute ${name} read weights once`, options, async (cpu, webgpu) => {
    const device = webgpu as WebGpuDevice;
    let count = 0;
    const look = (_: Run, layout: GpuLayout) => count += sharedProducts(layout).length;
    const body = longSums(batch, 41, 6, 3);
    await checkLoops(cpu as CpuDevice, device, body, asHardware(device), look, () => shape);
    assert.ok(count >= 4, `${count} products are shared`);
  });
}

testOnBoth("samples that share weights can be spilled", longOnSoftware, async (cpu, webgpu) => {
  const device = webgpu as WebGpuDevice;
  const adapter = {
    ...asHardware(device),
    limits: limitsOf(device, { maxComputeWorkgroupStorageSize: 1024 }),
  };
  let spilled = 0;
  const look = (_: Run, layout: GpuLayout) => spilled += sharedProducts(layout).length * layout.spilled.size;
  await checkLoops(
    cpu as CpuDevice,
    device,
    longSums(6, 90, 5, 3),
    adapter,
    look,
    () => ({ samples: 4, lanes: 16 }),
  );
  assert.ok(spilled > 0);
});

Deno.test("a workgroup has several samples if the batch exceeds what a large GPU runs at the same time", () => {
  const sharedBy = (batch: number) =>
    planFor(machines.h100, cpuDevice, () => void longSums(batch, 96, 40, 2)()).loops.map(({ layout }) =>
      layout!.samplesPerRead
    );
  assert.deepEqual([128, 1024, 4096].map(sharedBy), [[1, 1], [4, 4], [8, 8]]);
});

Deno.test("a step that only stores values uses the lanes of its arrays", () => {
  const x = normal(key(0), [64, 512]);
  const rows = normal(key(1), [5, 64, 512]);
  const body = (sum: Tensor, row: Tensor): [Tensor, Tensor] => [sum.add(row), sum];
  const gradient = () =>
    void valueAndGrad((given: { rows: Tensor }) => scan(body, x, given.rows)[0].square().sum())({ rows });
  const workgroups: WorkgroupShape[] = [];
  const adapter = { maxIterations: Infinity, limits: machines.h100.limits };
  observeLoops((_, { program, batch }) => {
    workgroups.push(chooseWorkgroup(program, batch, adapter));
  }, gradient);
  // In the gradient of a cumulative sum, the gradient of each row is the state.
  assert.deepEqual(workgroups[1], { samples: 1, lanes: 256 });
});

/** A solve with a bias, whose gradient is the sum over the steps of a term of each of four stages. */
function solveWithBias(batch: number): () => void {
  const parameters = {
    weight: normal(key(1), [8, 8], { standardDeviation: 0.3 }),
    bias: normal(key(2), [8]),
  };
  const field = (_t: unknown, y: Tensor) => y.matmul(parameters.weight).add(parameters.bias).tanh();
  const options = { method: "rk4", stepSize: 0.25 } as const;
  return () =>
    void valueAndGrad(() => odeint(field, ones([batch, 8]), [0, 1], options).square().sum())(parameters);
}

testOnBoth("the terms of a sum over the steps are added where they are computed", async (cpu, webgpu) => {
  const device = webgpu as WebGpuDevice;
  let additions = 0;
  await checkLoops(
    cpu as CpuDevice,
    device,
    solveWithBias(3),
    asHardware(device),
    ({ program }, { chains }) => {
      const sums = new Set(program.sums.map(({ slot }) => slot));
      additions += chains.flat().filter(({ output }) => output && sums.has(output.slot!)).length;
    },
  );
  assert.equal(additions, 4);
});

Deno.test("memory is reused without more barriers if there is enough, and with more barriers before slots are spilled", () => {
  const { limits } = machines.h100;
  const layoutWithin = (run: Run, bytes: number) => {
    const adapter = { maxIterations: Infinity, limits: { ...limits, maxComputeWorkgroupStorageSize: bytes } };
    const { local, spilled, ...layout } = layOutOnGpu(run.program, { samples: 1, lanes: 64 }, adapter);
    const { barriers } = emitWgsl(run.program, { ...layout, local, spilled }).perStep;
    return { barriers, size: local.size, spilled: spilled.size };
  };
  let fewer = 0;
  observeLoops((_, run) => {
    const ample = layoutWithin(run, limits.maxComputeWorkgroupStorageSize);
    const tight = layoutWithin(run, 4 * ample.size - 4);
    assert.ok(ample.barriers <= tight.barriers);
    if (tight.spilled === 0 && tight.barriers > ample.barriers) fewer++;
  }, longSums(2, 96, 6, 3));
  assert.ok(fewer > 0);
});

testOnBoth("random loops run with the layouts of hardware", longOnSoftware, async (_cpu, webgpu) => {
  const layouts = hardwareLayouts(webgpu as WebGpuDevice);
  let loops = 0;
  for (let seed = 0; seed < 20; seed++) {
    let found!: ReturnType<typeof difference>;
    withLayouts({ ...layouts, watch: () => loops++ }, () => {
      found = difference(randomBody(seed), "float32", { executor: "fused" });
    });
    const { worst, where } = await found;
    assert.ok(worst <= tolerances.float32, `${where} of body ${seed} differs by ${worst}`);
  }
  assert.ok(loops >= 20, `${loops} loops ran`);
});
