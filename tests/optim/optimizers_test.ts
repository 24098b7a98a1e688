import assert from "node:assert/strict";
import {
  AdaBelief,
  Adam,
  AdamW,
  clipByGlobalNorm,
  clipByValue,
  key,
  MLP,
  normal,
  type Optimizer,
  parameter,
  type ParameterTree,
  SGD,
  type Tensor,
  tensor,
  treeMap,
  valueAndGrad,
  zeros,
} from "../../mod.ts";
import { testOnDevices } from "../devices.ts";

const float64 = { dtype: "float64" } as const;

/** Gradients of four steps for three elements that start at `start`. */
const start = [1, -2, 0.5];
const gradients = [[0.3, -1.2, 0.05], [-0.1, -0.7, 0], [0.25, 0.4, -2], [0.5, -0.9, 1e-3]];

const given = { betas: [0.8, 0.95], eps: 1e-3, weightDecay: 0.1 } as const;

// Results of the published update rules after four steps, computed in float64 by another program.
const cases: { name: string; make: (p: Tensor) => Optimizer; expected: number[] }[] = [
  {
    name: "SGD",
    make: (p) => SGD(p, { learningRate: 0.1 }),
    expected: [0.9049999999999999, -1.7599999999999998, 0.6949000000000001],
  },
  {
    name: "SGD with momentum and weight decay",
    make: (p) => SGD(p, { learningRate: 0.1, momentum: 0.9, weightDecay: 0.05 }),
    expected: [0.7828153918749998, -1.30034899125, 0.8394799946875],
  },
  {
    name: "SGD with Nesterov's momentum",
    make: (p) => SGD(p, { learningRate: 0.1, momentum: 0.9, nesterov: true, weightDecay: 0.05 }),
    expected: [0.6918979362529375, -1.100553803546625, 0.9882976417863438],
  },
  {
    name: "Adam",
    make: (p) => Adam(p, { learningRate: 0.1 }),
    expected: [0.7179855400700003, -1.6837711337202297, 0.4467855009772294],
  },
  {
    name: "Adam with all options set",
    make: (p) => Adam(p, { learningRate: 0.1, ...given }),
    expected: [0.6700566324476684, -1.6694308328749863, 0.42892638945670597],
  },
  {
    name: "AdamW",
    make: (p) => AdamW(p, { learningRate: 0.1, weightDecay: undefined }),
    expected: [0.7144351406684972, -1.6763266463783253, 0.445159575373488],
  },
  {
    name: "AdamW with all options set",
    make: (p) => AdamW(p, { learningRate: 0.1, ...given }),
    expected: [0.6848321310758494, -1.6200723487258055, 0.44445159641128035],
  },
  {
    name: "AdaBelief",
    make: (p) => AdaBelief(p, { learningRate: 0.1 }),
    expected: [0.6832776859514281, -1.6419619381298776, 0.44068630514851004],
  },
  {
    name: "AdaBelief with all options set",
    make: (p) => AdaBelief(p, { learningRate: 0.1, ...given }),
    expected: [0.6659190420210079, -1.5402872559989926, 0.5787131563008981],
  },
];

for (const { name, make, expected } of cases) {
  const followsItsRule = async (dtype: "float32" | "float64", tolerance: number) => {
    const p = parameter(tensor(start, { dtype }));
    const optimizer = make(p);
    for (const gradient of gradients) optimizer.step(tensor(gradient, { dtype }));
    const found = await p.data();
    expected.forEach((value, i) =>
      assert.ok(Math.abs(found[i] - value) < tolerance, `element ${i}: ${found[i]}, expected ${value}`)
    );
  };
  Deno.test(`${name} follows its published update rule in float64`, () => followsItsRule("float64", 1e-13));
  testOnDevices(
    `${name} follows its published update rule in float32`,
    () => followsItsRule("float32", 2e-6),
  );

  testOnDevices(`${name} continues from a saved state, bit for bit`, async () => {
    const [p, q] = [parameter(tensor(start)), parameter(tensor(start))];
    const [first, second] = [make(p), make(q)];
    first.step(tensor(gradients[0]));
    first.step(tensor(gradients[1]));
    q.assign(p);
    second.load({ step: first.state.step, tensors: treeMap(first.state.tensors, (x) => parameter(x)) });
    for (const gradient of gradients.slice(2)) {
      first.step(tensor(gradient));
      second.step(tensor(gradient));
    }
    assert.deepEqual(await q.data(), await p.data());
  });
}

