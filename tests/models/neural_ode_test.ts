import assert from "node:assert/strict";
import {
  Adam,
  checkGradients,
  key,
  NeuralODE,
  normal,
  stack,
  type Tensor,
  tensor,
  valueAndGrad,
} from "../../mod.ts";
import { countLoops } from "../loops.ts";
import { longOnSoftware, testOnDevices } from "../devices.ts";

testOnDevices("a neural ODE learns a rotation", longOnSoftware, async () => {
  const t = [0, 0.25, 0.5, 0.75, 1];
  const angles = tensor([0, 1, 2, 3, 4, 5]).expandDims(1).add(tensor(t).mul(2)); // (series, times)
  const y = stack([angles.cos(), angles.sin()], -1);
  const model = NeuralODE({ features: 2, width: 16, depth: 1, stepSize: 0.25, key: key(0) });
  assert.deepEqual(model(y.select(1, 0), t).shape, [6, 5, 2]);
  const optimizer = Adam(model.parameters, { learningRate: 0.02 });
  const step = valueAndGrad(() => model(y.select(1, 0), t).sub(y).square().mean());
  const [before] = step(model.parameters);
  for (let i = 0; i < 150; i++) optimizer.step(step(model.parameters)[1]);
  const [after] = step(model.parameters);
  assert.ok(await after.item() < 0.03 * await before.item(), `${after} of ${before}`);
});

Deno.test("a neural ODE runs as a compiled loop, and its gradients agree with central differences", async () => {
  const model = NeuralODE({ features: 2, width: 4, depth: 1, stepSize: 0.5, key: key(0), dtype: "float64" });
  const y0 = normal(key(1), [3, 2], { dtype: "float64" });
  assert.equal(countLoops(() => model(y0, [0, 1, 2]), "forward loop: 4 steps"), 1);
  await checkGradients((_) => model(y0, [0, 1, 2]), [model.parameters], { elements: 4 });
  await checkGradients((y0: Tensor) => model(y0, [0, 1, 2]), [y0]);
});

Deno.test("a neural ODE keeps leading axes", () => {
  const model = NeuralODE({ features: 2, width: 4, depth: 0, key: key(0) });
  assert.deepEqual(model(normal(key(1), [3, 4, 2]), [0, 1, 2, 3, 4]).shape, [3, 4, 5, 2]);
  assert.deepEqual(model(normal(key(1), [2]), [0, 1, 2]).shape, [3, 2]);
});

Deno.test("a neural ODE reports the expected number of features", () => {
  const model = NeuralODE({ features: 2, width: 4, depth: 0, key: key(0) });
  assert.throws(
    () => model(normal(key(1), [3, 3]), [0, 1]),
    /NeuralODE: x of shape \(3, 3\), expected \(\.\.\., 2\)/,
  );
});
