import assert from "node:assert/strict";
import {
  explain,
  key,
  normal,
  odeint,
  ones,
  scan,
  splitKey,
  type Tensor,
  tensor,
  tidy,
  valueAndGrad,
  zeros,
} from "../../mod.ts";
import { openGpu } from "../../src/compile/executors/wgsl/open_gpu.ts";
import { chooseExecutor } from "../../src/compile/program/cost.ts";
import type { Run, RunResult } from "../../src/compile/executors/run.ts";
import { observeLoops } from "../../src/compile/loop/graph_loop.ts";
import { wasmLoops } from "../../src/compile/executors/wasm/wasm_loops.ts";
import { type Bounds, runStepped } from "../../src/compile/executors/stepped/run_stepped.ts";
import { hoistFills } from "../../src/compile/program/passes/hoist_fills.ts";
import { splitKernels } from "../../src/compile/program/passes/split_kernels.ts";
import { runOnCpu } from "../../src/compile/executors/wasm/run_on_cpu.ts";
import { makeContiguous } from "../../src/device/view.ts";
import type { CpuDevice } from "../../src/device/cpu/device.ts";
import { setCurrentDevice } from "../../src/device/current.ts";
import type { WebGpuDevice } from "../../src/device/webgpu/device.ts";
import { testOnBoth, testOnCpu, testOnDevices } from "../devices.ts";
import { solved } from "../loops.ts";
import { randomBody } from "./random_body.ts";
import { compare, optionsOf, runBody } from "./run_body.ts";

for (let i = 0; i < 40; i++) {
  testOnCpu(
    `random loop ${i} gives the same results stepped and operation by operation, in float64`,
    async () => {
      const body = randomBody(9_000_000 + i);
      const [a, b] = [
        await runBody(body, "float64", { ...optionsOf(body), executor: "stepped" }),
        await runBody(body, "float64", { compile: false }),
      ];
      const { worst, where } = compare(a, b);
      assert.ok(worst <= 1e-10, `${where} differs by ${worst}`);
    },
  );
}
for (let i = 0; i < 10; i++) {
  testOnDevices(`random loop ${i} gives the same results stepped and fused, in float32`, async () => {
    const body = randomBody(9_100_000 + i);
    const [a, b] = [
      await runBody(body, "float32", { executor: "stepped" }),
      await runBody(body, "float32", { executor: "fused" }),
    ];
    const { worst, where } = compare(a, b);
    assert.ok(worst <= 1e-5, `${where} differs by ${worst}`);
  });
}

/** A linear recurrence with a gate: a matrix for the state, one for the rows, and an output at every step. */
function recurrence(batch: number, size: number, steps: number) {
  const keys = splitKey(key(21), 5);
  const parameters = {
    transition: normal(keys[0], [size, size], { standardDeviation: 0.8 / Math.sqrt(size) }),
    input: normal(keys[1], [3, size]),
    gate: normal(keys[2], [size, size], { standardDeviation: 0.5 / Math.sqrt(size) }),
    bias: normal(keys[2], [size]),
    start: normal(keys[3], [batch, size]),
    x: normal(keys[4], [steps, batch, 3]),
  };
  const { transition, input, gate, bias, start, x } = parameters;
  const step = (theta: Tensor, x: Tensor): [Tensor, Tensor] => {
    const next = theta.matmul(transition.mT).add(x.matmul(input)).mul(theta.matmul(gate).add(bias).sigmoid());
    return [next, next];
  };
  return (executor?: "fused" | "stepped") =>
    valueAndGrad(() => scan(step, start, x, { executor })[1].square().mean())(parameters);
}

