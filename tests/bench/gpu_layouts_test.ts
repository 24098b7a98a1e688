import assert from "node:assert/strict";
import { planStep, rowsFor } from "../../bench/gpu_layouts.ts";
import { prepare } from "../../bench/workloads.ts";
import { currentDevice, setCurrentDevice } from "../../src/device/current.ts";
import { machines } from "../../src/device/machines.ts";

Deno.test("a workload has a row for its step and a row per loop, whose times add up", () => {
  const before = currentDevice();
  try {
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
  } finally {
    setCurrentDevice(before);
  }
});
