import assert from "node:assert/strict";
import { explain, key, normal, ones, scan, type Tensor, tune, valueAndGrad } from "../../mod.ts";
import type { Run } from "../../src/compile/executors/run.ts";
import { possibleSchedules, runAs, setSchedule } from "../../src/compile/executors/choose_executor.ts";
import { observeLoops } from "../../src/compile/loop/graph_loop.ts";
import { runOnCpu } from "../../src/compile/executors/wasm/run_on_cpu.ts";
import type { CpuDevice } from "../../src/device/cpu/device.ts";
import type { BufferView } from "../../src/device/device.ts";
import { makeContiguous, uploadView } from "../../src/device/view.ts";
import type { WebGpuDevice } from "../../src/device/webgpu/device.ts";
import { longOnSoftware, testOnBoth, testOnCpu, testOnDevices } from "../devices.ts";

/** A different loop for each size, because tuning results are cached. */
function loop(size: number) {
  const weight = normal(key(size), [size, size], { standardDeviation: 0.3 });
  const start = normal(key(1), [5, size]);
  const step = (h: Tensor, x: Tensor): [Tensor, Tensor] => {
    const next = h.matmul(weight).add(x).tanh();
    return [next, next.sum(1)];
  };
  const run = () => scan(step, start, ones([3, 5, 1]))[1].square().sum();
  return { run, weight };
}

testOnDevices(
  "tuning times every executor of each loop, keeps one and does not change results",
  longOnSoftware,
  async () => {
    const { run, weight } = loop(6);
    const solve = () => valueAndGrad(run)(weight);
    const [before] = solve();
    const lines = (await tune(solve)).split("\n");
    assert.equal(lines.length, 2, "the loop and its gradient");
    for (const line of lines) {
      assert.match(
        line,
        /^3 steps of 5 samples: (fused|stepped).* of fused \d+\.\d\d ms, stepped \d+\.\d\d ms/,
      );
    }
    assert.equal([...explain(solve).text.matchAll(/executor: (fused|stepped), as tuned/g)].length, 2);
    const [after] = solve();
    assert.ok(Math.abs(await after.item() - await before.item()) < 1e-5 * await before.item());
  },
);

testOnCpu("a tuned executor is used unless an option selects another", (device) => {
  const { run } = loop(7);
  observeLoops((_, run) => setSchedule(device as CpuDevice, run, { executor: "stepped" }), () => void run());
  assert.match(explain(run).text, /executor: stepped, as tuned/);
  const withOption = () =>
    scan((h: Tensor, x: Tensor) => [h.add(x), []], ones([2, 3]), ones([2, 1]), { executor: "fused" });
  assert.match(explain(withOption).text, /executor: fused, as requested/);
});

testOnBoth("every executor gives the same results", async (cpu, webgpu) => {
  const { run, weight } = loop(20);
  const device = webgpu as WebGpuDevice;
  const loops: Run[] = [];
  const outputs: { name: string; loop: number; values: ReturnType<typeof device.read> }[] = [];
  const hostInputs: ReturnType<typeof device.read>[] = [];
  observeLoops((_, run) => {
    hostInputs.push(device.read(run.inputs.map((view) => makeContiguous(device, view))));
    for (const way of possibleSchedules(device, run)) {
      const { outputs: ran, weightGradients, finals } = runAs(way, device, run);
      const views = [...ran, ...weightGradients, ...finals].map((view) => makeContiguous(device, view));
      outputs.push({ name: JSON.stringify(way), loop: loops.length, values: device.read(views) });
    }
    loops.push(run);
  }, () => void valueAndGrad(run)(weight));
  assert.ok(outputs.length >= 6);
  const expected: Float64Array[][] = [];
  for (const [i, run] of loops.entries()) {
    const values = await hostInputs[i];
    const inputs = run.inputs.map(({ shape, dtype }, j): BufferView =>
      uploadView(cpu, values[j], shape, dtype)
    );
    const { outputs, weightGradients, finals } = runOnCpu(cpu as CpuDevice, { ...run, inputs });
    expected.push(
      [...outputs, ...weightGradients, ...finals].map((view) =>
        Float64Array.from((cpu as CpuDevice).readSync(makeContiguous(cpu, view)))
      ),
    );
  }
  for (const { name, loop, values } of outputs) {
    (await values).forEach((list, i) => {
      const scale = expected[loop][i].reduce((most, x) => Math.max(most, Math.abs(x)), 1e-6);
      list.forEach((x, j) =>
        assert.ok(
          Math.abs(x - expected[loop][i][j]) <= 1e-5 * scale,
          `${name}: ${x}, expected ${expected[loop][i][j]}`,
        )
      );
    });
  }
});