const sizes: { batch: number; size: number; steps: number }[] = [
  { batch: 1, size: 1, steps: 1 },
  { batch: 1, size: 40, steps: 3 },
  { batch: 7, size: 1, steps: 2 },
  { batch: 33, size: 20, steps: 4 },
  { batch: 2, size: 3, steps: 700 },
];
for (const { batch, size, steps } of sizes) {
  testOnDevices(
    `stepped and fused loops agree: ${steps} steps, ${batch} samples, ${size} elements`,
    async () => {
      const run = recurrence(batch, size, steps);
      const [[value, gradients], [expected, expectedGradients]] = (["stepped", "fused"] as const)
        .map((executor) => solved(true, () => run(executor)));
      const pairs: [string, Tensor, Tensor][] = [
        ["value", value, expected],
        ...Object.keys(gradients).map((name): [string, Tensor, Tensor] => {
          const key = name as keyof typeof gradients;
          return [name, gradients[key], expectedGradients[key]];
        }),
      ];
      for (const [name, a, b] of pairs) {
        const [found, wanted] = [await a.data(), await b.data()];
        const scale = Math.max(1e-6, ...wanted.map(Math.abs));
        found.forEach((x, i) =>
          assert.ok(Math.abs(x - wanted[i]) <= 1e-5 * scale, `${name}: ${x}, ${wanted[i]}`)
        );
      }
    },
  );
}

testOnDevices("a transposed matrix or a slice of it is read without a copy", async (device) => {
  const weight = normal(key(5), [18, 9]);
  const second = weight.slice(0, 9).mT;
  const column = weight.mT.slice(1, 3, 4);
  const step = (h: Tensor, x: Tensor): [Tensor, Tensor] => [
    h.matmul(second).add(x).add(column.mT).tanh(),
    h.matmul(weight.mT),
  ];
  const copies: unknown[] = [];
  const map = device.map;
  device.map = (fn, inputs, output) => {
    const isWeight = inputs.some(({ source, shape }) => source === weight.view.source && shape.at(-2)! >= 9);
    if (isWeight) copies.push(output.shape);
    map.call(device, fn, inputs, output);
  };
  const run = (executor: "fused" | "stepped") =>
    valueAndGrad(() => {
      const [last, all] = scan(step, ones([2, 9]), normal(key(6), [3, 2, 9]), { executor });
      return last.square().sum().add(all.square().sum());
    })(weight);
  const [value, gradient] = run("stepped");
  device.map = map;
  assert.deepEqual(copies, []);
  const [expected, exact] = run("fused");
  assert.ok(Math.abs(await value.item() - await expected.item()) <= 1e-4 * await expected.item());
  const largest = await gradient.sub(exact).abs().max().item();
  assert.ok(largest <= 1e-5 * await exact.abs().max().item(), `gradients differ by ${largest}`);
});

/** Runs the loops of `body` within bounds and compares the results with the fused loop's. */
function checkLoops(device: CpuDevice, body: () => void, bounds: Bounds): Run[] {
  const valuesOf = ({ finals, outputs, stepSums, sums, weightGradients }: RunResult) =>
    [...finals, ...outputs, ...stepSums, ...sums, ...weightGradients]
      .map((view) => [...device.readSync(makeContiguous(device, view))]);
  const runs: Run[] = [];
  observeLoops((_loop, run) => {
    runs.push(run);
    const expected = valuesOf(runOnCpu(device, run));
    valuesOf(runStepped(device, run, wasmLoops(device).hoistFills, bounds)).forEach((values, i) => {
      const scale = expected[i].reduce((most, x) => Math.max(most, Math.abs(x)), 1e-6);
      values.forEach((x, j) =>
        assert.ok(Math.abs(x - expected[i][j]) <= 1e-5 * scale, `${i}: ${x}, ${expected[i][j]}`)
      );
    });
  }, body);
  assert.ok(runs.length >= 1, "a loop ran compiled");
  return runs;
}

testOnCpu("weight gradients that sum a few steps per product are correct", (device) => {
  const body = () => void recurrence(5, 8, 7)();
  // 700 bytes hold the rows of about two steps, so each product sums only a few steps.
  const runs = checkLoops(device as CpuDevice, body, { maxOperands: 7, productRowBytes: 700 });
  assert.ok(runs.some(({ program }) => program.weightGradients.length > 0));
});

