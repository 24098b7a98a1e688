import assert from "node:assert/strict";
import {
  Adam,
  checkGradients,
  crossEntropy,
  CubicSpline,
  key,
  naturalCubicCoeffs,
  NeuralCDE,
  type NeuralCDEOptions,
  normal,
  stack,
  type Tensor,
  tensor,
  treeFlatten,
  treeLeaves,
  valueAndGrad,
} from "../../mod.ts";
import { MatrixField } from "../../src/models/cde/matrix_field.ts";
import { longOnSoftware, testLong, testOnDevices } from "../devices.ts";

const float64 = { dtype: "float64" } as const;

const sizes = { inputChannels: 2, hiddenChannels: 3, outputChannels: 2, width: 4, depth: 1 };
const spline = (x: Tensor) => CubicSpline(naturalCubicCoeffs(x));
const values = async (x: Tensor) => [...await x.data()];

testLong("a Neural CDE's gradients agree with central differences", async () => {
  const model = NeuralCDE({ ...sizes, key: key(0), ...float64 });
  const X = spline(normal(key(1), [2, 4, 2], float64));
  const lengths = tensor([3, 4], { dtype: "int32" });
  await checkGradients((_) => [model(X), model(X, { states: "all" }), model(X, { lengths })], [
    model.parameters,
  ], {
    elements: 8,
  });
});

const staticFeatures = normal(key(5), [2, 3], float64);
const variants: Record<string, Partial<NeuralCDEOptions>> = {
  "a vector field of rank one": { form: "rank-one" },
  "a vector field of rank one without hidden layers": { form: "rank-one", depth: 0 },
  "a linear vector field": { depth: 0, finalActivation: "identity" },
  "static features": { staticFeatures: { channels: 3, width: 4 } },
  "static features alone": { staticFeatures: { channels: 3, width: 4 }, initial: false },
};
for (const [name, options] of Object.entries(variants)) {
  testLong(`the gradients of a Neural CDE with ${name} agree with central differences`, async () => {
    const model = NeuralCDE({ ...sizes, key: key(0), ...float64, ...options });
    const X = spline(normal(key(1), [2, 4, 2], float64));
    const call = options.staticFeatures ? { staticFeatures } : {};
    await checkGradients((_) => model(X, call), [model.parameters], { elements: 8 });
  });
}

Deno.test("a rank-one vector field gives rank-one matrices with far fewer parameters", async () => {
  const [full, thin] = (["full", "rank-one"] as const).map((form) =>
    MatrixField({
      ...{ hiddenChannels: 6, inputChannels: 5, width: 8, depth: 2, form, finalActivation: "identity" },
      ...{ key: key(0), dtype: "float64" },
    })
  );
  const z = normal(key(1), [3, 6], float64);
  const minors = async (field: typeof full) => {
    const matrix = field(z);
    assert.deepEqual(matrix.shape, [3, 6, 5]);
    const [a, b, c, d] = [[0, 0], [0, 1], [1, 0], [1, 1]].map(([i, j]) => matrix.select(-2, i).select(-1, j));
    return await a.mul(d).sub(b.mul(c)).abs().max().item();
  };
  assert.ok(await minors(thin) < 1e-15);
  assert.ok(await minors(full) > 1e-4);
  const count = ({ parameters }: typeof full) =>
    treeLeaves(parameters).reduce((sum, { size }) => sum + size, 0);
  const trunk = 6 * 8 + 8 + 8 * 8 + 8;
  assert.deepEqual([full, thin].map(count), [trunk + 8 * 30 + 30, trunk + 8 * 11 + 11]);
});

Deno.test("z(t0) depends on static features, with or without X(t0)", async () => {
  const X = spline(normal(key(1), [2, 4, 2], float64));
  const withFeatures = { staticFeatures: { channels: 3, width: 4 } };
  const [both, alone] = [withFeatures, { ...withFeatures, initial: false }].map((options) =>
    NeuralCDE({ ...sizes, key: key(0), ...float64, ...options })
  );
  const firstOf = (model: typeof both, x: typeof X, features: Tensor) =>
    model(x, { states: "all", staticFeatures: features }).select(-2, 0);
  const shifted = spline(normal(key(1), [2, 4, 2], float64).add(1));
  const differ = async (a: Tensor, b: Tensor) => await a.sub(b).abs().max().item() > 1e-3;
  for (const model of [both, alone]) {
    const first = firstOf(model, X, staticFeatures);
    assert.ok(await differ(first, firstOf(model, X, staticFeatures.add(1))));
    assert.equal(await differ(first, firstOf(model, shifted, staticFeatures)), model === both);
  }
  assert.throws(() => both(X), /NeuralCDE: staticFeatures is missing; expected shape \(\.\.\., 3\)/);
});

Deno.test("a Neural CDE passes gradients to its observations", async () => {
  const model = NeuralCDE({ ...sizes, key: key(0), ...float64 });
  await checkGradients((x) => model(spline(x)), [normal(key(1), [1, 4, 2], float64)]);
});

