import assert from "node:assert/strict";
import { type LoopRow, planStep, rowsFor } from "../../bench/gpu_layouts.ts";
import { prepare } from "../../bench/workloads.ts";
import { currentDevice, setCurrentDevice } from "../../src/device/current.ts";
import { type Machine, machines } from "../../bench/plans/machines.ts";
import { testLong } from "../devices.ts";

testLong("a workload has a row for its step and a row per loop, whose times add up", () => {
  const plan = planStep(() => prepare("ncde-character-direct"), machines.h100);
  const [step, ...loops] = rowsFor("ncde-character-direct", 48, plan);
  assert.ok("passes" in step);
  assert.deepEqual(
    loops.map((row) => "loop" in row && [row.loop, row.executor, row.steps, row.runs]),
    [["forward", "fused", 181, 1], ["backward", "fused", 181, 1]],
  );
  const sum = (pick: (row: (typeof loops)[number]) => number) =>
    loops.reduce((total, row) => total + pick(row), 0);
  assert.ok(sum(({ dispatches }) => dispatches) < step.dispatches);
  assert.ok(Math.abs(sum(({ milliseconds }) => milliseconds) - step.loops) < 1e-9);
});

/** The last loop of a workload's step, which computes gradients. */
function gradientLoop(workload: string, machine: Machine = machines.h100): LoopRow {
  const before = currentDevice();
  try {
    return rowsFor(workload, 48, planStep(() => prepare(workload), machine)).at(-1) as LoopRow;
  } finally {
    setCurrentDevice(before);
  }
}

testLong(
  "gradients on Speech Commands take at most 30 ms on an H100 by estimate, with most lanes busy",
  () => {
    const { milliseconds, lanesBusy } = gradientLoop("ncde-speech-adjoint@128");
    assert.ok(milliseconds <= 30, `${milliseconds} ms`);
    assert.ok(lanesBusy! >= 0.6, `${lanesBusy} of the lanes are busy`);
  },
);

testLong("at a batch size of 1,024, four samples share a read of the weights of Speech Commands", () => {
  const { samplesPerRead, lanesBusy } = gradientLoop("ncde-speech-adjoint@1024");
  assert.ok(samplesPerRead! >= 4, `${samplesPerRead} samples per read`);
  assert.ok(lanesBusy! >= 0.6, `${lanesBusy} of the lanes are busy`);
});

/** An H100 with 32 KiB of workgroup memory, as most integrated GPUs have. */
const small: Machine = {
  ...machines.h100,
  limits: { ...machines.h100.limits, maxComputeWorkgroupStorageSize: 32 * 1024 },
};

const unspilled = [
  "ncde-character-direct",
  "ncde-character-adjoint",
  "fwp-ode-speech-hebb",
  "fwp-cde-speech-delta",
  "fwp-cde-worms-delta",
];

for (const workload of unspilled) {
  Deno.test(`nothing of ${workload} is spilled with 32 KiB of workgroup memory`, () => {
    assert.equal(gradientLoop(workload, small).spilledBytes, 0);
  });
}
