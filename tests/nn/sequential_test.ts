import assert from "node:assert/strict";
import {
  Adam,
  key,
  LayerNorm,
  Linear,
  normal,
  parameterCount,
  Sequential,
  splitKey,
  type Tensor,
  treeFlatten,
  valueAndGrad,
} from "../../mod.ts";
import { testOnDevices } from "../devices.ts";
import { assertTensor, type Nd } from "../tensor/nd.ts";

const valuesOf = async (x: Tensor): Promise<Nd> => ({ shape: x.shape, values: [...await x.data()] });

function small() {
  const [first, second] = splitKey(key(0));
  const [a, b] = [
    Linear({ inputs: 3, outputs: 4, key: first }),
    Linear({ inputs: 4, outputs: 2, key: second }),
  ];
  const norm = LayerNorm({ features: 4 });
  return { a, b, norm, model: Sequential(a, (x: Tensor) => x.relu(), norm, b) };
}

testOnDevices("Sequential applies layers and functions in order", async () => {
  const { a, b, norm, model } = small();
  const x = normal(key(1), [5, 3]);
  await assertTensor(model(x), await valuesOf(b(norm(a(x).relu()))));
  await assertTensor(Sequential()(x), await valuesOf(x));
});

Deno.test("parameters of Sequential have the names of PyTorch", () => {
  const names = treeFlatten(small().model.parameters).map(([name]) => name);
  assert.deepEqual(names, ["0.weight", "0.bias", "2.weight", "2.bias", "3.weight", "3.bias"]);
});

testOnDevices("a step of training changes every parameter of Sequential", async () => {
  const { model } = small();
  const before = await Promise.all(treeFlatten(model.parameters).map(([, x]) => x.data()));
  const x = normal(key(1), [5, 3]);
  const [, gradients] = valueAndGrad(() => model(x).square().sum())(model.parameters);
  Adam(model.parameters, { learningRate: 0.1 }).step(gradients);
  for (const [i, [name, parameter]] of treeFlatten(model.parameters).entries()) {
    assert.notDeepEqual(await parameter.data(), before[i], name);
  }
});

Deno.test("Sequential rejects a layer that is not a function", () => {
  assert.throws(
    () => Sequential([] as never),
    /^TypeError: Sequential: layer 0 is an array, expected a function/,
  );
});

Deno.test("parameterCount counts elements, those of a shared tensor once", () => {
  const { a, model } = small();
  assert.equal(parameterCount(model.parameters), 4 * 3 + 4 + 2 * 4 + 2 * 4 + 2);
  assert.equal(parameterCount([a.parameters, a.parameters]), 4 * 3 + 4);
  assert.equal(parameterCount({}), 0);
  assert.throws(
    () => parameterCount(model as never),
    /^TypeError: parameterCount: .* pass model\.parameters/,
  );
});