const model = () => MLP({ inputs: 2, outputs: 1, width: 3, depth: 1, key: key(0), ...float64 });
const onesLike = (parameters: ParameterTree) => treeMap(parameters, (x) => x.zerosLike().add(1));

Deno.test("a multiplier scales the learning rate of parameters with its prefix, and the longest prefix wins", async () => {
  const { parameters } = model();
  const before = await Promise.all(
    parameters.layers.map(({ weight, bias }) =>
      Promise.all([weight, bias!].map((x) => x.data().then((data) => data[0])))
    ),
  );
  const optimizer = SGD(parameters, {
    learningRate: 0.01,
    multipliers: { "layers.1": 10, "layers.1.bias": 0 },
  });
  optimizer.step(onesLike(parameters));
  const moved = await Promise.all(
    parameters.layers.map(({ weight, bias }, layer) =>
      Promise.all([weight, bias!].map((x, i) => x.data().then((data) => before[layer][i] - data[0])))
    ),
  );
  const expected = [[0.01, 0.01], [0.1, 0]];
  assert.ok(moved.flat().every((x, i) => Math.abs(x - expected.flat()[i]) < 1e-12), `${moved}`);
});

Deno.test("a multiplier that matches no parameter throws an error that lists the names", () => {
  assert.throws(
    () => SGD(model().parameters, { learningRate: 1, multipliers: { layer: 2 } }),
    /"layer" fits no parameter; there are layers.0.weight/,
  );
});

Deno.test("a parameter with two names is updated once per step", async () => {
  const p = parameter(tensor([1], float64));
  const tied = { encoder: p, decoder: p };
  const optimizer = SGD(tied, { learningRate: 0.5 });
  optimizer.step(valueAndGrad(() => p.sum())(tied)[1]);
  assert.equal(await p.item(), 0.5);
});

Deno.test("the learning rate can be set between steps", async () => {
  const p = parameter(tensor([1], float64));
  const optimizer = SGD(p, { learningRate: 0.5 });
  optimizer.learningRate = 0.25;
  optimizer.step(tensor([1], float64));
  assert.equal(await p.item(), 0.75);
  assert.throws(() => optimizer.learningRate = NaN, /learningRate is NaN/);
});

Deno.test("state tensors are named after their parameter and role", () => {
  const { step, tensors } = Adam(model().parameters, { learningRate: 1 }).state;
  assert.equal(step, 0);
  assert.deepEqual(Object.keys(tensors).slice(0, 3), [
    "layers.0.weight.m",
    "layers.0.weight.v",
    "layers.0.bias.m",
  ]);
  assert.deepEqual(tensors["layers.0.weight.m"].shape, [3, 2]);
});

testOnDevices("steps update parameters and state in place", async () => {
  const p = parameter(tensor([1]));
  const optimizer = Adam({ p }, { learningRate: 0.1 });
  const m = optimizer.state.tensors["p.m"];
  optimizer.step({ p: tensor([2]) });
  assert.equal(optimizer.state.tensors["p.m"], m);
  assert.ok(Math.abs(await m.item() - 0.2) < 1e-7);
  assert.ok(Math.abs(await p.item() - 0.9) < 1e-6);
});

Deno.test("gradients of the wrong structure or shape throw before any update", () => {
  const optimizer = SGD({ a: zeros([2]), b: zeros([1]) }, { learningRate: 1 });
  assert.throws(() => optimizer.step({ a: zeros([2]) }), /b has no gradient/);
  assert.throws(
    () => optimizer.step({ a: zeros([2]), b: zeros([1]), c: zeros([1]) }),
    /c is a gradient of no parameter/,
  );
  assert.throws(
    () => optimizer.step({ a: zeros([2]), b: zeros([2]) }),
    /the gradient of b is float32 \(2,\)/,
  );
  assert.equal(optimizer.state.step, 0);
});