testOnCpu("expressions with more operands than one kernel binds are split", (device) => {
  const keys = splitKey(key(3), 12);
  const terms = keys.map((seed) => normal(seed, [4, 5]));
  const body = () =>
    void scan(
      (h: Tensor, x: Tensor) => {
        const sum = terms.reduce((sum, term) => sum.mul(0.5).add(term.mul(h)), x);
        return [sum.tanh(), sum.sum(1)];
      },
      ones([4, 5]),
      normal(key(4), [3, 4, 5]),
    );
  const [{ program }] = checkLoops(device as CpuDevice, body, { maxOperands: 3, productRowBytes: 0 });
  const largestCount = (kernels: Run["program"]["kernels"]) =>
    Math.max(...kernels.map((kernel) => kernel.kind === "map" ? kernel.operands.length : 0));
  assert.ok(largestCount(program.kernels) > 3);
  assert.ok(largestCount(splitKernels(program, 3).kernels) <= 3);
});

const loopOf = (batch: number, size: number, executor?: "fused" | "stepped") => {
  const weight = normal(key(0), [size, size], { standardDeviation: 1 / size });
  const step = (h: Tensor, x: Tensor): [Tensor, []] => [h.matmul(weight).add(x), []];
  return explain(() => scan(step, ones([batch, size]), ones([1, batch, 1]), { executor })).text;
};

testOnCpu("large weights are multiplied step by step, for all samples at once", () => {
  assert.match(loopOf(2, 2048), /executor: stepped, the weights of a step, 16777216 bytes, exceed/);
});

testOnCpu("gradients of weights larger than the cache are summed over many steps at once", () => {
  const weight = normal(key(0), [1200, 1200], { standardDeviation: 0.01 });
  const loss = () =>
    scan((h: Tensor, x: Tensor) => [h.matmul(weight).add(x), []], ones([64, 1200]), ones([1, 64, 1]))[0];
  const text = explain(() => valueAndGrad(() => loss().sum())(weight)).text;
  assert.match(text, /forward loop[^]*executor: fused/);
  assert.match(
    text,
    /backward loop[^]*executor: stepped, the gradients of the weights, 5760000 bytes, exceed/,
  );
});

testOnCpu("large weights are multiplied step by step if there are too few samples for two threads", () => {
  assert.match(
    loopOf(2, 1298),
    /executor: stepped, in a fused loop, one thread would read 6739216 bytes of weights/,
  );
  assert.match(loopOf(16, 1298), /executor: fused/);
});

testOnCpu("a loop is fused while the weights per lane fit the cache, and stepped otherwise", () => {
  assert.match(loopOf(64, 64), /executor: fused, the weights of a step, 16384 bytes, stay/);
  assert.match(loopOf(1, 400), /executor: stepped, the weights of a step, copied to each lane/);
});

testOnCpu("a loop with very short steps is one fused kernel", () => {
  const weight = normal(key(0), [200, 200]);
  const gpu = { kind: "webgpu", description: "", software: false } as const;
  const reasons: string[] = [];
  observeLoops(
    (_, { program }) => reasons.push(chooseExecutor(program, 1, gpu).reason),
    () => scan((h: Tensor, x: Tensor) => [h.matmul(weight).add(x), []], ones([1, 200]), ones([1, 1, 1])),
  );
  assert.equal(reasons.length, 1);
  assert.match(reasons[0], /would take longer to start than/);
});

testOnDevices("a step too large for one dispatch of a software GPU is stepped", async ({ info }) => {
  const cell = (y: Tensor): [Tensor, []] => {
    const products = y.expandDims(2).mul(y.expandDims(1));
    return [y.mul(products.sum([1, 2]).expandDims(1).mul(2 ** -17)), []];
  };
  const run = () => scan(cell, ones([2, 256]), ones([2]))[0];
  if (info.kind === "webgpu" && info.software) {
    assert.match(
      explain(run).text,
      /executor: stepped, a step needs more loop iterations than a software adapter allows/,
    );
  }
  assert.deepEqual((await run().data()).slice(-2), Float32Array.of(0.0625, 0.0625));
});

