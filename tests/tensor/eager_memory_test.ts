/** The memory of loops without `tidy`, and what a call of a layer frees. */
import assert from "node:assert/strict";
import { key, layer, Linear, ones, type Tensor, tensor, valueAndGrad } from "../../mod.ts";
import { longOnSoftware, testLong, testOnDevices } from "../devices.ts";
import { measure } from "./training_memory.ts";

const mebibyte = 2 ** 20;

/** The largest number of bytes that the device has allocated during calls, beyond those before. */
async function peakOf(device: Parameters<typeof measure>[0], calls: number, call: () => Promise<unknown>) {
  let peak = 0;
  await measure(device, async (lent) => {
    for (let i = 0; i < calls; i++) {
      await call();
      peak = Math.max(peak, lent());
    }
  });
  return peak;
}

testOnDevices(
  "inference in a loop keeps the memory of two calls and some results",
  longOnSoftware,
  async (device) => {
    const model = layer({}, (x: Tensor) => x.mul(2).add(1).neg().abs().sum());
    const x = ones([512, 512]);
    // Each call makes 4 MiB of intermediate tensors: 400 MiB in all.
    const peak = await peakOf(device, 100, () => model(x).data());
    assert.ok(peak < 16 * mebibyte, `${peak / mebibyte} MiB of 400`);
  },
);

testOnDevices(
  "operations in a loop let the garbage collector release their results",
  longOnSoftware,
  async (device) => {
    const x = ones([1024, 1024]);
    // Milliseconds for each call, so that the collector, which works beside the loop, has half a second until the bound.
    const call = device.info.kind === "webgpu" ? () => x.add(1) : () => x.cumsum(0);
    const peak = await peakOf(device, 320, () => call().slice(0, 0, 1).data());
    assert.ok(peak < 1000 * mebibyte, `${peak / mebibyte} MiB of 1280`);
  },
);

testOnDevices(
  "training in a loop lets the garbage collector release gradients",
  longOnSoftware,
  async (device) => {
    const w = ones([1024, 1024]);
    const peak = await peakOf(device, 200, async () => {
      const [loss] = valueAndGrad((w: Tensor) => w.sum())(w);
      await loss.data();
    });
    assert.ok(peak < 500 * mebibyte, `${peak / mebibyte} MiB of 800`);
  },
);

testOnDevices("a layer may store a tensor at its first call and use it in later calls", async () => {
  let mask: Tensor | undefined;
  const masked = layer({}, (x: Tensor) => x.mul(mask ??= ones([4]).add(1)));
  const other = Linear({ inputs: 4, outputs: 4, key: key(0) });
  for (let i = 0; i < 5; i++) {
    assert.deepEqual([...await masked(ones([4])).data()], [2, 2, 2, 2]);
  }
  other(ones([1, 4]));
  other(ones([1, 4]));
  assert.deepEqual([...await mask!.data()], [2, 2, 2, 2]);
});

testOnDevices(
  "a tensor that a layer made and did not return is valid until the next call has ended",
  async () => {
    const stored: Tensor[] = [];
    const storing = layer({}, (x: Tensor) => {
      const hidden = x.add(1);
      stored.push(hidden);
      return hidden.mul(2);
    });
    const y = storing(ones([3]));
    assert.deepEqual([...await stored[0].data()], [2, 2, 2]);
    for (let i = 0; i < 3; i++) storing(ones([3]));
    assert.deepEqual([...await stored[0].data()], [2, 2, 2], "it was used, so it stays");
    assert.deepEqual([...await stored[3].data()], [2, 2, 2], "of the last call");
    await assert.rejects(stored[1].data(), /was freed when the function that made it ended .*keep\(/s);
    assert.deepEqual([...await y.data()], [4, 4, 4]);
  },
);

testOnDevices("results of layers stay valid, whatever contains them", async () => {
  const x = ones([3]);
  const inTree = layer({}, ((x: Tensor) => ({ a: [x.add(1)], b: 1 })) as unknown as (x: Tensor) => Tensor);
  const inObject = layer(
    {},
    ((x: Tensor) => new Map([["a", x.add(1)]])) as unknown as (x: Tensor) => Tensor,
  );
  const same = layer({}, (x: Tensor) => x);
  const view = layer({}, (x: Tensor) => x.add(1).reshape([1, 3]));
  const calls = Array.from({ length: 3 }, () => ({
    tree: inTree(x) as unknown as { a: Tensor[] },
    object: inObject(x) as unknown as Map<string, Tensor>,
    same: same(x),
    view: view(x),
  }));
  for (const { tree, object, same, view } of calls) {
    for (const result of [tree.a[0], object.get("a")!, view]) {
      assert.deepEqual([...await result.data()], [2, 2, 2]);
    }
    assert.equal(same, x);
  }
});

testOnDevices("a call of a layer that throws leaves earlier tensors valid", async () => {
  const x = tensor([1, 2]);
  const failing = layer({}, (x: Tensor): Tensor => {
    x.add(1);
    throw new Error("failed");
  });
  for (let i = 0; i < 3; i++) assert.throws(() => failing(x), /failed/);
  assert.deepEqual([...await x.add(1).data()], [2, 3]);
});

testLong("the memory of a process stays within twice that of the first ten calls of each loop", async () => {
  const program = new URL("loop_memory.ts", import.meta.url).href;
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--allow-all", "--no-lock", "--quiet", program, "300"],
  }).output();
  assert.equal(code, 0, new TextDecoder().decode(stderr));
  const lines = new TextDecoder().decode(stdout).trim().split("\n").map((line) => JSON.parse(line));
  assert.equal(lines.length, 8);
  for (const { name, batch, first, peak } of lines) {
    assert.ok(peak < 2 * first, `${name}, batch ${batch}: ${peak / mebibyte} MiB after ${first / mebibyte}`);
  }
});
