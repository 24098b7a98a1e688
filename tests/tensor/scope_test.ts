import assert from "node:assert/strict";
import { grad, keep, ones, type Tensor, tensor, tidy, valueAndGrad, vjp } from "../../mod.ts";
import type { WebGpuDevice } from "../../src/device/webgpu/device.ts";
import { longOnSoftware, testOnDevices } from "../devices.ts";
import { measure, memoryOverSteps, smallModel, stepsOn } from "./training_memory.ts";

testOnDevices("a scope frees tensors that it does not return", async (device) => {
  await measure(device, async (lent) => {
    const before = lent();
    const y = tidy(() => ones([100]).add(1).mul(ones([100]).add(2)).sum(0, { keepDims: true }));
    assert.equal(lent() - before, 4);
    assert.equal(await y.item(), 600);
  });
});

testOnDevices("a scope returns nested structures and views of tensors created in it", async () => {
  const { rows, list } = tidy(() => {
    const x = tensor([[1, 2], [3, 4]]);
    return { rows: x.select(0, 1), list: [x.mT, 5, "name"] as const };
  });
  assert.deepEqual([...await rows.data()], [3, 4]);
  assert.deepEqual([...await list[0].data()], [1, 3, 2, 4]);
  assert.deepEqual(list.slice(1), [5, "name"]);
});

testOnDevices("using a freed tensor throws an error that says how to keep it", async () => {
  let lost: Tensor | undefined;
  let kept: Tensor | undefined;
  tidy(() => {
    lost = ones([3]).add(1);
    kept = keep(ones([3]).add(2));
    return undefined;
  });
  assert.throws(
    () => lost!.add(1),
    /was freed when the function that made it ended \(tidy,.*return.*keep\(/s,
  );
  await assert.rejects(lost!.data(), /was freed/);
  assert.deepEqual([...await kept!.data()], [3, 3, 3]);
});

testOnDevices("a scope frees its tensors when its body throws", async (device) => {
  await measure(device, (lent) => {
    const before = lent();
    assert.throws(() =>
      tidy(() => {
        ones([100]).add(1);
        throw new Error("no luck");
      }), /no luck/);
    assert.equal(lent(), before);
    return Promise.resolve();
  });
});

testOnDevices("a nested scope passes returned tensors to the outer scope", async (device) => {
  await measure(device, async (lent) => {
    const before = lent();
    const y = tidy(() => tidy(() => ones([10]).add(1)).mul(3));
    assert.equal(lent() - before, 40);
    assert.equal(await y.select(0, 0).item(), 6);
  });
});

testOnDevices("valueAndGrad frees everything except the value and the gradients", async (device) => {
  const w = tensor([[0.5, -1], [2, 0.25]]);
  await measure(device, async (lent) => {
    const before = lent();
    const [value, gradient] = valueAndGrad((w: Tensor) => w.matmul(w).tanh().square().sum())(w);
    assert.equal(lent() - before, 4 + 16);
    assert.ok(Number.isFinite(await value.item()));
    assert.equal(gradient.size, 4);
  });
});

testOnDevices("second gradients inside a scope are not freed too early", async () => {
  const x = tensor([1, 2, 3]);
  const second = grad((x: Tensor) => grad((x: Tensor) => x.pow(3).sum())(x).sum())(x);
  const values = await second.data();
  [6, 12, 18].forEach((value, i) => assert.ok(Math.abs(values[i] - value) < 1e-4, `${values}`));
  // A product copies a broadcast operand, and frees the copy.
  const w = tensor([[1, 2], [3, 4]]);
  vjp(() => grad((w: Tensor) => w.matmul(w).sum().square())(w), w);
});

testOnDevices(
  "memory does not grow over training steps in scopes",
  longOnSoftware,
  async (device) => {
    // In a separate process, whose memory other tests do not affect.
    const implementation = device.info.kind === "webgpu" ? (device as WebGpuDevice).implementation : "native";
    const program = new URL("training_memory.ts", import.meta.url).href;
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "--allow-all", "--no-lock", "--quiet", program, device.info.kind, implementation],
    }).output();
    assert.equal(code, 0, new TextDecoder().decode(stderr));
    const { lent, process } = JSON.parse(new TextDecoder().decode(stdout));
    assert.equal(lent.at(-1), lent[0]);
    // Less than 8 KiB for each step.
    assert.ok(process.at(-1) < process[20] + 8192 * stepsOn(device), `${process}`);
  },
);

testOnDevices(
  "memory does not grow over training steps with garbage-collected gradients",
  longOnSoftware,
  async (device) => {
    const { lent } = await memoryOverSteps(device, smallModel());
    // The gradients of half of the steps, of 288 bytes each, may wait for the garbage collector.
    assert.ok(Math.max(...lent) < 288 / 2 * stepsOn(device), `${lent}`);
  },
);
