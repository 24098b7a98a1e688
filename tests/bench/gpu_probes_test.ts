import assert from "node:assert/strict";
import { dependentLaunch, runProbes } from "../../bench/gpu_probes.ts";
import type { WebGpuDevice } from "../../src/device/webgpu/device.ts";
import { longOnSoftware, testOnBoth } from "../devices.ts";

testOnBoth("the probes of a GPU begin with the wait and launches", async (_cpu, device) => {
  const written: string[] = [];
  const scale = { repeats: 1, launches: 4, products: [["of squares", 16, 16, 16]], loops: [] } as const;
  const probes = await runProbes(device as WebGpuDevice, scale, ({ probe }) => written.push(probe));
  assert.deepEqual(probes.map(({ probe }) => probe), [
    "wait for an empty queue, median of 20",
    "kernels preserve NaN",
    dependentLaunch,
    "launch of an independent kernel",
    "the host's part of a launch",
    "product of squares: 16 x 16 by 16 x 16",
  ]);
  assert.deepEqual(written, probes.map(({ probe }) => probe));
});

testOnBoth(
  "the probes time each loop of a workload beside its estimate",
  longOnSoftware,
  async (_, device) => {
    const scale = { repeats: 1, launches: 2, products: [], loops: ["warp-spirals@4x8"] };
    const probes = await runProbes(device as WebGpuDevice, scale, () => {});
    const loops = probes.filter(({ estimate }) => estimate !== undefined);
    assert.deepEqual(loops.map(({ probe }) => probe), [
      "fused forward loop of warp-spirals@4x8, 7 steps of 4 samples",
      "fused backward loop of warp-spirals@4x8, 7 steps of 4 samples",
    ]);
  },
);
