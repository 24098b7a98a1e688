import assert from "node:assert/strict";
import {
  checkGradients,
  einsum,
  jacobian,
  key,
  l2Penalty,
  LinearInterpolation,
  LogNCDE,
  logsigWindows,
  normal,
  odeint,
  signature,
  stack,
  type Tensor,
  treeFlatten,
  valueAndGrad,
} from "../../mod.ts";
import { assertClose, makeWaves, wave } from "../golden.ts";
import { countLoops } from "../loops.ts";
import { testLong } from "../devices.ts";

const float64 = { dtype: "float64" } as const;
const sizes = { inputChannels: 3, hiddenChannels: 4, outputChannels: 2, width: 5, key: key(0), ...float64 };
const x = normal(key(1), [2, 9, 3], float64).mul(0.1);
const windows = (depth: number, length: number) => LinearInterpolation(logsigWindows(x, depth, length));
const largest = async (x: Tensor) => await x.abs().max().item();

/** The final output of dz = f(z) dX along linear pieces between the observations, with small steps. */
function alongPieces(model: ReturnType<typeof LogNCDE>, x: Tensor): Tensor {
  const tensors = new Map<string, Tensor>(treeFlatten(model.parameters));
  const linear = (name: string, x: Tensor) =>
    x.matmul(tensors.get(`${name}.weight`)!.mT).add(tensors.get(`${name}.bias`)!);
  let z = linear("initial", x.select(1, 0));
  for (let i = 1; i < x.shape[1]; i++) {
    const increment = x.select(1, i).sub(x.select(1, i - 1)).expandDims(-1);
    const field = (_: Tensor, z: Tensor) => {
      const hidden = linear("vectorField.layers.0", z).silu();
      return linear("vectorField.layers.1", hidden).tanh().reshape([2, 4, 3]).matmul(increment).squeeze(-1);
    };
    z = odeint(field, z, [0, 1], { method: "rk4", stepSize: 0.25, compile: false }).select(0, 1);
  }
  return linear("readout", z);
}

testLong("Lie brackets reduce the error of a Log-NCDE with long windows", async () => {
  const model = (signatureDepth: number) => LogNCDE({ ...sizes, depth: 1, signatureDepth });
  const exact = alongPieces(model(2), x);
  const errorOf = async (depth: number, length: number) =>
    await largest(model(depth)(windows(depth, length)).sub(exact));
  for (const depth of [1, 2]) assert.ok(await errorOf(depth, 1) < 1e-7, "a straight window has no brackets");
  for (const length of [2, 4]) {
    assert.ok(await errorOf(2, length) < 0.05 * await errorOf(1, length));
    assert.ok(await errorOf(3, length) < 0.3 * await errorOf(2, length));
  }
});

type Field = (z: Tensor) => Tensor;

/** [a, b] = J_b a - J_a b by Jacobians. */
const bracket = (a: Field, b: Field): Field => (z) =>
  jacobian(b)(z).matmul(a(z).expandDims(-1)).sub(jacobian(a)(z).matmul(b(z).expandDims(-1))).squeeze(-1);

for (const depth of [0, 1, 2]) {
  Deno.test(`a Log-NCDE with ${depth} hidden layers agrees with nested brackets of Jacobians at depth 3`, async () => {
    const model = LogNCDE({ ...sizes, depth, signatureDepth: 3, method: "euler" });
    const path = x.slice(0, 0, 1);
    const found = model(LinearInterpolation(logsigWindows(path, 3, 8)));
    // The logarithm in the tensor algebra, s - s^2 / 2 + s^3 / 3, of three channels.
    const s = signature(path.squeeze(0), 3);
    const [one, two, three] = [
      s.slice(0, 0, 3),
      s.slice(0, 3, 12).reshape([3, 3]),
      s.slice(0, 12).reshape([3, 3, 3]),
    ];
    const squared = einsum("i,j->ij", one, one);
    const logTwo = await two.sub(squared.mul(0.5)).toArray() as number[][];
    const mixed = einsum("i,jk->ijk", one, two).add(einsum("ij,k->ijk", two, one));
    const cubed = einsum("ij,k->ijk", squared, one);
    const logThree = await three.sub(mixed.mul(0.5)).add(cubed.div(3)).toArray() as number[][][];
    const tensors = new Map<string, Tensor>(treeFlatten(model.parameters));
    const linear = (name: string, x: Tensor) =>
      tensors.get(`${name}.weight`)!.matmul(x.expandDims(-1)).squeeze(-1).add(tensors.get(`${name}.bias`)!);
    const columns = (z: Tensor) => {
      let value = z;
      for (let l = 0; l < depth; l++) value = linear(`vectorField.layers.${l}`, value).silu();
      return linear(`vectorField.layers.${depth}`, value).tanh().reshape([4, 3]);
    };
    const f = [0, 1, 2].map((i): Field => (z) => columns(z).select(1, i));
    const z = linear("initial", path.select(1, 0).squeeze(0));
    // By Dynkin's theorem a Lie element of degree n is the sum of its left-nested brackets, divided by n.
    let slope = columns(z).matmul(one.expandDims(-1)).squeeze(-1);
    for (const i of [0, 1, 2]) {
      for (const j of [0, 1, 2]) {
        if (i === j) continue;
        const pair = bracket(f[i], f[j]);
        slope = slope.add(pair(z).mul(logTwo[i][j] / 2));
        for (const k of [0, 1, 2]) slope = slope.add(bracket(pair, f[k])(z).mul(logThree[i][j][k] / 3));
      }
    }
    const error = await largest(found.squeeze(0).sub(linear("readout", z.add(slope))));
    assert.ok(error < 1e-13, `${error}`);
    const withoutTriples = LogNCDE({ ...sizes, depth, signatureDepth: 2, method: "euler" });
    const difference = found.sub(withoutTriples(LinearInterpolation(logsigWindows(path, 2, 8))));
    assert.ok(await largest(difference) > 1e-6);
  });
}

