/** Functions composed of primitives, compared with naive loops on every device, and their gradients. */
import assert from "node:assert/strict";
import {
  checkGradients,
  concatenate,
  grad,
  oneHot,
  stack,
  type Tensor,
  tensor,
  tridiagonalSolve,
  valueAndGrad,
  where,
} from "../../mod.ts";
import { setCurrentDevice } from "../../src/device/current.ts";
import { cpu, testOnDevices } from "../devices.ts";
import {
  assertTensor,
  at,
  broadcast,
  build,
  laidOut,
  layouts,
  map,
  type Nd,
  permute,
  random,
  reduce,
  toTensor,
} from "./nd.ts";

const sum = (x: number[]) => x.reduce((total, value) => total + value, 0);
const mean = (x: number[]) => sum(x) / x.length;
const x = random([3, 4, 5], 1);

/** Replaces the elements along an axis by a function of all of them. */
function along(x: Nd, axis: number, f: (elements: number[]) => number[]): Nd {
  const row = (position: number[]) =>
    Array.from({ length: x.shape[axis] }, (_, i) => at(x, position.map((p, j) => j === axis ? i : p)));
  return build(x.shape, (position) => f(row(position))[position[axis]]);
}

const logsumexp = (x: number[]) => Math.log(sum(x.map(Math.exp)));
const product = (x: number[]) => x.reduce((result, value) => result * value, 1);
const variance = (x: number[]) => mean(x.map((value) => (value - mean(x)) ** 2));

