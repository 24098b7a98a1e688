import assert from "node:assert/strict";
import { arange, eye, full, linspace, ones, tensor, zeros } from "../../mod.ts";
import { testOnDevices } from "../devices.ts";
import { assertTensor } from "./nd.ts";

testOnDevices("tensor accepts nested arrays, numbers, booleans and typed arrays", async () => {
  await assertTensor(tensor([[1, 2, 3], [4, 5, 6]]), { shape: [2, 3], values: [1, 2, 3, 4, 5, 6] });
  await assertTensor(tensor(7), { shape: [], values: [7] });
  await assertTensor(tensor(new Float64Array(6).fill(2), { shape: [3, 2] }), {
    shape: [3, 2],
    values: new Array(6).fill(2),
  });
  await assertTensor(tensor([[], []]), { shape: [2, 0], values: [] });
  const flags = tensor([[true, false]]);
  assert.equal(flags.dtype, "bool");
  assert.deepEqual(await flags.data(), Uint8Array.of(1, 0));
  const missing = await tensor([1, NaN]).data();
  assert.ok(Number.isNaN(missing[1]));
});

testOnDevices("data() returns the typed array of the dtype", async () => {
  for (
    const [dtype, values] of [
      ["float32", Float32Array.of(1, -2.5)],
      ["int32", Int32Array.of(-5, 2 ** 31 - 1)],
      ["uint32", Uint32Array.of(5, 2 ** 32 - 1)],
      ["bool", Uint8Array.of(1, 0)],
    ] as const
  ) assert.deepEqual(await tensor(values, { dtype }).data(), values);
});

testOnDevices("tensor rejects ragged arrays, wrong shapes and values that are not numbers", () => {
  assert.throws(() => tensor([[1, 2], [3]]), /tensor: expected 2 values at \[1\], got 1 values/);
  assert.throws(() => tensor([[1], 2]), /tensor: expected 1 values at \[1\], got 2/);
  assert.throws(() => tensor([1, [2]]), /tensor: expected a number at \[1\], got an array/);
  assert.throws(() => tensor(["a"] as unknown as number[]), /tensor: expected a number at \[0\], got string/);
  assert.throws(() => tensor([1, 2, 3], { shape: [2] }), /tensor: 3 values do not fill shape \(2,\)/);
});

testOnDevices("tensor rejects values that its integer dtype cannot represent", () => {
  assert.throws(
    () => tensor([1, 2.5], { dtype: "int32" }),
    /tensor: value 2.5 \(index 1\) is not a valid int32/,
  );
  assert.throws(() => tensor([NaN], { dtype: "int32" }), /NaN .* is not a valid int32/);
  assert.throws(() => tensor([2 ** 31], { dtype: "int32" }), /is not a valid int32/);
  assert.throws(() => tensor([-1], { dtype: "uint32" }), /value -1 .* is not a valid uint32/);
  assert.throws(() => full([2], 0.5, { dtype: "int32" }), /0.5 is not a valid int32/);
});

testOnDevices("constructors fill the requested shape", async () => {
  await assertTensor(zeros([2, 2]), { shape: [2, 2], values: [0, 0, 0, 0] });
  await assertTensor(ones([3], { dtype: "int32" }), { shape: [3], values: [1, 1, 1] });
  await assertTensor(full([1, 2], -4.5), { shape: [1, 2], values: [-4.5, -4.5] });
  await assertTensor(arange(4), { shape: [4], values: [0, 1, 2, 3] });
  await assertTensor(arange(3, { start: 5, step: -2, dtype: "int32" }), { shape: [3], values: [5, 3, 1] });
  await assertTensor(linspace(-1, 1, 5), { shape: [5], values: [-1, -0.5, 0, 0.5, 1] });
  await assertTensor(linspace(2, 3, 1), { shape: [1], values: [2] });
  await assertTensor(eye(3), { shape: [3, 3], values: [1, 0, 0, 0, 1, 0, 0, 0, 1] });
  await assertTensor(arange(0), { shape: [0], values: [] });
});

Deno.test("a tensor keeps its shape when the caller changes the shape array", () => {
  const shape = [2];
  const x = zeros(shape).add(tensor([1, 2], { shape }));
  shape[0] = 9;
  assert.deepEqual(x.shape, [2]);
});

testOnDevices("toArray nests values by shape, and item returns a single element", async () => {
  assert.deepEqual(await tensor([[[1], [2]], [[3], [4]]]).toArray(), [[[1], [2]], [[3], [4]]]);
  assert.equal(await tensor(3).toArray(), 3);
  assert.equal(await tensor([[9]]).item(), 9);
  await assert.rejects(
    tensor([1, 2]).item(),
    /item: a tensor of shape \(2,\) does not have exactly one element/,
  );
});

testOnDevices("nonzero values cast to true, including NaN", async () => {
  const values = [NaN, 0, -0, 0.5];
  const expected = Uint8Array.of(1, 0, 0, 1);
  assert.deepEqual(await tensor(values, { dtype: "bool" }).data(), expected);
  assert.deepEqual(await tensor(values).cast("bool").data(), expected);
  const filled = values.map((value) => full([1], value, { dtype: "bool" }).data());
  assert.deepEqual((await Promise.all(filled)).map(([value]) => value), [...expected]);
});
