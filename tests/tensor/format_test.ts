import assert from "node:assert/strict";
import { arange, ones, tensor, zeros } from "../../mod.ts";
import { setCurrentDevice } from "../../src/device/current.ts";
import { cpu, testOnDevices } from "../devices.ts";

function onCpu(name: string, body: () => void) {
  Deno.test(name, () => {
    setCurrentDevice(cpu);
    body();
  });
}

onCpu("a tensor on the host prints its type, shape and values", () => {
  assert.equal(`${tensor([[1, 2], [3, 4]])}`, "Tensor float32 (2, 2) on cpu\n[[1.0, 2.0],\n [3.0, 4.0]]");
  assert.equal(`${tensor(1.5)}`, "Tensor float32 () on cpu\n1.5000");
  assert.equal(`${tensor([1, -20], { dtype: "int32" })}`, "Tensor int32 (2,) on cpu\n[  1, -20]");
  assert.equal(`${tensor([true, false])}`, "Tensor bool (2,) on cpu\n[ true, false]");
  assert.equal(`${zeros([0, 3])}`, "Tensor float32 (0, 3) on cpu\n[]");
});

onCpu("special values and far magnitudes print legibly", () => {
  assert.match(`${tensor([NaN, Infinity, -Infinity, 1])}`, /\[ +nan, +inf, +-inf, +1.0+\]/);
  assert.match(`${tensor([1e-9, 1])}`, /\[1\.0000e-9, 1\.0000e\+0\]/);
});

onCpu("long axes are abbreviated to three elements at each end, as NumPy does", () => {
  assert.match(`${arange(1001)}`, /\n\[ +0\.0, +1\.0, +2\.0, \.\.\., +998\.0, +999\.0, 1000\.0\]$/);
  assert.doesNotMatch(`${arange(1000)}`, /\.\.\./);
  const lines = `${arange(10_000).reshape([100, 100])}`.split("\n").slice(1);
  assert.equal(lines.length, 7);
  assert.match(lines[0], /^\[\[ +0\.0, +1\.0, +2\.0, \.\.\., +97\.0, +98\.0, +99\.0\],$/);
  assert.match(lines[3], /^ \.\.\.,$/);
  assert.match(lines[6], /9999\.0\]\]$/);
});

onCpu("matrices of a stack are set apart by an empty line", () => {
  assert.equal(
    `${tensor([[[1], [2]], [[3], [4]]], { dtype: "int32" })}`,
    "Tensor int32 (2, 2, 1) on cpu\n[[[1],\n  [2]],\n\n [[3],\n  [4]]]",
  );
});

testOnDevices("the first line of a printed tensor names the device", (device) => {
  assert.equal(`${tensor([[1, 2]]).tanh()}`.split("\n")[0], `Tensor float32 (1, 2) on ${device.info.kind}`);
});

Deno.test("a tensor converts to a string, and conversion to a number throws", () => {
  const x: unknown = ones([1]);
  assert.equal(`${x}`, String(x));
  assert.throws(() => (x as number) > 0, /operators do not compute with tensors; use methods/);
});

testOnDevices("a tensor prints its type, shape and device", (device) => {
  const kind = device.info.kind;
  assert.match(`${tensor([[1, 2, 3], [4, 5, 6]])}`, new RegExp(`^Tensor float32 \\(2, 3\\) on ${kind}`));
  const weights = { w: tensor([1, 2]).add(1) };
  assert.match(Deno.inspect(weights), new RegExp(`w: Tensor float32 \\(2,\\) on ${kind}`));
});
