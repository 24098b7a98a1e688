import assert from "node:assert/strict";
import {
  checkGradients,
  concatenate,
  grad,
  jit,
  key,
  normal,
  ones,
  remat,
  scan,
  stopGradient,
  type Tensor,
  tensor,
  valueAndGrad,
  vmap,
} from "../../mod.ts";
import { vjp } from "../../src/autodiff/grad.ts";
import { setCurrentDevice } from "../../src/device/current.ts";
import { cpu, testOnDevices } from "../devices.ts";
import { assertTensor } from "../tensor/nd.ts";

const float64 = { dtype: "float64" } as const;

testOnDevices("valueAndGrad returns the value and gradient of a scalar function", async () => {
  const loss = (w: { a: Tensor; b: Tensor }) => w.a.mul(w.b).sum();
  const [value, gradient] = valueAndGrad(loss)({ a: tensor([1, 2]), b: tensor([3, 4]) });
  assert.equal(await value.item(), 11);
  await assertTensor(gradient.a, { shape: [2], values: [3, 4] });
  await assertTensor(gradient.b, { shape: [2], values: [1, 2] });
});

testOnDevices(
  "gradients have the structure of the first argument, which may also hold values that are not tensors",
  async () => {
    const parameters = {
      layers: [{ w: tensor([2]) }, { w: tensor([3]), name: "last" }],
      scale: 4,
      unused: ones([2, 2]),
    };
    const gradient = grad((p: typeof parameters, x: Tensor) =>
      p.layers[0].w.mul(p.layers[1].w).mul(p.scale).mul(x).sum()
    )(
      parameters,
      tensor([5]),
    );
    assert.equal(gradient.layers[1].name, "last");
    assert.equal(gradient.scale, 4);
    await assertTensor(gradient.layers[0].w, { shape: [1], values: [60] });
    await assertTensor(gradient.layers[1].w, { shape: [1], values: [40] });
    await assertTensor(gradient.unused, { shape: [2, 2], values: [0, 0, 0, 0] });
  },
);

testOnDevices("the gradients of both uses of a tensor are added", async () => {
  const x = tensor([3]);
  await assertTensor(grad((x: Tensor) => x.mul(x).add(x).sum())(x), { shape: [1], values: [7] });
  const pair = grad(([a, b]: Tensor[]) => a.mul(b).sum())([x, x]);
  await assertTensor(pair[0], { shape: [1], values: [6] });
});

testOnDevices("the gradient of the identity is 1, the gradient of a constant is 0", async () => {
  await assertTensor(grad((x: Tensor) => x)(tensor(3)), { shape: [], values: [1] });
  await assertTensor(grad((_: Tensor) => tensor(7))(tensor([3])), { shape: [1], values: [0] });
});

testOnDevices("stopGradient returns its argument and stops gradients", async () => {
  const [value, gradient] = valueAndGrad((x: Tensor) => stopGradient(x).mul(x).sum())(tensor([3]));
  assert.equal(await value.item(), 9);
  await assertTensor(gradient, { shape: [1], values: [3] });
});

testOnDevices("stopGradient stops gradients inside a loop", async () => {
  const final = (x: Tensor) =>
    scan((y: Tensor) => [stopGradient(y.mul(x)).add(x), []], ones([1]), ones([3]))[0];
  // 1, 4, 10, 22: only the last x that is added has a gradient.
  const [value, gradient] = valueAndGrad((x: Tensor) => final(x).sum())(tensor([2]));
  assert.equal(await value.item(), 22);
  await assertTensor(gradient, { shape: [1], values: [1] });
});

Deno.test("vjp rejects a cotangent whose structure or shape differs from the value", () => {
  const a = tensor([1, 2]);
  const { pullback } = vjp(() => a.square(), a);
  assert.throws(
    () => pullback(tensor([[1, 2], [3, 4]])),
    /cotangent is float32 \(2, 2\), expected float32 \(2,\)/,
  );
});

testOnDevices("vjp accepts a structure of cotangents and can be called repeatedly", async () => {
  const [a, b] = [tensor([1, 2]), tensor([3, 4])];
  const { value, pullback } = vjp(() => ({ product: a.mul(b), sum: [a.add(b)] }), { a, b });
  await assertTensor(value.product, { shape: [2], values: [3, 8] });
  const first = pullback({ product: tensor([1, 0]), sum: [tensor([0, 1])] });
  await assertTensor(first.a, { shape: [2], values: [3, 1] });
  await assertTensor(first.b, { shape: [2], values: [1, 1] });
  const second = pullback({ product: tensor([0, 1]), sum: [tensor([0, 0])] });
  await assertTensor(second.a, { shape: [2], values: [0, 4] });
});

