import assert from "node:assert/strict";
import {
  checkGradients,
  grad,
  jacobian,
  type JacobianOptions,
  jit,
  key,
  linspace,
  normal,
  scan,
  type Tensor,
  tensor,
} from "../../mod.ts";
import { testOnCpu, testOnDevices } from "../devices.ts";
import { assertTensor } from "../tensor/nd.ts";

testOnDevices("jacobian has the axes of the value, then those of the argument", async () => {
  const w = tensor([[1, 2], [3, 4], [5, 6]]);
  await assertTensor(jacobian((x: Tensor) => w.matmul(x))(tensor([7, 8])), {
    shape: [3, 2],
    values: [1, 2, 3, 4, 5, 6],
  });
  const squares = jacobian((x: Tensor) => x.square())(tensor([[1, 2]]));
  await assertTensor(squares, { shape: [1, 2, 1, 2], values: [2, 0, 0, 4] });
});

testOnDevices("jacobian differentiates the first argument only, also under jit", async () => {
  const f = jacobian((x: Tensor, y: Tensor) => x.mul(y).sin());
  const [x, y] = [tensor([0.5, 1]), tensor([2, 3])];
  const expected = [2 * Math.cos(1), 0, 0, 3 * Math.cos(3)];
  for (const run of [f, jit(f)]) await assertTensor(run(x, y), { shape: [2, 2], values: expected }, 1e-5);
});

testOnDevices("the Jacobian matrix of a gradient is the Hessian matrix", async () => {
  const f = (x: Tensor) => x.pow(3).sum().add(x.prod());
  const hessian = jacobian(grad(f))(tensor([1, 2, 3]));
  await assertTensor(hessian, { shape: [3, 3], values: [6, 3, 2, 3, 12, 1, 2, 1, 18] }, 1e-4);
});

testOnCpu("a Jacobian matrix is differentiable", async () => {
  const f = jacobian((x: Tensor) => x.sin().mul(x.sum()));
  await checkGradients(f, [normal(key(0), [3], { dtype: "float64" })]);
});

Deno.test("jacobian of a value or an argument without elements has no elements", () => {
  const empty = jacobian((x: Tensor) => x.slice(0, 0, 0))(tensor([1, 2]));
  assert.deepEqual(empty.shape, [0, 2]);
});

Deno.test("jacobian names what is not a tensor", () => {
  assert.throws(
    () => jacobian((x: Tensor) => x)([1, 2] as never),
    /^TypeError: jacobian: the first argument/,
  );
  assert.throws(() => jacobian((() => 1) as never)(tensor([1])), /^TypeError: jacobian: the result of f/);
});

testOnDevices("both modes of jacobian agree, for tall and wide matrices and through loops", async () => {
  const w = normal(key(0), [3, 3]);
  const functions: [name: string, f: (x: Tensor) => Tensor, x: Tensor][] = [
    ["tall", (x) => w.matmul(x.expandDims(1)).mul(tensor([1, 2])).sin(), tensor([0.1, 0.2, 0.3])],
    ["wide", (x) => x.sin().sum(0), normal(key(1), [5, 2])],
    ["a scalar", (x) => x.square().sum(), tensor([1, 2])],
    ["of a scalar", (x) => x.mul(tensor([1, 2])).exp(), tensor(0.3)],
    ["scan", (x) => scan((y: Tensor, r: Tensor) => [y.mul(r).tanh(), y], x, w)[1], tensor([1, 2, 3])],
    ["more than 128 rows", (x) => x.expandDims(1).mul(linspace(0, 1, 150)).cos(), tensor([1, 2])],
  ];
  for (const [name, f, x] of functions) {
    const [forward, reverse, byDefault] = [{ mode: "forward" }, { mode: "reverse" }, {}].map((options) =>
      jacobian(f, options as JacobianOptions)(x)
    );
    const shape = [...f(x).shape, ...x.shape];
    for (const found of [forward, byDefault]) {
      assert.deepEqual(found.shape, shape, name);
      assert.ok(await found.sub(reverse).abs().max().item() < 1e-5, name);
    }
  }
});

testOnCpu("jacobian runs forward if the result is larger than the argument", () => {
  const runs = (x: Tensor, factors: Tensor) => {
    let count = 0;
    jacobian((x: Tensor) => {
      count++;
      return x.sum().mul(factors);
    })(x);
    return count;
  };
  // The first run finds the size of the result, and is that of the reverse pass.
  assert.equal(runs(tensor([1]), tensor([1, 2, 3])), 2);
  assert.equal(runs(tensor([1, 2, 3]), tensor([1])), 1);
});

Deno.test("jacobian names an unknown mode", () => {
  assert.throws(() => jacobian((x: Tensor) => x, { mode: "back" as never }), /jacobian: mode is "back"/);
});