testOnDevices("the executor option selects the executor", () => {
  assert.match(loopOf(4, 8, "stepped"), /executor: stepped, as requested\n2 kernels and 1 copies/);
  assert.match(loopOf(4, 8, "fused"), /executor: fused, as requested/);
});

Deno.test("a solve passes on the executor option, and explain prints the executor that ran", () => {
  const weight = normal(key(0), [1500, 1500], { standardDeviation: 0.01 });
  const explained = (executor?: "fused" | "stepped") =>
    explain(() =>
      odeint((_t: Tensor, y: Tensor) => y.matmul(weight), ones([2, 1500]), [0, 1], {
        method: "rk4",
        stepSize: 1,
        executor,
      })
    ).text;
  assert.match(explained(), /executor: stepped, the weights/);
  assert.match(explained("fused"), /executor: fused, as requested/);
});

testOnBoth(
  "the number of kernels does not grow with steps, and steps share submissions",
  async (_cpu, webgpu) => {
    const device = webgpu as WebGpuDevice;
    const [short, long] = [10, 500].map((steps) => recurrence(3, 4, steps));
    short("stepped");
    await device.synchronize();
    const before = device.statistics;
    long("stepped");
    await device.synchronize();
    const { kernels, batches } = device.statistics;
    assert.equal(kernels, before.kernels);
    // A few dispatches per step, forward and backward, with 256 dispatches per submission.
    assert.ok(batches - before.batches < 50, `${batches - before.batches} submissions`);
  },
);

testOnBoth("a stepped gradient leaks no memory", async (_cpu, webgpu) => {
  const { implementation } = webgpu as WebGpuDevice;
  const device = await openGpu({ implementation });
  setCurrentDevice(device);
  const run = recurrence(5, 6, 9);
  const used: number[] = [];
  for (let i = 0; i < 4; i++) {
    tidy(() => void run("stepped"));
    await device.synchronize();
    used.push(device.statistics.bytes.used);
  }
  // The garbage collector may have freed earlier tensors.
  assert.ok(used.at(-1)! <= used[1], `${used.join(", ")} bytes`);
  device.destroy();
});

testOnBoth("the zeros around the gradient of a slice are filled once per loop", async (cpu, webgpu) => {
  const parameters = {
    state: normal(key(0), [3, 6], { standardDeviation: 0.5 }),
    weight: normal(key(1), [2, 6], { standardDeviation: 0.5 }),
  };
  const values = await Promise.all([parameters.state.data(), parameters.weight.data()]);
  const gradients = (steps: number) => {
    const [state, weight] = values.map((data, i) => tensor(data, { shape: [[3, 6], [2, 6]][i] }));
    const cell = (y: Tensor): [Tensor, Record<string, never>] => [
      y.slice(1, 0, 2).matmul(weight).tanh().mul(y.slice(1, 3, 4)).add(y.mul(0.5)),
      {},
    ];
    const loss = () => scan(cell, state, zeros([steps]), { executor: "stepped" })[0].square().sum();
    return Object.values(valueAndGrad(loss)({ state, weight })[1]) as Tensor[];
  };
  const fills: number[] = [];
  observeLoops((_loop, { program }) => fills.push(hoistFills(program).fills.length), () => void gradients(3));
  assert.deepEqual(fills, [0, 2]);
  const found = await Promise.all(gradients(5).map((x) => x.data()));
  setCurrentDevice(cpu);
  const expected = await Promise.all(gradients(5).map((x) => x.data()));
  setCurrentDevice(webgpu);
  for (const [i, list] of expected.entries()) {
    list.forEach((value, j) =>
      assert.ok(Math.abs(Number(found[i][j]) - Number(value)) <= 1e-5, `${i}, ${j}`)
    );
  }
});
