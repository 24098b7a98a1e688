import assert from "node:assert/strict";
import { grad, keep, key, normal, ones, scope, type Tensor, tensor, valueAndGrad } from "../../mod.ts";
import type { Device } from "../../src/device/device.ts";
import { testOnDevices } from "../devices.ts";

/** Counts the bytes that a device has lent while `body` runs. */
async function measure(device: Device, body: (lent: () => number) => Promise<void>): Promise<void> {
  const { allocate, release } = device;
  let bytes = 0;
  device.allocate = (byteLength) => (bytes += byteLength, allocate.call(device, byteLength));
  device.release = (memory, byteLength) => (bytes -= byteLength, release.call(device, memory, byteLength));
  try {
    await body(() => bytes);
  } finally {
    device.allocate = allocate;
    device.release = release;
  }
}

testOnDevices("a scope frees what it does not return", async (device) => {
  await measure(device, async (lent) => {
    const before = lent();
    const y = scope(() => ones([100]).add(1).mul(ones([100]).add(2)).sum(0, { keepDims: true }));
    assert.equal(lent() - before, 4);
    assert.equal(await y.item(), 600);
  });
});

testOnDevices("a scope returns nested structures and views of what was made in it", async () => {
  const { rows, list } = scope(() => {
    const x = tensor([[1, 2], [3, 4]]);
    return { rows: x.at(0, 1), list: [x.mT, 5, "name"] as const };
  });
  assert.deepEqual([...await rows.data()], [3, 4]);
  assert.deepEqual([...await list[0].data()], [1, 3, 2, 4]);
  assert.deepEqual(list.slice(1), [5, "name"]);
});

testOnDevices("a tensor that was freed says so and how to keep it", async () => {
  let lost: Tensor | undefined;
  let kept: Tensor | undefined;
  scope(() => {
    lost = ones([3]).add(1);
    kept = keep(ones([3]).add(2));
    return undefined;
  });
  assert.throws(() => lost!.add(1), /was freed when the scope that made it ended.*return.*keep\(/s);
  await assert.rejects(lost!.data(), /was freed/);
  assert.deepEqual([...await kept!.data()], [3, 3, 3]);
});

testOnDevices("a scope frees what was made when its body throws", async (device) => {
  await measure(device, (lent) => {
    const before = lent();
    assert.throws(() =>
      scope(() => {
        ones([100]).add(1);
        throw new Error("no luck");
      }), /no luck/);
    assert.equal(lent(), before);
    return Promise.resolve();
  });
});

testOnDevices("scopes inside others hand over what they return", async (device) => {
  await measure(device, async (lent) => {
    const before = lent();
    const y = scope(() => scope(() => ones([10]).add(1)).mul(3));
    assert.equal(lent() - before, 40);
    assert.equal(await y.at(0, 0).item(), 6);
  });
});

testOnDevices("valueAndGrad keeps the value and the gradients, and nothing else", async (device) => {
  const w = tensor([[0.5, -1], [2, 0.25]]);
  await measure(device, async (lent) => {
    const before = lent();
    const [value, gradient] = valueAndGrad((w: Tensor) => w.matmul(w).tanh().square().sum())(w);
    assert.equal(lent() - before, 4 + 16);
    assert.ok(Number.isFinite(await value.item()));
    assert.equal(gradient.size, 4);
  });
});

testOnDevices("gradients of gradients inside a scope are not freed too early", async () => {
  const x = tensor([1, 2, 3]);
  const second = grad((x: Tensor) => grad((x: Tensor) => x.pow(3).sum())(x).sum())(x);
  const values = await second.data();
  [6, 12, 18].forEach((value, i) => assert.ok(Math.abs(values[i] - value) < 1e-4, `${values}`));
});

/** Gradient descent on a small model. */
function smallModel() {
  const parameters = { w: normal(key(0), [8, 8]).mul(0.3), b: tensor(new Float32Array(8)) };
  const x = normal(key(1), [16, 8]);
  const loss = ({ w, b }: typeof parameters) => x.matmul(w).add(b).tanh().sub(x).square().mean();
  return () => {
    const [, gradients] = valueAndGrad(loss)(parameters);
    scope(() => {
      parameters.w.assign(parameters.w.sub(gradients.w.mul(0.05)));
      parameters.b.assign(parameters.b.sub(gradients.b.mul(0.05)));
      return undefined;
    });
  };
}

/**
 * Bytes lent by the device and bytes of the process after each hundred of 10,000 steps; prints both ends. JavaScript's
 * heap does not count: how large it grows between collections is the collector's choice.
 */
async function memoryOver10000(
  device: Device,
  step: () => void,
): Promise<{ lent: number[]; process: number[] }> {
  const samples = { lent: [] as number[], process: [] as number[] };
  await measure(device, async (lent) => {
    for (let i = 1; i <= 10_000; i++) {
      step();
      if (i % 100 !== 0) continue;
      await device.synchronize();
      // What is made outside any scope is left to the collector, which frees it between tasks.
      await new Promise((resolve) => setTimeout(resolve, 0));
      samples.lent.push(lent());
      const { rss, heapTotal } = Deno.memoryUsage();
      samples.process.push(rss - heapTotal);
    }
  });
  const ends = (bytes: number[]) =>
    [bytes[0], bytes.at(-1)!].map((n) => `${(n / 2 ** 20).toFixed(2)} MiB`).join(" and ");
  console.log(
    `memory on ${device.info.kind} after 100 and 10,000 steps: tensors ${ends(samples.lent)}, process ${
      ends(samples.process)
    }`,
  );
  return samples;
}

testOnDevices("memory is flat over 10,000 training steps, each in a scope", async (device) => {
  const step = smallModel();
  const { lent, process } = await memoryOver10000(device, () => scope(step));
  assert.equal(lent.at(-1), lent[0]);
  assert.ok(process.at(-1)! < process[20] + 32 * 2 ** 20, `${process}`);
});

testOnDevices(
  "memory is flat over 10,000 training steps whose gradients the collector frees",
  async (device) => {
    const { lent } = await memoryOver10000(device, smallModel());
    // The gradients of some thousand steps may wait for the collector, and no more.
    assert.ok(Math.max(...lent.slice(50)) < 2 * Math.max(...lent.slice(0, 50)) + 2 ** 20, `${lent}`);
  },
);
