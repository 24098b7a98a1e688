import assert from "node:assert/strict";
import { jit, key, normal, type Tensor, tensor, valueAndGrad } from "../../mod.ts";
import { capture, flushDeferred } from "../../src/device/capture.ts";
import type { KernelDevice } from "../../src/device/device.ts";
import { fuseDeferred } from "../../src/compile/jit/fuse_deferred.ts";
import { testOnCpu, testOnDevices } from "../devices.ts";

const values = async (x: Tensor) => [...await x.data()];

/** Numbers of kernels that a function queues, before and after fusion. */
function kernelsOf(
  device: KernelDevice,
  f: () => Tensor | readonly Tensor[],
): { before: number; after: number } {
  const counts = { before: 0, after: 0 };
  const { commands } = capture(device, () => {
    const results = [f()].flat();
    flushDeferred(
      new Set(results.flatMap(({ view: { source } }) => typeof source === "number" ? [] : [source])),
    );
  }, (...args) => {
    const fused = fuseDeferred(...args);
    counts.before += args[1].length;
    counts.after += fused.length;
    return fused;
  });
  commands.free();
  return counts;
}

/** Twenty elementwise operations. */
function chain(x: Tensor): Tensor {
  for (let i = 0; i < 10; i++) x = x.mul(1 + i / 10).add(0.1);
  return x;
}

testOnDevices("jit fuses a chain of twenty elementwise operations to one kernel", (device) => {
  const x = normal(key(0), [33]);
  assert.deepEqual(kernelsOf(device, () => chain(x)), { before: 20, after: 1 });
});

testOnDevices("jit fuses trees that broadcast numbers and rows to one kernel", (device) => {
  const [x, row] = [normal(key(0), [5, 7]), normal(key(1), [7])];
  const tree = () => x.sub(row).square().mul(0.5).add(x.mul(row).tanh());
  assert.deepEqual(kernelsOf(device, tree), { before: 6, after: 1 });
});

testOnDevices("jit stores a value that kernels of several results read, and computes it once", (device) => {
  const x = normal(key(0), [33]);
  const f = () => {
    const y = x.exp().add(1);
    return [y.mul(2), y.sum()];
  };
  assert.deepEqual(kernelsOf(device, f), { before: 4, after: 3 });
});

testOnDevices("jit stores a value that a kernel reads in reverse order", async () => {
  const x = normal(key(0), [2, 3]);
  const f = (x: Tensor) => x.exp().flip(-1).add(1);
  assert.deepEqual(await values(jit(f)(x)), await values(f(x)));
});

testOnDevices("jit drops kernels whose results nothing reads", (device) => {
  const x = normal(key(0), [33]);
  const f = () => {
    x.exp().sum();
    return x.neg();
  };
  assert.deepEqual(kernelsOf(device, f), { before: 3, after: 1 });
});

testOnCpu("fused chains and their gradients have the same bits as separate operations", async () => {
  for (const dtype of ["float32", "float64"] as const) {
    const x = normal(key(0), [1001], { dtype });
    const f = (x: Tensor) => chain(x).tanh().mul(x.square().add(0.5).sqrt()).sum();
    const [value, gradient] = valueAndGrad(f)(x);
    const [jittedValue, jittedGradient] = jit(valueAndGrad(f))(x);
    assert.deepEqual(await values(jittedValue), await values(value));
    assert.deepEqual(await values(jittedGradient), await values(gradient));
  }
});

testOnDevices("fused kernels read the values from before an assignment", async () => {
  const x = tensor([[1, 2], [3, 4]]);
  const f = jit(() => {
    const before = x.add(1);
    x.assign(x.transpose().mul(10).add(1));
    return before.mul(2).add(x);
  });
  assert.deepEqual(await values(f()), [15, 37, 29, 51]);
  assert.deepEqual(await values(x), [11, 31, 21, 41]);
});

testOnDevices("each jit call updates assigned tensors by fused kernels", async () => {
  const [x, momentum] = [tensor([1, 2]), tensor([0, 0])];
  const step = jit((gradient: Tensor) => {
    momentum.assign(momentum.mul(0.5).add(gradient));
    x.assign(x.sub(momentum.mul(2)));
  });
  const gradient = tensor([1, -1]);
  for (let i = 0; i < 3; i++) step(gradient);
  assert.deepEqual(await values(momentum), [1.75, -1.75]);
  assert.deepEqual(await values(x), [1 - 8.5, 2 + 8.5]);
});