Deno.test("an optimizer rejects the state of another optimizer", () => {
  const adam = Adam({ p: zeros([2]) }, { learningRate: 1 });
  const momentum = SGD({ p: zeros([2]) }, { learningRate: 1, momentum: 0.9 });
  assert.throws(() => adam.load(momentum.state), /missing p.m, p.v; unknown p.momentum/);
});

Deno.test("optimizers reject options out of range", () => {
  assert.throws(() => SGD(zeros([1]), { learningRate: -1 }), /learningRate is -1/);
  assert.throws(() => SGD(zeros([1]), { learningRate: 1, nesterov: true }), /nesterov needs a momentum/);
  assert.throws(() => Adam(zeros([1]), { learningRate: 1, betas: [0.9, 1] }), /beta 1 is not in/);
  assert.throws(
    () => Adam(zeros([1]), { learningRate: 1, betas: [0.9] as never }),
    /betas are \[0.9\], expected two/,
  );
});

Deno.test("Adam with a closure over a model's parameters fits a linear map", async () => {
  const mlp = model();
  const x = normal(key(1), [32, 2], float64);
  const target = x.sum(1, { keepDims: true });
  const optimizer = Adam(mlp.parameters, { learningRate: 0.02 });
  const losses: number[] = [];
  for (let step = 0; step < 200; step++) {
    const [loss, gradient] = valueAndGrad(() => mlp(x).sub(target).square().mean())(mlp.parameters);
    optimizer.step(gradient);
    losses.push(await loss.item());
  }
  assert.ok(losses.at(-1)! < losses[0] / 50, `loss from ${losses[0]} to ${losses.at(-1)}`);
});

Deno.test("clipping by norm scales all gradients by the same factor", async () => {
  const { gradients, norm } = clipByGlobalNorm(
    { a: tensor([3, 0], float64), b: [tensor([[4]], float64)] },
    1,
  );
  assert.equal(await norm.item(), 5);
  const [a, b] = [await gradients.a.data(), await gradients.b[0].data()];
  // PyTorch divides by the norm plus 1e-6.
  assert.ok(Math.abs(a[0] - 3 / (5 + 1e-6)) < 1e-15 && Math.abs(b[0] - 4 / (5 + 1e-6)) < 1e-15);
});

Deno.test("clipping by value limits every element to plus or minus the limit", async () => {
  const { a, b } = clipByValue({ a: tensor([3, -0.5], float64), b: tensor([[-7]], float64) }, 1);
  assert.deepEqual([await a.toArray(), await b.toArray()], [[1, -0.5], [[-1]]]);
  assert.throws(() => clipByValue([tensor([1])], -1), /limit is -1/);
});

Deno.test("AdaBelief updates parameters whose gradients are clipped to 1e-7", async () => {
  const x = parameter(tensor([1, -1]));
  const optimizer = AdaBelief([x], { learningRate: 1e-3 });
  for (let i = 0; i < 20; i++) optimizer.step(clipByValue([tensor([5, -0.01])], 1e-7));
  const moved = await x.sub(tensor([1, -1])).toArray() as number[];
  // Each element moves against the sign of its gradient, by the same distance.
  assert.ok(moved[0] < -1e-3 && Math.abs(moved[0] + moved[1]) < 1e-6, `${moved}`);
});

Deno.test("clipping does not change small gradients", async () => {
  const { gradients } = clipByGlobalNorm([tensor([0.3, -0.4], float64)], 1);
  assert.deepEqual([...await gradients[0].data()], [0.3, -0.4]);
});

Deno.test("the norm that clipping returns is not finite if a gradient is not finite", async () => {
  assert.ok(Number.isNaN(await clipByGlobalNorm([tensor([1]), tensor([NaN])], 1).norm.item()));
});

Deno.test("optimizers reject parameters that they cannot update", () => {
  const options = { learningRate: 0.1 };
  assert.throws(() => Adam({}, options), /optimizer: no tensors among the parameters/);
  assert.throws(
    () => Adam({ step: zeros([2], { dtype: "int32" }) }, options),
    /optimizer: step is int32, and has no gradient/,
  );
});
