/** Memory of the reverse pass: tensors that it frees, and tensors that it must keep. */
import assert from "node:assert/strict";
import { grad, jit, keep, key, normal, remat, type Tensor, tensor, tidy, valueAndGrad } from "../../mod.ts";
import { watchMemory } from "../../bench/timing.ts";
import { differentiate } from "../../src/autodiff/differentiate.ts";
import { vjp } from "../../src/autodiff/grad.ts";
import { setCurrentDevice } from "../../src/device/current.ts";
import { cpu } from "../devices.ts";
import { assertTensor } from "../tensor/nd.ts";

const bytes = 4 * 2 ** 16;

/** The peak memory of a function, in tensors of 2^16 elements. */
function peakTensors(body: () => unknown): number {
  const peak = watchMemory(cpu);
  tidy(() => {
    body();
  });
  return peak()! / bytes;
}

function manyTanh(x: Tensor): Tensor {
  for (let i = 0; i < 20; i++) x = x.tanh();
  return x;
}

const values = () => {
  setCurrentDevice(cpu);
  return normal(key(0), [2 ** 16]);
};

Deno.test("the gradient of a chain frees values and cotangents after their last use", () => {
  const x = values();
  const peak = peakTensors(() => grad((x: Tensor) => manyTanh(x).sum())(x));
  // 20 values, the last gradient and the temporaries of one rule.
  assert.ok(peak <= 26, `${peak} tensors`);
});

Deno.test("the gradient of a chain under jit takes no more memory than outside", () => {
  const x = values();
  const peak = peakTensors(() => jit((x: Tensor) => grad((x: Tensor) => manyTanh(x).sum())(x))(x));
  assert.ok(peak <= 27, `${peak} tensors`);
});

Deno.test("the gradient of a checkpoint frees values of the second run after their last use", () => {
  const x = values();
  const peak = peakTensors(() => grad((x: Tensor) => remat(manyTanh, x).sum())(x));
  assert.ok(peak <= 27, `${peak} tensors`);
});

Deno.test("vjp frees cotangents after their last use, and may be called twice", async () => {
  const x = values();
  const peak = peakTensors(() => {
    const { value, pullback } = vjp(() => manyTanh(x), x);
    pullback(value.zerosLike().add(1));
  });
  assert.ok(peak <= 27, `${peak} tensors`);
  const y = tensor([0.5, -1], { dtype: "float64" });
  const { value, pullback } = vjp(() => y.tanh().tanh(), y);
  const [first, second] = [0, 1].map(() => pullback(value.zerosLike().add(1)));
  assert.deepEqual(await second.data(), await first.data());
});

Deno.test("values that the function keeps survive the reverse pass", async () => {
  setCurrentDevice(cpu);
  const x = tensor([1, 2]);
  let kept!: Tensor;
  valueAndGrad((x: Tensor) => (kept = keep(x.mul(3))).square().sum())(x);
  await assertTensor(kept, { shape: [2], values: [3, 6] });
});

Deno.test("each output that a function returns beside its loss survives the reverse pass", async () => {
  setCurrentDevice(cpu);
  const x = tensor([1, 2]);
  const { value, gradients } = differentiate(
    () => {
      const y = x.mul(3);
      return { loss: y.square().sum(), y, reversed: y.flip(0) };
    },
    x,
    () => [tensor(1)],
  );
  await assertTensor(value.loss, { shape: [], values: [45] });
  await assertTensor(value.y, { shape: [2], values: [3, 6] });
  await assertTensor(value.reversed, { shape: [2], values: [6, 3] });
  await assertTensor(gradients, { shape: [2], values: [18, 36] });
});

Deno.test("a gradient that is a view of a cotangent or of a value survives the reverse pass", async () => {
  setCurrentDevice(cpu);
  const [x, y] = [tensor([[1, 2]]), tensor([3, 4])];
  const loss = ({ x, y }: { x: Tensor; y: Tensor }) => x.reshape([2]).add(y).square().sum();
  const gradients = grad(loss)({ x, y });
  await assertTensor(gradients.x, { shape: [1, 2], values: [8, 12] });
  await assertTensor(gradients.y, { shape: [2], values: [8, 12] });
});

Deno.test("an inner gradient keeps the values that the outer gradient reads", async () => {
  setCurrentDevice(cpu);
  const x = tensor([0.5, 2], { dtype: "float64" });
  const inner = grad((x: Tensor) => x.square().mul(x).sum());
  await assertTensor(grad((x: Tensor) => inner(x).sum())(x), {
    shape: [2],
    values: [3, 12],
  });
});