Deno.test("a Log-NCDE agrees with PyTorch's jacfwd of its equation", async () => {
  const model = makeWaves(LogNCDE({ ...sizes, depth: 1, signatureDepth: 2 }));
  const X = LinearInterpolation(logsigWindows(wave(20, [2, 7, 3]), 2, 3));
  const data = [0.645677453237, 0.341056714906, 0.617965657935, 0.355299793011];
  await assertClose("output", model(X), { shape: [2, 2], data }, 1e-11);
  const [, gradients] = valueAndGrad(() => model(X).square().sum())(model.parameters);
  const norms = treeFlatten(gradients).map(([_, x]) => x.square().sum().sqrt());
  const expected = [
    ...[0.2657446871, 0.9421154495, 0.0260091669, 0.006951359, 0.127569052, 0.0345105056],
    ...[2.1526935866, 2.885623883],
  ];
  await assertClose("norms of gradients", stack(norms), { shape: [8], data: expected }, 1e-9);
});

Deno.test("initialScale scales the initial vector field of a Log-NCDE", async () => {
  const [full, small] = [1, 0.001].map((initialScale) =>
    LogNCDE({ ...sizes, depth: 1, signatureDepth: 2, initialScale }).parameters as { vectorField: Tensor }
  );
  const [a, b] = [full, small].map(({ vectorField }) => l2Penalty(vectorField, { norms: true }));
  assert.ok(Math.abs(await b.div(a).item() - 0.001) < 1e-9);
});

for (
  const options of [{ depth: 0 }, { depth: 2 }, { depth: 1, signatureDepth: 1 }, {
    depth: 2,
    signatureDepth: 3,
  }]
) {
  testLong(
    `the gradients of a Log-NCDE of ${JSON.stringify(options)} agree with central differences`,
    async () => {
      const model = LogNCDE({ ...sizes, signatureDepth: 2, ...options });
      const X = windows(options.signatureDepth ?? 2, 2);
      await checkGradients((_) => model(X, { states: "all" }), [model.parameters], { elements: 4 });
    },
  );
}

Deno.test("a Log-NCDE solves all windows in a compiled loop", () => {
  for (const signatureDepth of [2, 3]) {
    const model = LogNCDE({ ...sizes, depth: 2, signatureDepth });
    assert.equal(countLoops(() => model(windows(signatureDepth, 2))), 1);
  }
});

Deno.test("a Log-NCDE rejects depths with unsupported brackets", () => {
  assert.throws(
    () => LogNCDE({ ...sizes, depth: 1, signatureDepth: 4 }),
    /signatureDepth is 4, expected 1, 2 or 3/,
  );
});

Deno.test("a Log-NCDE rejects windows with the wrong channels or depth", () => {
  const model = (inputChannels: number) => LogNCDE({ ...sizes, inputChannels, depth: 1, signatureDepth: 2 });
  assert.throws(() => model(2)(windows(2, 2)), /has values of shape \(2, 6\), expected \(\.\.\., 3\)/);
  assert.throws(() => model(3)(windows(1, 2)), /has values of shape \(2, 3\), expected \(\.\.\., 6\)/);
});
