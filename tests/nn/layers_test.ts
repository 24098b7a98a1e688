import assert from "node:assert/strict";
import {
  checkGradients,
  crossEntropy,
  Dropout,
  Embedding,
  key,
  LayerNorm,
  Linear,
  loadParameters,
  MLP,
  normal,
  ones,
  ShapeError,
  type Tensor,
  tensor,
  tidy,
  treeFlatten,
  treeLeaves,
  valueAndGrad,
  zeros,
} from "../../mod.ts";
import { currentDevice, setCurrentDevice } from "../../src/device/current.ts";
import { cpu, testOnDevices } from "../devices.ts";

const float64 = { dtype: "float64" } as const;
const random = (seed: number, shape: number[]) => normal(key(seed), shape, float64);
const names = (parameters: unknown) => treeFlatten(parameters).map(([name]) => name);

async function assertClose(x: Tensor, expected: readonly number[], tolerance = 1e-12) {
  const found = await x.data();
  assert.equal(found.length, expected.length);
  expected.forEach((value, i) =>
    assert.ok(Math.abs(found[i] - value) <= tolerance, `element ${i}: ${found[i]}, expected ${value}`)
  );
}

Deno.test("Linear is x W^T + b with PyTorch's layout", async () => {
  const linear = Linear({ inputs: 3, outputs: 2, key: key(0), ...float64 });
  loadParameters(linear.parameters, {
    weight: tensor([[1, 2, 3], [4, 5, 6]], float64),
    bias: tensor([10, 20], float64),
  });
  await assertClose(linear(tensor([[1, 0, -1], [2, 1, 0]], float64)), [8, 18, 14, 33]);
  assert.deepEqual(names(linear.parameters), ["weight", "bias"]);
});

Deno.test("Linear accepts any number of leading axes, including zero", () => {
  const linear = Linear({ inputs: 3, outputs: 2, key: key(0) });
  assert.deepEqual(linear(ones([3])).shape, [2]);
  assert.deepEqual(linear(ones([4, 5, 3])).shape, [4, 5, 2]);
});

Deno.test("Linear without a bias has no bias parameter", () => {
  assert.deepEqual(names(Linear({ inputs: 3, outputs: 2, key: key(0), bias: false }).parameters), ["weight"]);
});

Deno.test("Linear rejects an input with the wrong number of features and reports both numbers", () => {
  const linear = Linear({ inputs: 3, outputs: 2, key: key(0) });
  assert.throws(() => linear(ones([5, 4])), /Linear: x of shape \(5, 4\), expected \(\.\.\., 3\)/);
  assert.throws(() => linear(ones([])), ShapeError);
});

Deno.test("Linear rejects sizes that are not positive integers", () => {
  assert.throws(() => Linear({ inputs: 0, outputs: 2, key: key(0) }), /inputs is 0/);
  assert.throws(() => Linear({ inputs: 1, outputs: 1.5, key: key(0) }), /outputs is 1.5/);
});

Deno.test("parameters outlive the scope that creates them", async () => {
  const [linear] = tidy(() => [Linear({ inputs: 2, outputs: 1, key: key(0) })]);
  assert.equal((await linear(ones([1, 2])).data()).length, 1);
});

Deno.test("parameters depend only on the key", async () => {
  const weight = async (
    seed: number,
  ) => [...await Linear({ inputs: 3, outputs: 2, key: key(seed) }).parameters.weight.data()];
  assert.deepEqual(await weight(1), await weight(1));
  assert.notDeepEqual(await weight(1), await weight(2));
});

for (
  const { initialization, variance, bound } of [
    { initialization: "torch", variance: 1 / (3 * 300), bound: 1 / Math.sqrt(300) },
    { initialization: "glorotUniform", variance: 2 / 500, bound: Math.sqrt(6 / 500) },
    { initialization: "glorotNormal", variance: 2 / 500, bound: Infinity },
    { initialization: "heUniform", variance: 2 / 300, bound: Math.sqrt(6 / 300) },
    { initialization: "heNormal", variance: 2 / 300, bound: Infinity },
  ] as const
) {
  Deno.test(`${initialization} weights have the variance and the bounds of their definition`, async () => {
    const { weight, bias } = Linear({ inputs: 300, outputs: 200, key: key(3), initialization }).parameters;
    const values = [...await weight.data()];
    const mean = values.reduce((sum, x) => sum + x) / values.length;
    const found = values.reduce((sum, x) => sum + (x - mean) ** 2, 0) / values.length;
    assert.ok(Math.abs(mean) < 5 * Math.sqrt(variance / values.length), `mean ${mean}`);
    assert.ok(Math.abs(found / variance - 1) < 0.05, `variance ${found}, expected ${variance}`);
    const largest = Math.max(...values.map(Math.abs));
    assert.ok(largest <= bound * (1 + 1e-6), `largest ${largest}, bound ${bound}`);
    const biases = [...await bias!.data()];
    if (initialization === "torch") {
      assert.ok(biases.every((x) => Math.abs(x) <= bound) && new Set(biases).size > 100);
    } else assert.ok(biases.every((x) => x === 0));
  });
}

