/** Reductions over axes without elements, and softmax of infinities. */
import assert from "node:assert/strict";
import { grad, type Tensor, tensor, zeros } from "../../mod.ts";
import { testOnDevices } from "../devices.ts";

testOnDevices("operations over axes without elements have the results of PyTorch", async () => {
  const cases: [string, (x: Tensor) => Tensor, shape: number[], values: number[]][] = [
    ["sum", (x) => x.sum(1), [2], [0, 0]],
    ["prod", (x) => x.prod(1), [2], [1, 1]],
    ["mean", (x) => x.mean(1), [2], [NaN, NaN]],
    ["variance", (x) => x.variance(1), [2], [NaN, NaN]],
    ["std", (x) => x.std(1), [2], [NaN, NaN]],
    ["norm", (x) => x.norm(1), [2], [0, 0]],
    ["norm of order 3", (x) => x.norm(1, { order: 3 }), [2], [0, 0]],
    ["any", (x) => x.any(1), [2], [0, 0]],
    ["all", (x) => x.all(1), [2], [1, 1]],
    ["logsumexp", (x) => x.logsumexp(1), [2], [-Infinity, -Infinity]],
    ["logsumexp of all", (x) => x.logsumexp(), [], [-Infinity]],
    ["logsumexp keepDims", (x) => x.logsumexp(1, { keepDims: true }), [2, 1], [-Infinity, -Infinity]],
    ["logsumexp along the other axis", (x) => x.logsumexp(0), [0], []],
    ["softmax", (x) => x.softmax(), [2, 0], []],
    ["softmax along the other axis", (x) => x.softmax(0), [2, 0], []],
    ["logSoftmax", (x) => x.logSoftmax(), [2, 0], []],
    ["cumsum", (x) => x.cumsum(), [2, 0], []],
    ["sort", (x) => x.sort(), [2, 0], []],
  ];
  for (const [name, f, shape, values] of cases) {
    const y = f(zeros([2, 0]));
    assert.deepEqual(y.shape, shape, name);
    assert.deepEqual([...await y.data()], values, name);
    const gradient = grad((x: Tensor) => f(x).cast("float32").sum())(zeros([2, 0]));
    assert.deepEqual(gradient.shape, [2, 0], `gradient of ${name}`);
  }
  for (const name of ["max", "min", "argmax", "argmin"] as const) {
    assert.throws(() => zeros([2, 0])[name](1), new RegExp(`^\\w*Error: ${name}: .* length zero`));
  }
});

testOnDevices(
  "softmax and logSoftmax of an infinite maximum are NaN, and logsumexp is the maximum",
  async () => {
    const rows = tensor([[1, Infinity, -Infinity], [Infinity, Infinity, 0], [
      -Infinity,
      -Infinity,
      -Infinity,
    ]]);
    for (const name of ["softmax", "logSoftmax"] as const) {
      assert.ok((await rows[name]().data()).every(Number.isNaN), name);
    }
    assert.deepEqual([...await rows.logsumexp(1).data()], [Infinity, Infinity, -Infinity]);
    const masked = tensor([1, -Infinity]);
    assert.deepEqual([...await masked.softmax().data()], [1, 0]);
    assert.deepEqual([...await masked.logSoftmax().data()], [0, -Infinity]);
  },
);