Deno.test("third derivatives are correct", async () => {
  setCurrentDevice(cpu);
  const x = tensor([0.3, -0.7], float64);
  const f = (x: Tensor) => x.pow(4).add(x.sin()).sum();
  const third = grad((x: Tensor) => grad((x: Tensor) => grad(f)(x).sum())(x).sum())(x);
  await assertTensor(third, { shape: [2], values: [0.3, -0.7].map((x) => 24 * x - Math.cos(x)) }, 1e-12);
});

Deno.test("an inner gradient can be differentiated with respect to another variable", async () => {
  setCurrentDevice(cpu);
  const x = normal(key(0), [4], float64);
  const step = (w: Tensor) => {
    const inner = grad((w: Tensor) => w.mul(x).tanh().square().sum())(w);
    return w.sub(inner.mul(0.1)).mul(x).sum();
  };
  await checkGradients(step, [normal(key(1), [4], float64)]);
});

/** A function that closes over a weight and creates tensors. */
const layer = (w: Tensor) => (x: Tensor) => x.matmul(w).tanh().mul(ones([3], { dtype: x.dtype })).add(x);

testOnDevices("remat does not change the value and gradients", async () => {
  const [w, x] = [normal(key(2), [3, 3]), normal(key(3), [2, 3])];
  const plain = valueAndGrad(([w, x]: Tensor[]) => layer(w)(layer(w)(x)).square().sum())([w, x]);
  const saved = valueAndGrad(([w, x]: Tensor[]) =>
    remat((x: Tensor) => layer(w)(layer(w)(x)), x).square().sum()
  )([w, x]);
  await assertTensor(saved[0], { shape: [], values: [...await plain[0].data()] }, 1e-6);
  for (const i of [0, 1]) {
    await assertTensor(
      saved[1][i],
      { shape: plain[1][i].shape, values: [...await plain[1][i].data()] },
      1e-6,
    );
  }
});

Deno.test("first and second gradients through nested checkpoints are correct", async () => {
  setCurrentDevice(cpu);
  const [w, x] = [normal(key(2), [3, 3], float64), normal(key(3), [2, 3], float64)];
  const once = (w: Tensor, x: Tensor) => remat(layer(w), x);
  await checkGradients(once, [w, x]);
  await checkGradients((w: Tensor, x: Tensor) => grad((w: Tensor) => once(w, x).square().sum())(w), [w, x], {
    tolerance: 1e-5,
  });
  await checkGradients(
    (w: Tensor, x: Tensor) => remat((x: Tensor) => layer(w)(remat(layer(w), x)), x),
    [w, x],
  );
});

Deno.test("remat reduces the memory that a gradient keeps", () => {
  setCurrentDevice(cpu);
  const w = normal(key(4), [64, 64]).mul(0.1);
  const peak = (f: (w: Tensor) => Tensor) => {
    const { allocate, release } = cpu;
    let [lent, most] = [0, 0];
    cpu.allocate = (n) => (lent += n, most = Math.max(most, lent), allocate.call(cpu, n));
    cpu.release = (memory, n) => (lent -= n, release.call(cpu, memory, n));
    try {
      valueAndGrad(f)(w);
    } finally {
      Object.assign(cpu, { allocate, release });
    }
    return most;
  };
  const block = (x: Tensor) => {
    for (let i = 0; i < 10; i++) x = x.matmul(w).tanh();
    return x;
  };
  const blocks = (run: (x: Tensor) => Tensor) => (w: Tensor) => {
    let x = w;
    for (let i = 0; i < 10; i++) x = run(x);
    return x.sum();
  };
  const [plain, saved] = [peak(blocks(block)), peak(blocks((x) => remat(block, x)))];
  assert.ok(saved < plain / 2, `${saved} bytes against ${plain}`);
});

testOnDevices("remat handles the identity, the same tensor twice and an integer argument", async () => {
  const x = tensor([3]);
  await assertTensor(grad((x: Tensor) => remat((x: Tensor) => x, x).sum())(x), {
    shape: [1],
    values: [1],
  });
  const twice = grad((x: Tensor) => remat((a: Tensor, b: Tensor) => a.mul(b), x, x).sum())(x);
  await assertTensor(twice, { shape: [1], values: [6] });
  const indices = tensor([1, 1], { dtype: "int32" });
  const gathered = grad((x: Tensor) => remat((x: Tensor, i: Tensor) => x.take(i), x, indices).sum())(
    tensor([1, 2]),
  );
  await assertTensor(gathered, { shape: [2], values: [0, 2] });
});

