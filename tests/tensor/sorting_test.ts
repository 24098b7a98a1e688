import assert from "node:assert/strict";
import {
  checkGradients,
  grad,
  jit,
  key,
  normal,
  odeint,
  randint,
  type Tensor,
  tensor,
  topK,
} from "../../mod.ts";
import { testOnCpu, testOnDevices } from "../devices.ts";
import { assertTensor } from "./nd.ts";

testOnDevices(
  "argsort puts NaN last, and keeps the order of equal elements and of zeros of both signs",
  async () => {
    const x = tensor([3, NaN, -Infinity, 0, -0, Infinity, -2, NaN, 3]);
    assert.deepEqual([...await x.argsort().data()], [2, 6, 3, 4, 0, 8, 5, 1, 7]);
    assert.deepEqual([...await x.argsort(0, { descending: true }).data()], [1, 7, 5, 0, 8, 3, 4, 6, 2]);
    await assertTensor(x.sort(), { shape: [9], values: [-Infinity, -2, 0, -0, 3, 3, Infinity, NaN, NaN] });
  },
);

testOnCpu("float64 values that differ in their last bits are sorted", async () => {
  const values = [1, 1 + 2 ** -52, 1 - 2 ** -53, -1e-300, 1e300, NaN, -1e300, 5e-324];
  const x = tensor(values, { dtype: "float64" });
  assert.deepEqual([...await x.argsort().data()], [6, 3, 7, 2, 0, 1, 4, 5]);
});

for (const length of [0, 1, 2, 31, 33, 100, 1000]) {
  testOnDevices(`sort agrees with JavaScript's for rows of ${length} elements`, async () => {
    const x = normal(key(length), [3, length]);
    const rows = await x.toArray() as number[][];
    await assertTensor(x.sort(), {
      shape: [3, length],
      values: rows.flatMap((row) => row.toSorted((a, b) => a - b)),
    });
    const whole = randint(key(length), [length], -5, 5);
    const values = [...await whole.data()];
    const positions = values.map((_, i) => i).sort((a, b) => values[b] - values[a]);
    assert.deepEqual([...await whole.argsort(0, { descending: true }).data()], positions);
  });
}

testOnDevices("sort takes any axis and any layout, also under jit", async () => {
  const x = tensor([[[3, 1], [2, 5], [0, 4]]]);
  const expected = { shape: [1, 3, 2], values: [0, 1, 2, 4, 3, 5] };
  for (const f of [(x: Tensor) => x.sort(1), jit((x: Tensor) => x.sort(-2))]) {
    await assertTensor(f(x), expected);
    await assertTensor(f(x.permute([0, 2, 1]).mul(1).permute([0, 2, 1])), expected);
  }
  const [first, again] = [tensor([2, 1, 3]), tensor([5, 9, 7])];
  const sorted = jit((x: Tensor) => x.sort());
  await assertTensor(sorted(first), { shape: [3], values: [1, 2, 3] });
  await assertTensor(sorted(again), { shape: [3], values: [5, 7, 9] });
});

testOnDevices("the gradient of sort flows back to the positions", async () => {
  const weights = tensor([1, 10, 100]);
  const f = grad((x: Tensor) => x.sort(0).mul(weights).sum());
  await assertTensor(f(tensor([5, 3, 4])), { shape: [3], values: [100, 1, 10] });
});

testOnCpu("gradients of sort and topK agree with central differences", async () => {
  const x = normal(key(3), [4, 5], { dtype: "float64" });
  await checkGradients((x: Tensor) => x.sort(0).square(), [x]);
  await checkGradients((x: Tensor) => x.sort(1, { descending: true }).square(), [x]);
  await checkGradients((x: Tensor) => topK(x, 2).values.square(), [x]);
});

testOnCpu("the solution of y' = sort(y) - y is in order in the end", async () => {
  const f = (_t: Tensor, y: Tensor) => y.sort(-1).sub(y);
  const y = odeint(f, tensor([[3, 1, 2]], { dtype: "float64" }), [0, 20], { method: "rk4", stepSize: 0.1 });
  const last = [...await y.select(0, 1).data()];
  assert.ok(last.every((value, i) => i === 0 || value >= last[i - 1] - 1e-6), `${last}`);
});

testOnDevices("topK takes the first of equal elements, along any axis", async () => {
  const { values, indices } = topK(tensor([[1, 9, 9], [4, -1, 7]]), 2);
  await assertTensor(values, { shape: [2, 2], values: [9, 9, 7, 4] });
  await assertTensor(indices, { shape: [2, 2], values: [1, 2, 2, 0] });
  const first = topK(tensor([[1, 9, 9], [4, -1, 7]]), 1, { axis: 0 });
  await assertTensor(first.values, { shape: [1, 3], values: [4, 9, 9] });
  assert.deepEqual(topK(tensor([1, 2]), 0).values.shape, [0]);
});

Deno.test("topK rejects more elements than there are", () => {
  assert.throws(
    () => topK(tensor([1, 2]), 3),
    /^RangeError: topK: k is 3, expected a whole number from 0 to 2$/,
  );
});