Deno.test("a Neural CDE's parameters are the initial network, the vector field and the readout", () => {
  const { parameters } = NeuralCDE({ ...sizes, key: key(0) });
  assert.deepEqual(treeFlatten(parameters).map(([name, x]) => [name, ...x.shape]), [
    ["initial.weight", 3, 2],
    ["initial.bias", 3],
    ["vectorField.layers.0.weight", 4, 3],
    ["vectorField.layers.0.bias", 4],
    ["vectorField.layers.1.weight", 6, 4],
    ["vectorField.layers.1.bias", 6],
    ["readout.weight", 2, 3],
    ["readout.bias", 2],
  ]);
});

Deno.test("the output at all grid points begins with the initial network and ends with the final output", async () => {
  const model = NeuralCDE({ ...sizes, key: key(0), ...float64 });
  const x = normal(key(1), [3, 5, 2], float64);
  const all = model(spline(x), { states: "all" });
  assert.deepEqual(all.shape, [3, 5, 2]);
  const { initial, readout } = model.parameters;
  const first = x.select(1, 0).matmul(initial.weight.mT).add(initial.bias!).matmul(readout.weight.mT).add(
    readout.bias!,
  );
  assert.ok(await all.select(1, 0).sub(first).abs().max().item() < 1e-12);
  assert.ok(await all.select(1, -1).sub(model(spline(x))).abs().max().item() < 1e-12);
});

Deno.test("the output of a padded series is the output at its end", async () => {
  const model = NeuralCDE({ ...sizes, key: key(0), stepSize: 0.5, ...float64 });
  const lengths = [3, 6, 4];
  const series = lengths.map((length, i) => normal(key(i + 1), [length, 2], float64));
  const padded = series.map((x) =>
    stack([0, 1, 2, 3, 4, 5].map((i) => x.select(0, Math.min(i, x.shape[0] - 1))))
  );
  const batch = spline(stack(padded));
  const batched = model(batch, { lengths: tensor(lengths, { dtype: "int32" }) });
  for (const [i, length] of lengths.entries()) {
    const single = model(spline(padded[i]), { states: "all" }).select(0, length - 1);
    assert.ok(await batched.select(0, i).sub(single).abs().max().item() < 1e-12, `series ${i}`);
  }
});

Deno.test("a series without a batch axis gives an output without a batch axis", () => {
  const model = NeuralCDE({ ...sizes, key: key(0) });
  assert.deepEqual(model(spline(normal(key(1), [4, 2]))).shape, [2]);
  assert.deepEqual(model(spline(normal(key(1), [2, 3, 4, 2]))).shape, [2, 3, 2]);
});

Deno.test("a length out of range gives NaN for that series only", async () => {
  const model = NeuralCDE({ ...sizes, key: key(0) });
  const X = spline(normal(key(1), [3, 4, 2]));
  const output = await values(model(X, { lengths: tensor([0, 4, 5], { dtype: "int32" }) }));
  assert.deepEqual(output.map(Number.isNaN), [true, true, false, false, true, true]);
});

Deno.test("a Neural CDE rejects a control with the wrong channels and lengths of the wrong shape", () => {
  const model = NeuralCDE({ ...sizes, key: key(0) });
  assert.throws(
    () => model(spline(normal(key(1), [3, 4, 5]))),
    /values of shape \(3, 5\), expected \(\.\.\., 2\)/,
  );
  const X = spline(normal(key(1), [3, 4, 2]));
  assert.throws(
    () => model(X, { lengths: tensor([1, 2, 3]) }),
    /lengths are float32 \(3,\), expected int32 \(3,\)/,
  );
  assert.throws(
    () => model(X, { states: "all", lengths: tensor([1, 2, 3], { dtype: "int32" }) }),
    /lengths choose a final state/,
  );
  assert.throws(() => NeuralCDE({ ...sizes, hiddenChannels: 0, key: key(0) }), /hiddenChannels is 0/);
});

testOnDevices("a Neural CDE learns to classify rising and falling series", longOnSoftware, async () => {
  const labels = Array.from({ length: 16 }, (_, i) => i % 2);
  const noise = await normal(key(1), [16, 6]).data();
  const x = tensor(
    labels.map((label, i) =>
      Array.from({ length: 6 }, (_, t) => [t / 5, (label ? 1 : -1) * t / 5 + 0.1 * noise[6 * i + t]])
    ),
  );
  const [X, y] = [spline(x), tensor(labels, { dtype: "int32" })];
  const model = NeuralCDE({ ...sizes, key: key(0) });
  const optimizer = Adam(model.parameters, { learningRate: 0.05 });
  const losses: Tensor[] = [];
  for (let step = 0; step < 20; step++) {
    const [loss, gradients] = valueAndGrad(() => crossEntropy(model(X), y))(model.parameters);
    optimizer.step(gradients);
    losses.push(loss);
  }
  const [first, last] = [await losses[0].item(), await losses.at(-1)!.item()];
  assert.ok(last < 0.2 * first, `loss from ${first} to ${last}`);
});