/** Functions of one tensor: the library's, and the same by naive loops. */
const functions: [string, (x: Tensor) => Tensor, (x: Nd) => Nd][] = [
  [
    "softmax",
    (x) => x.softmax(1),
    (x) => along(x, 1, (row) => row.map((v) => Math.exp(v) / sum(row.map(Math.exp)))),
  ],
  ["logSoftmax", (x) => x.logSoftmax(-1), (x) => along(x, 2, (row) => row.map((v) => v - logsumexp(row)))],
  ["logsumexp", (x) => x.logsumexp([0, 2]), (x) => reduce(x, [0, 2], logsumexp)],
  ["logsumexp keepDims", (x) => x.logsumexp(1, { keepDims: true }), (x) => reduce(x, [1], logsumexp, true)],
  ["mean", (x) => x.mean(-1), (x) => reduce(x, [2], mean)],
  ["mean of all", (x) => x.mean(), (x) => reduce(x, [0, 1, 2], mean)],
  ["variance", (x) => x.variance([1]), (x) => reduce(x, [1], variance)],
  [
    "variance keepDims",
    (x) => x.variance([0, 1], { keepDims: true }),
    (x) => reduce(x, [0, 1], variance, true),
  ],
  ["std", (x) => x.std(1), (x) => reduce(x, [1], (row) => Math.sqrt(variance(row)))],
  ["prod", (x) => x.prod(1), (x) => reduce(x, [1], product)],
  ["prod of all", (x) => x.prod(), (x) => reduce(x, [0, 1, 2], product)],
  ["prod keepDims", (x) => x.prod([0, -1], { keepDims: true }), (x) => reduce(x, [0, 2], product, true)],
  ["norm", (x) => x.norm(-1), (x) => reduce(x, [2], (row) => Math.hypot(...row))],
  ["norm of all", (x) => x.norm(), (x) => reduce(x, [0, 1, 2], (row) => Math.hypot(...row))],
  ["norm of order 1", (x) => x.norm(0, { order: 1 }), (x) => reduce(x, [0], (row) => sum(row.map(Math.abs)))],
  [
    "norm of order 3",
    (x) => x.norm(1, { order: 3, keepDims: true }),
    (x) => reduce(x, [1], (row) => Math.cbrt(sum(row.map((v) => Math.abs(v) ** 3))), true),
  ],
  [
    "norm of order Infinity",
    (x) => x.norm([1, 2], { order: Infinity }),
    (x) => reduce(x, [1, 2], (row) => Math.max(...row.map(Math.abs))),
  ],
  ["tile", (x) => x.tile([2, 3]), (x) => build([3, 8, 15], ([i, j, k]) => at(x, [i, j % 4, k % 5]))],
  [
    "tile with new axes",
    (x) => x.tile([2, 1, 1, 2]),
    (x) => build([2, 3, 4, 10], ([, i, j, k]) => at(x, [i, j, k % 5])),
  ],
  ["gelu", (x) => x.gelu(), (x) => map((v) => v * (0.5 + normalBelow(v)), x)],
  ["silu", (x) => x.silu(), (x) => map((v) => v / (1 + Math.exp(-v)), x)],
  ["square", (x) => x.square(), (x) => map((v) => v * v, x)],
  ["pow 0", (x) => x.pow(0), (x) => map(() => 1, x)],
  ["pow 1", (x) => x.pow(1), (x) => x],
  ["pow 2", (x) => x.pow(2), (x) => map((v) => v * v, x)],
  ["pow 3", (x) => x.pow(3), (x) => map((v) => v ** 3, x)],
  ["pow -2", (x) => x.pow(-2), (x) => map((v) => v ** -2, x)],
  ["pow -1", (x) => x.pow(-1), (x) => map((v) => 1 / v, x)],
  ["pow 0.5", (x) => x.abs().pow(0.5), (x) => map((v) => Math.sqrt(Math.abs(v)), x)],
  ["clip", (x) => x.clip(-1, 0.5), (x) => map((v) => Math.min(0.5, Math.max(-1, v)), x)],
  ["flip", (x) => x.flip(1), (x) => along(x, 1, (row) => row.toReversed())],
  ["pad", (x) => x.pad([[1, 0], [0, 2], [1, 1]]), (x) => padded(x, [[1, 0], [0, 2], [1, 1]], 0)],
  ["pad with 7", (x) => x.pad([[0, 1], [2, 0], [0, 0]], 7), (x) => padded(x, [[0, 1], [2, 0], [0, 0]], 7)],
  ["transpose", (x) => x.transpose(0, 2), (x) => permute(x, [2, 1, 0])],
  ["mT", (x) => x.mT, (x) => permute(x, [0, 2, 1])],
  ["flatten", (x) => x.flatten(1), (x) => ({ shape: [3, 20], values: x.values })],
  ["expandDims", (x) => x.expandDims([0, -1]), (x) => ({ shape: [1, 3, 4, 5, 1], values: x.values })],
  ["squeeze", (x) => x.slice(1, 2, 3).squeeze(1), (x) => build([3, 5], ([i, k]) => at(x, [i, 2, k]))],
  ["select", (x) => x.select(1, -1), (x) => build([3, 5], ([i, k]) => at(x, [i, 3, k]))],
];

/** The normal distribution function minus one half, by Simpson's rule. */
function normalBelow(x: number): number {
  const steps = 400, h = x / steps;
  const density = (t: number) => Math.exp(-t * t / 2) / Math.sqrt(2 * Math.PI);
  let total = density(0) + density(x);
  for (let i = 1; i < steps; i++) total += (i % 2 ? 4 : 2) * density(i * h);
  return total * h / 3;
}

function padded(x: Nd, widths: [number, number][], value: number): Nd {
  return build(x.shape.map((length, axis) => length + sum(widths[axis])), (position) => {
    const inner = position.map((p, axis) => p - widths[axis][0]);
    return inner.every((p, axis) => p >= 0 && p < x.shape[axis]) ? at(x, inner) : value;
  });
}

for (const [name, f, expected] of functions) {
  testOnDevices(`${name} agrees with naive loops`, async () => {
    await assertTensor(f(toTensor(x)), expected(x), 1e-5, name);
    await assertTensor(f(laidOut(x, "reversed")), expected(x), 1e-5, `${name} of a view`);
  });

  Deno.test(`the gradient of ${name} agrees with central differences`, async () => {
    setCurrentDevice(cpu);
    await checkGradients(f, [toTensor(x, "float64")]);
  });
}

