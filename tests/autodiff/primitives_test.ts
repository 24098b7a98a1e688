/** First and second gradients of every primitive, compared with central differences in float64. */
import assert from "node:assert/strict";
import { checkGradients, grad, type Tensor } from "../../mod.ts";
import { setCurrentDevice } from "../../src/device/current.ts";
import { cpu } from "../devices.ts";
import { cases } from "../tensor/primitive_cases.ts";
import { map, random, toTensor } from "../tensor/nd.ts";
import { differentiable, primitiveOf } from "./differentiable.ts";

for (const [name, list] of Object.entries(cases)) {
  const exported = name.split(".")[1];
  if (primitiveOf(name).reverse === "zero" && exported !== "cast") continue;

  Deno.test(`the gradient of ${name} agrees with central differences`, async () => {
    setCurrentDevice(cpu);
    const checked = list.filter(({ smooth }) => smooth >= 1);
    if (exported !== "cast") {
      assert.ok(checked.length > 0, `${name} has a gradient rule and no case that checks it`);
    }
    for (const example of checked) {
      const { f, args } = differentiable(example);
      await checkGradients(f, args);
    }
  });

  Deno.test(`the second gradient of ${name} agrees with central differences`, async () => {
    setCurrentDevice(cpu);
    for (const example of list.filter(({ smooth }) => smooth === 2)) {
      const { f, args } = differentiable(example);
      // Squared, so that linear functions too have a second derivative.
      const first = (...floats: Tensor[]) => grad((x: Tensor[]) => f(...x).square().sum())(floats);
      await checkGradients(first, args, { elements: 6, tolerance: 1e-5 });
    }
  });
}

Deno.test("a cast between float types passes gradients", async () => {
  setCurrentDevice(cpu);
  const x = toTensor(map((x) => x / 4, random([6], 1, { low: -8, high: 8, whole: true })), "float64");
  const gradient = grad((x: Tensor) => x.cast("float32").cast("float64").mul(3).sum())(x);
  assert.equal(gradient.dtype, "float64");
  assert.deepEqual([...await gradient.data()], new Array(6).fill(3));
});

Deno.test("the gradient of a primitive without a gradient rule is zero, not an error", async () => {
  setCurrentDevice(cpu);
  const x = toTensor(random([5], 2), "float64");
  for (
    const f of [(x: Tensor) => x.sign(), (x: Tensor) => x.floor(), (x: Tensor) => x.less(0).cast("float64")]
  ) {
    assert.deepEqual([...await grad((x: Tensor) => f(x).sum())(x).data()], [0, 0, 0, 0, 0]);
  }
});

Deno.test("the gradient of pow is finite where base and exponent are zero", async () => {
  setCurrentDevice(cpu);
  const [x, p] = [toTensor({ shape: [3], values: [0, 0, 2] }), toTensor({ shape: [3], values: [0, 1, 0] })];
  const gradient = grad((x: Tensor) => x.pow(p).sum())(x);
  assert.deepEqual([...await gradient.data()], [0, 1, 0]);
});

Deno.test("equal maximal elements share the gradient of max", async () => {
  setCurrentDevice(cpu);
  const x = toTensor({ shape: [4], values: [1, 3, 3, 2] });
  assert.deepEqual([...await grad((x: Tensor) => x.max())(x).data()], [0, 0.5, 0.5, 0]);
  assert.deepEqual([...await grad((x: Tensor) => x.maximum(3).sum())(x).data()], [0, 0.5, 0.5, 0]);
  assert.deepEqual([...await grad((x: Tensor) => x.neg().min())(x).data()], [-0, -0.5, -0.5, -0]);
});