Deno.test("an unknown initialization throws an error that lists the known ones", () => {
  const initialization = "lecun" as "torch";
  assert.throws(
    () => Linear({ inputs: 1, outputs: 1, key: key(0), initialization }),
    /"lecun" is unknown.*glorotNormal/,
  );
});

Deno.test("MLP applies the activation between layers and the final activation after the last layer", async () => {
  const mlp = MLP({
    inputs: 2,
    outputs: 1,
    width: 2,
    depth: 1,
    finalActivation: "tanh",
    key: key(0),
    ...float64,
  });
  loadParameters(mlp.parameters, {
    "layers.0.weight": tensor([[1, 0], [0, 1]], float64),
    "layers.0.bias": tensor([0, 0.5], float64),
    "layers.1.weight": tensor([[2, 3]], float64),
    "layers.1.bias": tensor([-1], float64),
  });
  await assertClose(mlp(tensor([[-1, 0.25]], float64)), [Math.tanh(3 * 0.75 - 1)]);
});

Deno.test("MLP of depth d has d + 1 linear layers, named as in a state_dict", () => {
  const { parameters } = MLP({ inputs: 2, outputs: 3, width: 4, depth: 2, key: key(0) });
  assert.deepEqual(
    treeFlatten(parameters).map(([name, x]) => [name, ...x.shape]),
    [
      ["layers.0.weight", 4, 2],
      ["layers.0.bias", 4],
      ["layers.1.weight", 4, 4],
      ["layers.1.bias", 4],
      ["layers.2.weight", 3, 4],
      ["layers.2.bias", 3],
    ],
  );
  assert.equal(MLP({ inputs: 2, outputs: 3, width: 4, depth: 0, key: key(0) }).parameters.layers.length, 1);
});

Deno.test("MLP's gradients agree with central differences for every activation", async () => {
  for (const activation of ["relu", "tanh", "sigmoid", "softplus", "silu", "gelu", "identity"] as const) {
    const mlp = MLP({ inputs: 3, outputs: 2, width: 4, depth: 2, activation, key: key(0), ...float64 });
    await checkGradients((x, _) => mlp(x), [random(1, [2, 3]), mlp.parameters], { elements: 6 });
  }
});

Deno.test("MLP rejects an unknown activation and lists the known ones", () => {
  const options = { inputs: 1, outputs: 1, width: 1, depth: 1, key: key(0) };
  assert.throws(() => MLP({ ...options, activation: "mish" as "relu" }), /"mish" is unknown.*softplus/);
});

Deno.test("LayerNorm normalizes to mean 0 and variance 1, then scales and shifts", async () => {
  const norm = LayerNorm({ features: 4, ...float64 });
  const scale = 1 / Math.sqrt(1.25 + 1e-5);
  const plain = [-1.5, -0.5, 0.5, 1.5].map((x) => x * scale);
  await assertClose(norm(tensor([[1, 2, 3, 4]], float64)), plain);
  norm.parameters.weight!.assign(tensor([1, 2, 3, 4], float64));
  norm.parameters.bias!.assign(tensor([1, 0, 0, -1], float64));
  await assertClose(norm(tensor([1, 2, 3, 4], float64)), plain.map((x, i) => x * (i + 1) + [1, 0, 0, -1][i]));
});

Deno.test("LayerNorm's gradients agree with central differences, with and without an affine map", async () => {
  for (const affine of [true, false]) {
    const norm = LayerNorm({ features: 5, affine, ...float64 });
    await checkGradients((x, _) => norm(x), [random(1, [3, 5]), norm.parameters]);
  }
});