testOnDevices("prod has exact gradients at zeros, and is 1 of no elements", async () => {
  const product = grad((x: Tensor) => x.prod(1).sum());
  const gradient = product(tensor([[2, 0, 3], [0, 0, 5], [1, 2, 4]]));
  await assertTensor(gradient, { shape: [3, 3], values: [0, 6, 0, 0, 0, 0, 8, 4, 2] });
  await assertTensor(tensor([], { shape: [2, 0] }).prod(1), { shape: [2], values: [1, 1] });
  await assertTensor(tensor([3, -4, 5], { dtype: "int32" }).prod(), { shape: [], values: [-60] });
});

testOnDevices("any and all count NaN as true, and elements that are not zero", async () => {
  const x = tensor([[0, 0, 0], [0, NaN, -2], [1, 2, 0.5]]);
  await assertTensor(x.any(1), { shape: [3], values: [0, 1, 1] });
  await assertTensor(x.all(1), { shape: [3], values: [0, 0, 1] });
  await assertTensor(x.any(0, { keepDims: true }), { shape: [1, 3], values: [1, 1, 1] });
  await assertTensor(x.greater(0).all(), { shape: [], values: [0] });
  const none = tensor([], { shape: [2, 0] });
  await assertTensor(none.any(1), { shape: [2], values: [0, 0] });
  await assertTensor(none.all(1), { shape: [2], values: [1, 1] });
});

testOnDevices("the gradient of a norm is 0 at a zero vector", async () => {
  const norm = grad((x: Tensor) => x.norm(1).sum());
  await assertTensor(norm(tensor([[3, 4], [0, 0]])), { shape: [2, 2], values: [0.6, 0.8, 0, 0] });
});

testOnDevices("oneHot marks classes, and gives zeros for other labels", async () => {
  const classes = tensor([[0, 2], [3, -1]], { dtype: "int32" });
  const expected = { shape: [2, 2, 3], values: [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0] };
  await assertTensor(oneHot(classes, 3), expected);
  assert.equal(oneHot(classes, 3).dtype, "float32");
  assert.equal(oneHot(classes, 3, { dtype: "bool" }).dtype, "bool");
});

testOnDevices("atan2 takes the signs of zeros and infinities", async () => {
  const values = [0, -0, 1, -1, Infinity, -Infinity];
  const pairs = values.flatMap((y) => values.map((x) => [y, x]));
  const [y, x] = [0, 1].map((i) => tensor(pairs.map((pair) => pair[i])));
  await assertTensor(y.atan2(x), { shape: [36], values: pairs.map(([y, x]) => Math.atan2(y, x)) }, 1e-6);
});

testOnDevices("softmax, logSoftmax and logsumexp of large numbers do not overflow", async () => {
  const large = tensor([1000, 1001, 999]);
  const shares = [0, 1, -1].map((v) => Math.exp(v) / (1 + Math.E + 1 / Math.E));
  await assertTensor(large.softmax(), { shape: [3], values: shares });
  await assertTensor(large.logSoftmax(), { shape: [3], values: shares.map(Math.log) }, 1e-4);
  await assertTensor(large.logsumexp(), { shape: [], values: [1001 - Math.log(shares[1])] });
  await assertTensor(tensor([-1000, -1001]).logsumexp(), {
    shape: [],
    values: [-1000 + Math.log1p(1 / Math.E)],
  });
});

testOnDevices("logsumexp of infinities is infinite, not NaN", async () => {
  const x = tensor([[-Infinity, -Infinity], [-Infinity, 1], [Infinity, 1]]);
  await assertTensor(x.logsumexp(1), { shape: [3], values: [-Infinity, 1, Infinity] });
});

const slices: [start?: number, end?: number, step?: number][] = [
  [],
  [1],
  [undefined, 3],
  [1, 4],
  [-3],
  [undefined, -2],
  [-4, -1],
  [0, 100],
  [-100, 2],
  [4, 2],
  [100],
  [undefined, undefined, 2],
  [1, undefined, 3],
  [undefined, undefined, -1],
  [4, 1, -1],
  [-1, -4, -2],
  [undefined, 2, -1],
  [2, undefined, -1],
  [100, -100, -3],
  [1, 4, -1],
];

