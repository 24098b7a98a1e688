/** Layouts and estimates for a GPU that is not there. The numbers of the small loop are computed by hand. */
import assert from "node:assert/strict";
import { key, normal, ones, scan, type Tensor, valueAndGrad, zeros } from "../../mod.ts";
import { openNullGpu } from "../../bench/plans/null_gpu.ts";
import { estimateLoop, secondsOfKernel } from "../../bench/plans/estimate.ts";
import { planFor } from "../../bench/plans/planned_gpu.ts";
import { currentDevice, setCurrentDevice } from "../../src/device/current.ts";
import { defaultLimits, type Machine, machines } from "../../bench/plans/machines.ts";

const weight = normal(key(0), [8, 8]);
const step = (y: Tensor): [Tensor, Tensor] => [y.matmul(weight).tanh(), y.sum(-1)];
const solve = () => scan(step, ones([4, 8]), zeros([10]));

/** A GPU with round constants: a cycle is a microsecond. */
const round: Machine = {
  name: "round",
  limits: defaultLimits,
  rates: {
    arithmetic: 1e9,
    memory: 1e6,
    cache: 1e9,
    cacheSize: 1e6,
    units: 2,
    clock: 1e6,
    lanes: 32,
    subgroup: 16,
    residentInvocations: 64,
    residentWorkgroups: 4,
    workgroupMemory: 64 * 1024,
    unitCache: 1024,
    latency: { arithmetic: 1, workgroupMemory: 10, unitCache: 20, cache: 100, memory: 200, barrier: 7 },
    launch: 0.5,
    products: 0.5,
  },
};

const planOf = (machine: Machine, body: () => unknown) =>
  planFor(machine, currentDevice(), () => void body());

Deno.test("a plan has the layout of a loop: samples, lanes, memory, calls, barriers and reads of weights", () => {
  const { loops: [{ layout, loopDispatches }] } = planOf(round, solve);
  assert.equal(loopDispatches, 1);
  const { work, steps, ...figures } = layout!;
  assert.ok(steps >= 10, "a dispatch runs all steps");
  assert.deepEqual(figures, {
    // Eight outputs for each of four samples.
    samples: 4,
    lanes: 8,
    workgroups: 1,
    // State and next state of four samples.
    workgroupMemory: 4 * 4 * (8 + 8),
    spilled: 0,
    // The product with tanh, the sum, and the copy of the next state to the state. The copy waits for the readers of the
    // state, and the product of the next step for the copy.
    calls: 3,
    barriers: 2,
    // 2 x 64 of the product, 8 of tanh, 8 of the sum.
    operations: 144,
    // The product uses eight of eight lanes, the sum one.
    lanesBusy: (136 + 8 / 8) / 144,
    samplesPerRead: 4,
    weights: 256,
    weightBytes: 256,
    spilledBytes: 0,
    // The output of a step.
    rowBytes: 4,
  });
  assert.deepEqual(
    work.map(({ invocations, iterations, readsFrom }) => [invocations, iterations, readsFrom]),
    [[8, 8, "weights"], [1, 8, "workgroup memory"], [8, 1, "workgroup memory"]],
  );
});

Deno.test("the estimate of a loop is its steps times the latency of a step, and two launches", () => {
  const { loops: [loop] } = planOf(round, solve);
  const { seconds, step, waves } = estimateLoop({ ...loop, layout: loop.layout! }, round.rates!);
  // A launch packs the weights, another runs the loop. Weights of 256 bytes are in the unit's cache. A step has 3 calls, 2 barriers,
  // and iterations that read 8, 8 and 1 terms at once.
  const cycles = 3 * 20 + 2 * 7 + 8 * (20 / 8 + 1) + 8 * (10 / 8 + 1) + 1 * (10 + 1);
  assert.equal(waves, 1);
  assert.ok(Math.abs(step.latency - cycles * 1e-6) < 1e-12, `${step.latency}`);
  assert.ok(step.latency > step.arithmetic && step.latency > step.rows);
  assert.ok(Math.abs(seconds - (10 * cycles * 1e-6 + 2 * 0.5)) < 1e-12, `${seconds}`);
});

Deno.test("workgroups that a machine cannot hold at the same time run in waves", () => {
  const large = () => scan(step, ones([64, 8]), zeros([10]));
  const { loops: [loop] } = planOf(round, large);
  // A unit holds one workgroup of 64 invocations. Two units take turns with eight workgroups.
  assert.equal(loop.layout!.workgroups, 8);
  assert.equal(estimateLoop({ ...loop, layout: loop.layout! }, round.rates!).waves, 4);
});

Deno.test("slots that exceed the workgroup memory of the machine are spilled", () => {
  // The softmax of a state of 12 KB: the state and its exponential take 24 KB.
  const softmax = (y: Tensor): [Tensor, Tensor] => {
    const exponential = y.sub(y.max(-1, { keepDims: true })).exp();
    return [exponential.div(exponential.sum(-1, { keepDims: true })), y.sum(-1)];
  };
  const spilledOn = (machine: Machine) =>
    planOf(machine, () => scan(softmax, ones([2, 3000]), zeros([2]))).loops[0].layout!.spilled;
  assert.ok(spilledOn(machines["default-limits"]) > 0);
  assert.equal(spilledOn(machines.h100), 0);
});

Deno.test("a kernel outside loops takes its launch, its operations or its bytes, whichever is longest", () => {
  const a = ones([64, 32]).add(normal(key(2), [64, 32]));
  const { kernels: [{ name, commands, operations, bytes, isProduct }] } = planOf(round, () => a.matmul(a.mT));
  assert.match(name, /^product: \(64, 32\) x \(32, 64\) transposed$/);
  assert.deepEqual({ operations, bytes, isProduct, dispatches: commands.dispatches }, {
    operations: 2 * 64 * 32 * 64,
    bytes: 4 * (64 * 32 + 64 * 32 + 64 * 64),
    isProduct: true,
    dispatches: 1,
  });
  const kernel = { name, commands, operations, bytes, isProduct };
  assert.equal(secondsOfKernel(kernel, round.rates!), 0.5);
  assert.equal(secondsOfKernel(kernel, { ...round.rates!, launch: 0 }), bytes / 1e6);
  assert.equal(secondsOfKernel(kernel, { ...round.rates!, launch: 0, memory: 1e12 }), operations / 5e8);
});

Deno.test("planning changes neither the results nor the gradients of a function", async () => {
  const gradient = () => valueAndGrad(() => solve()[0].square().sum())(weight)[1];
  let planned!: Tensor;
  planOf(machines.h100, () => planned = gradient());
  assert.deepEqual(await planned.data(), await gradient().data());
});

Deno.test("a device without a GPU accepts a training step, and gives the counts of a plan on the CPU", () => {
  const run = () => void valueAndGrad(() => scan(step, ones([64, 8]), zeros([10]))[0].square().sum())(weight);
  const onCpu = planOf(machines.h100, run);
  const before = currentDevice();
  const { device } = openNullGpu(machines.h100);
  try {
    setCurrentDevice(device);
    const given = normal(key(0), [8, 8]);
    const own = (y: Tensor): [Tensor, Tensor] => [y.matmul(given).tanh(), y.sum(-1)];
    const onNull = planOf(
      machines.h100,
      () => valueAndGrad(() => scan(own, ones([64, 8]), zeros([10]))[0].square().sum())(given),
    );
    assert.deepEqual(onNull.loops.map(({ layout }) => layout), onCpu.loops.map(({ layout }) => layout));
    assert.equal(onNull.commands.dispatches, onCpu.commands.dispatches);
  } finally {
    setCurrentDevice(before);
  }
});
