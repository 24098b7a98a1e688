import assert from "node:assert/strict";
import {
  Adam,
  clipByGlobalNorm,
  jit,
  type Key,
  key,
  normal,
  type Tensor,
  treeFlatten,
  valueAndGrad,
} from "../../mod.ts";
import * as models from "../../src/models/mod.ts";
import { hardwareOnly, longOnSoftware, testOnDevices } from "../devices.ts";
import { type ModelCase, modelCases } from "../models/model_cases.ts";

Deno.test("every exported model has a jit test case", () => {
  // A stream predicts with a trained model. The others are parts of models.
  const others = ["ModelStream", "BetweenObservations", "ODERecurrentCell"];
  const trained = Object.keys(models).filter((name) => /^[A-Z]/.test(name) && !others.includes(name));
  const covered = new Set(Object.keys(modelCases).map((name) => name.match(/^\w+/)![0]));
  assert.ok(trained.length > 15, `${trained.length} models were found`);
  assert.deepEqual(trained.filter((name) => !covered.has(name)), []);
});

/**
 * Runs training steps, each with different data and a different key. Returns the losses, and the final
 * parameters.
 */
async function train({ parameters, loss }: ModelCase, jitted: boolean): Promise<Map<string, Float64Array>> {
  const optimizer = Adam(parameters, { learningRate: 0.01 });
  const step = (x: Tensor, key: Key) => {
    const [value, gradients] = valueAndGrad(() => loss(x, key))(parameters);
    optimizer.step(clipByGlobalNorm(gradients, 1).gradients);
    return value;
  };
  const run = jitted ? jit(step) : step;
  const found = new Map<string, Float64Array>();
  for (let i = 0; i < 4; i++) {
    const value = run(normal(key(10 + i), [4, 6, 2]), key(20 + i));
    found.set(`loss ${i}`, Float64Array.from(await value.data()));
  }
  for (const [name, x] of treeFlatten(parameters)) found.set(name, Float64Array.from(await x.data()));
  return found;
}

/**
 * Cases that also run on software GPUs: compiled loops and their gradients, random numbers, and many
 * products.
 */
const quick = ["Dropout", "WARP, convolutional"];

/**
 * Cases that software GPUs run with --all: a compiled loop with lengths and its continuous adjoint, and a loop that draws random
 * numbers. `model_loops_test.ts` runs the loops of all models there.
 */
const slow = ["NeuralCDE with missing values, lengths and the continuous adjoint", "WARP, autoregressive"];

for (const [name, make] of Object.entries(modelCases)) {
  const options = quick.includes(name) ? {} : slow.includes(name) ? longOnSoftware : hardwareOnly;
  testOnDevices(`training steps of ${name} give the same results with jit`, options, async () => {
    const [plain, jitted] = [await train(make(), false), await train(make(), true)];
    for (const [part, expected] of plain) {
      const found = jitted.get(part)!;
      const scale = Math.max(1e-2, ...expected.map(Math.abs));
      expected.forEach((value, i) => {
        const difference = Math.abs(value - found[i]) / scale;
        assert.ok(difference < 1e-5, `${part}, element ${i}: ${found[i]} instead of ${value}`);
      });
    }
  });
}