/** Python's rule for the positions of a slice (`slice.indices`). */
function sliced(length: number, start?: number, end?: number, step = 1): number[] {
  const clamp = (p: number, low: number, high: number) =>
    Math.max(low, Math.min(high, p < 0 ? p + length : p));
  const [low, high] = step > 0 ? [0, length] : [-1, length - 1];
  let i = start === undefined ? step > 0 ? 0 : length - 1 : clamp(start, low, high);
  const stop = end === undefined ? step > 0 ? length : -1 : clamp(end, low, high);
  const taken: number[] = [];
  for (; step > 0 ? i < stop : i > stop; i += step) taken.push(i);
  return taken;
}

testOnDevices("slices select the same elements as Python's", async () => {
  for (const length of [6, 1, 0]) {
    const x = build([2, length], ([i, j]) => 10 * i + j);
    for (const [start, end, step] of slices) {
      const taken = sliced(length, start, end, step);
      const expected = build([2, taken.length], ([i, j]) => 10 * i + taken[j]);
      await assertTensor(
        toTensor(x).slice(1, start, end, step),
        expected,
        0,
        `${length} [${start}:${end}:${step}]`,
      );
    }
  }
});

testOnDevices("slices of slices and of permuted views are correct", async () => {
  const y = laidOut(x, "permuted").slice(2, -1, 0, -2).slice(0, 1).permute([1, 2, 0]).slice(0, 3, 0, -1);
  const expected = build([3, 2, 2], ([j, k, i]) => at(x, [i + 1, 3 - j, 4 - 2 * k]));
  await assertTensor(y, expected);
});

testOnDevices("reshape works for every kind of view", async () => {
  for (const layout of layouts.filter((layout) => layout !== "repeated")) {
    for (const shape of [[60], [12, 5], [3, 20], [3, 1, 4, 1, 5], [2, 6, 5], [5, 4, 3], [-1, 2]]) {
      const expected = { shape: shape.map((length) => length === -1 ? 30 : length), values: x.values };
      await assertTensor(laidOut(x, layout).reshape(shape), expected, 0, `${layout} to (${shape})`);
    }
  }
  const rows = toTensor(random([4], 2)).broadcastTo([3, 4]);
  await assertTensor(rows.reshape([2, 6]), { shape: [2, 6], values: await broadcastValues(rows) }, 0);
});

const broadcastValues = async (x: Tensor) => [...await x.data()];

const shapesThatBroadcast: [number[], number[]][] = [
  [[3, 4], [4]],
  [[3, 1], [1, 4]],
  [[2, 1, 4], [3, 1]],
  [[], [2, 3]],
  [[1], [2, 3]],
  [[0, 3], [1, 3]],
  [[5, 1, 3], [1, 2, 1]],
];

testOnDevices("operands broadcast like in NumPy", async () => {
  for (const [a, b] of shapesThatBroadcast) {
    const [p, q] = [random(a, 3), random(b, 4)];
    await assertTensor(toTensor(p).sub(toTensor(q)), map((p, q) => p - q, p, q), 1e-6, `(${a}) and (${b})`);
    await assertTensor(toTensor(q).sub(toTensor(p)), map((q, p) => q - p, q, p), 1e-6, `(${b}) and (${a})`);
  }
});

Deno.test("gradients of broadcast operands have the operands' shapes", async () => {
  setCurrentDevice(cpu);
  for (const [a, b] of shapesThatBroadcast) {
    const args = [toTensor(random(a, 3), "float64"), toTensor(random(b, 4), "float64")];
    await checkGradients((...[p, q]: Tensor[]) => p.mul(q).add(q), args);
  }
});

testOnDevices("concatenate and stack work along any axis", async () => {
  const [a, b] = [random([2, 3], 10), random([2, 3], 11)];
  const [p, q] = [toTensor(a), laidOut(b, "permuted")];
  await assertTensor(concatenate([p, q]), { shape: [4, 3], values: [...a.values, ...b.values] }, 0);
  await assertTensor(
    concatenate([p, q], -1),
    build([2, 6], ([i, j]) => j < 3 ? at(a, [i, j]) : at(b, [i, j - 3])),
    0,
  );
  for (const axis of [0, 1, 2, -1]) {
    const along = axis < 0 ? axis + 3 : axis;
    const shape = [2, 3].toSpliced(along, 0, 2);
    const expected = build(
      shape,
      (position) => at(position[along] === 0 ? a : b, position.toSpliced(along, 1)),
    );
    await assertTensor(stack([p, q], axis), expected, 0, `axis ${axis}`);
  }
});

