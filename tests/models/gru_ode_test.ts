import assert from "node:assert/strict";
import {
  checkGradients,
  concatenate,
  CubicSpline,
  DirectNeuralODE,
  GRUODE,
  key,
  naturalCubicCoeffs,
  normal,
  odeint,
  type Tensor,
  tensor,
  treeFlatten,
} from "../../mod.ts";
import { testLong, testOnDevices } from "../devices.ts";
import { countLoops } from "../loops.ts";

const float64 = { dtype: "float64" } as const;
const sizes = { inputChannels: 3, hiddenChannels: 4, outputChannels: 2, key: key(0) } as const;
const x = normal(key(1), [2, 5, 3], float64);
const X = CubicSpline(naturalCubicCoeffs(x));
const largest = async (x: Tensor) => await x.abs().max().item();

Deno.test("a GRU-ODE solves the equation of its gates along the control", async () => {
  const model = GRUODE({ ...sizes, ...float64 });
  const tensors = new Map<string, Tensor>(treeFlatten(model.parameters));
  const linear = (name: string, x: Tensor) => {
    const bias = tensors.get(`${name}.bias`);
    const product = x.matmul(tensors.get(`${name}.weight`)!.mT);
    return bias ? product.add(bias) : product;
  };
  const field = (t: Tensor, h: Tensor) => {
    const input = linear("vectorField.input", X.evaluate(t));
    const part = (x: Tensor, i: number) => x.slice(-1, 4 * i, 4 * (i + 1));
    const gates = linear("vectorField.gates", h);
    const r = part(input, 0).add(part(gates, 0)).sigmoid();
    const u = part(input, 1).add(part(gates, 1)).sigmoid();
    const g = part(input, 2).add(linear("vectorField.candidate", r.mul(h))).tanh();
    return u.neg().add(1).mul(g.sub(h));
  };
  const h0 = linear("initial", x.select(1, 0));
  const h = odeint(field, h0, [0, 4], { method: "rk4", stepSize: 1, compile: false }).select(0, 1);
  assert.ok(await largest(model(X).sub(linear("readout", h))) < 1e-12);
});

Deno.test("a GRU-ODE returns final states of series of different lengths, and all states", async () => {
  const model = GRUODE({ ...sizes, ...float64 });
  const all = model(X, { states: "all" });
  assert.deepEqual(all.shape, [2, 5, 2]);
  assert.ok(await largest(all.select(1, -1).sub(model(X))) < 1e-12);
  const ends = model(X, { lengths: tensor([3, 5], { dtype: "int32" }) });
  assert.ok(await largest(ends.select(0, 0).sub(all.select(0, 0).select(0, 2))) < 1e-12);
});

const staticFeatures = normal(key(2), [2, 3], float64);
for (const initial of [true, false]) {
  for (const channels of [0, 3]) {
    const name = `${initial ? "from X(t0)" : "from zero"}${channels ? " and static features" : ""}`;
    testLong(`the gradients of a GRU-ODE ${name} agree with central differences`, async () => {
      const features = channels ? { staticFeatures: { channels, width: 4 } } : {};
      const model = GRUODE({ ...sizes, ...float64, initial, ...features });
      const call = channels ? { staticFeatures } : {};
      await checkGradients((_) => model(X, call), [model.parameters], { elements: 4 });
    });
  }
}

const expected = GRUODE({ ...sizes, ...float64, method: "euler" })(X);
testOnDevices("a GRU-ODE gives the same outputs in float32 and float64", async () => {
  const X = CubicSpline(naturalCubicCoeffs(normal(key(1), [2, 5, 3])));
  const found = await GRUODE({ ...sizes, method: "euler" })(X).data();
  const exact = await expected.data();
  found.forEach((value, i) => assert.ok(Math.abs(value - exact[i]) < 1e-4, `${value}, expected ${exact[i]}`));
});

Deno.test("a direct neural ODE solves the equation of its network along the control", async () => {
  const model = DirectNeuralODE({ ...sizes, ...float64, width: 5, depth: 1 });
  const tensors = new Map<string, Tensor>(treeFlatten(model.parameters));
  const linear = (name: string, x: Tensor) =>
    x.matmul(tensors.get(`${name}.weight`)!.mT).add(tensors.get(`${name}.bias`)!);
  const field = (t: Tensor, h: Tensor) => {
    const hidden = linear("vectorField.layers.0", concatenate([h, X.evaluate(t)], -1)).tanh();
    return linear("vectorField.layers.1", hidden);
  };
  const h0 = linear("initial", x.select(1, 0));
  const h = odeint(field, h0, [0, 4], { method: "rk4", stepSize: 1, compile: false }).select(0, 1);
  assert.ok(await largest(model(X).sub(linear("readout", h))) < 1e-12);
  assert.equal(countLoops(() => model(X)), 1);
  await checkGradients((_) => model(X), [model.parameters], { elements: 4 });
});
