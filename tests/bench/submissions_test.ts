import assert from "node:assert/strict";
import { tidy } from "../../mod.ts";
import { prepare, workloadNames } from "../../bench/workloads.ts";
import { openNullGpu } from "../../bench/plans/null_gpu.ts";
import { observeLoops } from "../../src/compile/loop/graph_loop.ts";
import { operationsOfStep } from "../../src/compile/program/cost.ts";
import { setCurrentDevice } from "../../src/device/current.ts";
import { type Machine, machines } from "../../bench/plans/machines.ts";
import { submissionBudget } from "../../src/device/webgpu/submission_budget.ts";
import { cpu } from "../devices.ts";

/** A step of a workload on a GPU that runs nothing: operations of products and loops, and what the GPU received. */
async function stepOf(name: string, machine: Machine = machines.h100) {
  const { device, counts } = openNullGpu(machine);
  const matmul = device.matmul.bind(device);
  const operations = { products: 0, loops: 0 };
  device.matmul = (a, b, output) => {
    operations.products += 2 * a.shape.at(-1)! * output.shape.reduce((size, length) => size * length, 1);
    matmul(a, b, output);
  };
  setCurrentDevice(device);
  try {
    const { step } = prepare(name);
    await device.synchronize();
    const before = counts.submissions;
    counts.dispatches.clear();
    operations.products = 0;
    observeLoops(
      (_loop, { program, batch, steps }) => operations.loops += operationsOfStep(program) * batch * steps,
      () => tidy(() => void step()),
    );
    await device.synchronize();
    const dispatches = [...counts.dispatches.values()].reduce((sum, count) => sum + count, 0);
    const found = { ...operations, dispatches, submissions: counts.submissions - before };
    // The second step replays the commands of the first.
    tidy(() => void step());
    await device.synchronize();
    return { ...found, mostOperations: device.statistics.mostOperations };
  } finally {
    setCurrentDevice(cpu);
    device.destroy();
  }
}

for (const name of [...workloadNames, "ncde-speech-adjoint@1024", "warp-msd@1024x256", "matmul@8192"]) {
  Deno.test(`no submission of the workload ${name} exceeds the budget`, async () => {
    const { products, loops, submissions, mostOperations } = await stepOf(name);
    assert.ok(mostOperations <= submissionBudget, `${mostOperations} operations in a submission`);
    // The weight gradients of loops are products too.
    const fewest = Math.max(products, loops) / submissionBudget;
    assert.ok(submissions >= fewest, `${submissions} submissions, expected at least ${fewest}`);
  });
}

for (const machine of Object.values(machines)) {
  Deno.test(`a step on Speech Commands, batch size 1,024, has at most 1,300 dispatches on ${machine.name}`, async () => {
    const { dispatches } = await stepOf("ncde-speech-adjoint@1024", machine);
    assert.ok(dispatches <= 1300, `${dispatches} dispatches`);
  });
}
