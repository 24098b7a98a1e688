import assert from "node:assert/strict";
import { Adam, key, NeuralODE, normal, stack, tensor, valueAndGrad } from "../../mod.ts";
import { longOnSoftware, testOnDevices } from "../devices.ts";

testOnDevices("a neural ODE learns a rotation", longOnSoftware, async () => {
  const t = [0, 0.25, 0.5, 0.75, 1];
  const angles = tensor([0, 1, 2, 3, 4, 5]).expandDims(1).add(tensor(t).mul(2)); // (series, times)
  const y = stack([angles.cos(), angles.sin()], -1);
  const model = NeuralODE({ features: 2, width: 16, depth: 1, stepSize: 0.25, key: key(0) });
  assert.deepEqual(model(y.at(1, 0), t).shape, [6, 5, 2]);
  const optimizer = Adam(model.parameters, { learningRate: 0.02 });
  const step = valueAndGrad(() => model(y.at(1, 0), t).sub(y).square().mean());
  const [before] = step(model.parameters);
  for (let i = 0; i < 150; i++) optimizer.step(step(model.parameters)[1]);
  const [after] = step(model.parameters);
  assert.ok(await after.item() < 0.03 * await before.item(), `${after} of ${before}`);
});

Deno.test("a neural ODE keeps the axes in front of the features", () => {
  const model = NeuralODE({ features: 2, width: 4, depth: 0, key: key(0) });
  assert.deepEqual(model(normal(key(1), [3, 4, 2]), [0, 1, 2, 3, 4]).shape, [3, 4, 5, 2]);
  assert.deepEqual(model(normal(key(1), [2]), [0, 1, 2]).shape, [3, 2]);
});

Deno.test("a neural ODE names the features it expects", () => {
  const model = NeuralODE({ features: 2, width: 4, depth: 0, key: key(0) });
  assert.throws(
    () => model(normal(key(1), [3, 3]), [0, 1]),
    /NeuralODE: x of shape \(3, 3\), expected \(\.\.\., 2\)/,
  );
});