testOnDevices("layers in float32 agree with float64 on the CPU, gradients included", async () => {
  /** The output and the gradients of a small network of all layers, with given parameters. */
  const run = (dtype: "float32" | "float64") => {
    const embedding = Embedding({ count: 4, features: 3, key: key(0), dtype });
    const norm = LayerNorm({ features: 3, dtype });
    const mlp = MLP({ inputs: 3, outputs: 2, width: 5, depth: 1, activation: "silu", key: key(0), dtype });
    const parameters = [embedding, norm, mlp].map((layer) => layer.parameters);
    for (const [i, x] of treeLeaves(parameters).entries()) {
      x.assign(
        tensor(Array.from({ length: x.size }, (_, j) => Math.sin(i + 3 * j)), { shape: x.shape, dtype }),
      );
    }
    const indices = tensor([[3, 1], [0, 3]], { dtype: "int32" });
    const labels = tensor([[1, 0], [1, 1]], { dtype: "int32" });
    const [loss, gradients] = valueAndGrad(() => crossEntropy(mlp(norm(embedding(indices))), labels))(
      parameters,
    );
    return Promise.all([loss, ...treeLeaves(gradients)].map((x) => x.data()));
  };
  const found = await run("float32");
  const device = currentDevice();
  setCurrentDevice(cpu);
  const expected = await run("float64").finally(() => setCurrentDevice(device));
  expected.forEach((values, i) =>
    values.forEach((value, j) =>
      assert.ok(Math.abs(found[i][j] - value) < 1e-5, `${i}, ${j}: ${found[i][j]}, expected ${value}`)
    )
  );
});

Deno.test("LayerNorm of equal features is finite", async () => {
  await assertClose(LayerNorm({ features: 3, affine: false })(ones([1, 3])), [0, 0, 0]);
});

Deno.test("LayerNorm rejects an input with the wrong number of features", () => {
  assert.throws(() => LayerNorm({ features: 3 })(ones([2, 4])), /LayerNorm: x of shape \(2, 4\)/);
});

Deno.test("LayerNorm rejects an eps that is negative or not finite", () => {
  for (const eps of [-1e-5, NaN, Infinity]) {
    assert.throws(
      () => LayerNorm({ features: 3, eps }),
      new RegExp(`LayerNorm: eps is ${eps}, expected a finite number of at least 0$`),
    );
  }
});

Deno.test("Dropout without a key returns its input", () => {
  const x = ones([3]);
  assert.equal(Dropout({ rate: 0.5 })(x), x);
});

Deno.test("Dropout zeroes the given fraction of elements and scales the rest", async () => {
  const values = [...await Dropout({ rate: 0.25 })(ones([10_000], float64), key(1)).data()];
  assert.deepEqual([...new Set(values)].sort(), [0, 4 / 3]);
  const share = values.filter((x) => x === 0).length / values.length;
  assert.ok(Math.abs(share - 0.25) < 0.02, `${share} dropped`);
});

Deno.test("Dropout passes gradients only through kept elements", async () => {
  const dropout = Dropout({ rate: 0.5 });
  await checkGradients((x) => dropout(x, key(2)), [random(1, [20])]);
});

Deno.test("Dropout rejects a rate outside [0, 1)", () => {
  assert.throws(() => Dropout({ rate: 1 }), RangeError);
  assert.throws(() => Dropout({ rate: NaN }), RangeError);
});

Deno.test("Embedding selects one row per index", async () => {
  const embedding = Embedding({ count: 3, features: 2, key: key(0), ...float64 });
  embedding.parameters.weight.assign(tensor([[0, 1], [10, 11], [20, 21]], float64));
  const picked = embedding(tensor([[2, 0], [1, 1]], { dtype: "int32" }));
  assert.deepEqual(picked.shape, [2, 2, 2]);
  await assertClose(picked, [20, 21, 0, 1, 10, 11, 10, 11]);
});

Deno.test("Embedding's gradients agree with central differences, repeated indices included", async () => {
  const embedding = Embedding({ count: 3, features: 2, key: key(0), ...float64 });
  const indices = tensor([2, 0, 2], { dtype: "int32" });
  await checkGradients((_) => embedding(indices), [embedding.parameters]);
});

Deno.test("Embedding rejects indices that are not int32", () => {
  const embedding = Embedding({ count: 3, features: 2, key: key(0) });
  assert.throws(() => embedding(zeros([2])), /indices must be int32, got float32/);
});

Deno.test("loadParameters reports missing, unknown and wrongly shaped parameters and writes nothing", async () => {
  const linear = Linear({ inputs: 1, outputs: 1, key: key(0) });
  const before = await linear.parameters.weight.item();
  const [weight, bias] = [zeros([1, 1]), zeros([1])];
  assert.throws(() => loadParameters(linear.parameters, { weight }), /missing bias/);
  assert.throws(() => loadParameters(linear.parameters, { weight, bias, scale: bias }), /unknown scale/);
  assert.throws(
    () => loadParameters(linear.parameters, { weight, bias: zeros([2]) }),
    /bias is float32 \(2,\), expected float32 \(1,\)/,
  );
  assert.equal(await linear.parameters.weight.item(), before);
});