testOnDevices("an assignment to a value that a gradient still needs throws", async () => {
  const run = (assign: (w: Tensor) => void) =>
    grad((w: Tensor) => {
      const value = w.square().sum();
      assign(w);
      return value;
    })(tensor([1, 2]));
  assert.throws(() => run((w) => w.assign(w.neg())), /assign: a gradient .* needs the values/);
  assert.throws(() => run((w) => w.select(0, 0).assign(tensor(3))), /assign: a gradient .* needs the values/);
  const mean = tensor([0, 0]);
  assert.deepEqual(await run((w) => mean.assign(w)).toArray(), [2, 4]);
});

testOnDevices("grad rejects a function whose value is not a floating-point scalar", () => {
  assert.throws(
    () => grad((x: Tensor) => x.mul(2))(ones([3])),
    /grad: .* one element, got shape \(3,\); use .sum\(\)/,
  );
  assert.throws(
    () => grad((x: Tensor) => x.sum())(ones([3], { dtype: "int32" })),
    /grad: a int32 tensor has no gradient/,
  );
});

testOnDevices("with hasAux, other results come beside the value and have no gradient", async () => {
  const loss = (w: Tensor, x: Tensor) => {
    const y = w.mul(x);
    return [y.square().sum(), { y, isLarge: y.greater(3), name: "y" }] as const;
  };
  const [w, x] = [tensor([1, 2]), tensor([3, 4])];
  const both = valueAndGrad(loss, { hasAux: true });
  for (const run of [both, jit(both)]) {
    const [[value, { y, isLarge, name }], gradient] = run(w, x);
    assert.deepEqual([await value.item(), await y.toArray(), await isLarge.toArray(), name], [
      73,
      [3, 8],
      [0, 1],
      "y",
    ]);
    await assertTensor(gradient, { shape: [2], values: [18, 64] });
  }
  const [gradient, aux] = grad(loss, { hasAux: true })(w, x);
  await assertTensor(gradient, { shape: [2], values: [18, 64] });
  assert.deepEqual(await aux.y.toArray(), [3, 8]);
  const [second, { y }] = vmap(grad(loss, { hasAux: true }), { outAxes: 0 })(
    w.expandDims(0),
    x.expandDims(0),
  );
  await assertTensor(second, { shape: [1, 2], values: [18, 64] });
  assert.deepEqual(y.shape, [1, 2]);
  const closed = valueAndGrad(() => [w.mul(x).sum(), x] as const, { hasAux: true })({ w });
  await assertTensor(closed[1].w, { shape: [2], values: [3, 4] });
  const ofAux = grad((w: Tensor) => grad(loss, { hasAux: true })(w, x)[1].y.sum())(w);
  await assertTensor(ofAux, { shape: [2], values: [3, 4] });
});

Deno.test("with hasAux, a function that returns no pair is rejected", () => {
  setCurrentDevice(cpu);
  assert.throws(
    () => valueAndGrad(((w: Tensor) => w.sum()) as never, { hasAux: true })(tensor([1])),
    /^TypeError: grad: with hasAux, the function must return \[value, aux\]/,
  );
});

Deno.test("the gradient checker reports a wrong gradient and its element", async () => {
  setCurrentDevice(cpu);
  const wrong = (x: Tensor) => stopGradient(x).mul(x);
  await assert.rejects(
    checkGradients(wrong, [tensor([0.5, 2], float64)]),
    /argument 0, element 0: gradient .* central/,
  );
  await assert.rejects(
    checkGradients((x: Tensor) => x, [ones([2])]),
    /argument 0 is float32, expected float64/,
  );
});

Deno.test("remat passes gradients to a captured tensor that the function returns unchanged", async () => {
  setCurrentDevice(cpu);
  const gradientOf = (f: (w: Tensor) => Tensor) => grad((w: Tensor) => f(w).sum())(tensor([1, 2]));
  const same: [name: string, f: (w: Tensor) => Tensor][] = [
    ["itself", (w) => w],
    ["a slice of all", (w) => w.slice(0, 0, 2)],
    ["the first power", (w) => w.pow(1)],
    ["one tensor concatenated", (w) => concatenate([w])],
    ["a cast to its own type", (w) => w.cast("float32")],
    ["another checkpoint", (w) => remat(() => w)],
  ];
  for (const [name, f] of same) {
    const gradient = gradientOf((w) => remat(() => f(w)));
    assert.deepEqual([...await gradient.data()], [1, 1], name);
  }
  const ofProduct = gradientOf((w) => {
    const h = w.mul(3);
    return remat(() => h);
  });
  assert.deepEqual([...await ofProduct.data()], [3, 3]);
});