testOnDevices("where passes no gradient to the side that is not selected", async () => {
  const x = tensor([-1, 0, 4]);
  const [value, gradient] = valueAndGrad((x: Tensor) =>
    where(x.greater(0), where(x.greater(0), x, 1).sqrt(), 0).sum()
  )(x);
  assert.equal(await value.item(), 2);
  await assertTensor(gradient, { shape: [3], values: [0, 0, 0.25] });
  // Infinite on the side that is not selected.
  const side = grad((y: Tensor) => where(tensor([true, false]), tensor([1, 2]), y).sum())(
    tensor([Infinity, 3]),
  );
  await assertTensor(side, { shape: [2], values: [0, 1] });
});

testOnDevices("tridiagonal systems share a matrix or have one each", async () => {
  const [lower, upper] = [random([5], 12, { low: -1, high: 1 }), random([5], 13, { low: -1, high: 1 })];
  const diagonal = random([5], 14, { low: 3, high: 4 });
  const rhs = random([2, 3, 5], 15);
  const solution = tridiagonalSolve(
    ...[lower, diagonal, upper, rhs].map((x) => toTensor(x)) as [Tensor, Tensor, Tensor, Tensor],
  );
  const back = [...await solution.data()];
  const product = build([2, 3, 5], (position) => {
    const i = position[2];
    const value = (k: number) =>
      k < 0 || k > 4 ? 0 : at({ shape: [2, 3, 5], values: back }, [...position.slice(0, 2), k]);
    return lower.values[i] * value(i - 1) + diagonal.values[i] * value(i) + upper.values[i] * value(i + 1);
  });
  assert.deepEqual(solution.shape, [2, 3, 5]);
  await assertTensor(toTensor(rhs), product, 1e-5);
  const separate = tridiagonalSolve(
    toTensor(lower).broadcastTo([2, 3, 5]),
    toTensor(diagonal).broadcastTo([2, 3, 5]),
    toTensor(upper).broadcastTo([2, 3, 5]),
    toTensor(rhs),
  );
  await assertTensor(separate, { shape: [2, 3, 5], values: back }, 1e-6);
});

Deno.test("the broadcasting of the test reference agrees with NumPy", () => {
  assert.deepEqual(broadcast([2, 1, 4], [3, 1]), [2, 3, 4]);
  assert.deepEqual(broadcast([0, 3], [1, 3]), [0, 3]);
});

testOnDevices("assign copies values, also a permutation of the tensor itself", async () => {
  const x = tensor([[1, 2], [3, 4]]);
  x.assign(x.mT);
  await assertTensor(x, { shape: [2, 2], values: [1, 3, 2, 4] }, 0);
  x.assign(x.flip(0).mul(10));
  await assertTensor(x, { shape: [2, 2], values: [20, 40, 10, 30] }, 0);
  const view = tensor([[1, 2], [3, 4]]).mT;
  view.assign(tensor([[5, 6], [7, 8]]));
  await assertTensor(view, { shape: [2, 2], values: [5, 6, 7, 8] }, 0);
});

testOnDevices("argmax and argmin return the position of the first NaN", async () => {
  const x = tensor([[1, NaN, 3, NaN], [NaN, 5, 6, 7], [4, 5, 6, 7]]);
  assert.deepEqual([...await x.argmax(1).data()], [1, 0, 3]);
  assert.deepEqual([...await x.argmin(1).data()], [1, 0, 0]);
});

Deno.test("booleans combined with numbers count as 1 and 0", async () => {
  const x = tensor([true, 2, false]);
  assert.equal(x.dtype, "float32");
  assert.deepEqual([...await x.data()], [1, 2, 0]);
});
