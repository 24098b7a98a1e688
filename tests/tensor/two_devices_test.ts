/** Tensors of two devices: operations reject them, and `to` moves them. */
import assert from "node:assert/strict";
import { jit, ones, scan, type Tensor, tensor } from "../../mod.ts";
import { cpu, testOnBoth } from "../devices.ts";
import { createCpuDevice } from "../../src/device/cpu/device.ts";
import { setCurrentDevice } from "../../src/device/current.ts";

testOnBoth("operations on tensors of two devices throw, and to() moves a tensor", async (cpu, webgpu) => {
  setCurrentDevice(cpu);
  const a = tensor([1, 2]);
  setCurrentDevice(webgpu);
  const b = tensor([3, 4]);
  assert.throws(
    () => a.add(b),
    /add: one tensor is on cpu, another on webgpu; move one with await x.to\(device\)/,
  );
  assert.deepEqual([...await (await a.to(webgpu)).add(b).data()], [4, 6]);
  assert.deepEqual([...await a.add(await b.to(cpu)).data()], [4, 6]);
  assert.equal(await a.to(cpu), a);
});

Deno.test("tensors of two devices of one kind are rejected with the reason and the remedy", async () => {
  setCurrentDevice(createCpuDevice({ threads: 1 }));
  const a = tensor([1, 2]);
  const second = createCpuDevice({ threads: 1 });
  setCurrentDevice(second);
  const b = tensor([3, 4]);
  assert.throws(
    () => a.add(b),
    /add: the tensors are on two devices of the kind cpu, because init was called .* x\.to\(device\)/,
  );
  assert.deepEqual([...await (await a.to(second)).add(b).data()], [4, 6]);
});

Deno.test("loops, assign and jit reject tensors of two devices", () => {
  setCurrentDevice(createCpuDevice({ threads: 1 }));
  const a = tensor([1, 2]);
  setCurrentDevice(cpu);
  const b = tensor([1, 2]);
  const mixes = [
    () => scan((h) => [h.mul(a), 0], b, b),
    () => a.assign(b),
    () => jit((x: Tensor) => x.add(b))(a),
  ];
  for (const mix of mixes) {
    assert.throws(mix, /the tensors are on two devices of the kind cpu/);
  }
});

testOnBoth("only the CPU supports float64", (_, webgpu) => {
  setCurrentDevice(webgpu);
  assert.throws(() => tensor([1, 2], { dtype: "float64" }).add(1), /float64/);
  setCurrentDevice(cpu);
});

Deno.test("a device given by its name is rejected with the call that makes one", async () => {
  await assert.rejects(
    ones([2]).to("cpu" as never),
    /^TypeError: to: the device is "cpu", expected a device, as await init\(\{ device: "cpu" \}\) returns$/,
  );
});
