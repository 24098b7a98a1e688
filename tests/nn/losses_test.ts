import assert from "node:assert/strict";
import {
  accuracy,
  binaryCrossEntropy,
  checkGradients,
  crossEntropy,
  key,
  l2Penalty,
  meanSquaredError,
  normal,
  tensor,
  uniform,
  zeros,
} from "../../mod.ts";
import { testOnDevices } from "../devices.ts";

const float64 = { dtype: "float64" } as const;
const int32 = { dtype: "int32" } as const;
const near = (found: number, expected: number, tolerance = 1e-12) =>
  assert.ok(Math.abs(found - expected) <= tolerance, `${found}, expected ${expected}`);

const logits = [[2, -1, 0.5], [0, 1, -2]];
const negativeLogProbability = (row: number, label: number) =>
  Math.log(logits[row].reduce((sum, x) => sum + Math.exp(x), 0)) - logits[row][label];

Deno.test("cross-entropy is the mean negative log-probability of the labels", async () => {
  const loss = crossEntropy(tensor(logits, float64), tensor([0, 2], int32));
  near(await loss.item(), (negativeLogProbability(0, 0) + negativeLogProbability(1, 2)) / 2);
});

Deno.test("cross-entropy with class weights is their weighted mean", async () => {
  const weights = tensor([1, 5, 3], float64);
  const loss = crossEntropy(tensor(logits, float64), tensor([0, 2], int32), { weights });
  near(await loss.item(), (negativeLogProbability(0, 0) + 3 * negativeLogProbability(1, 2)) / 4);
});

Deno.test("cross-entropy ignores labels outside the classes", async () => {
  const loss = crossEntropy(tensor(logits, float64), tensor([-1, 1], int32));
  near(await loss.item(), negativeLogProbability(1, 1));
});

Deno.test("cross-entropy stays finite for large and infinite logits", async () => {
  near(await crossEntropy(tensor([[1000, -1000]]), tensor([1], int32)).item(), 2000);
  near(await crossEntropy(tensor([[0, -Infinity]]), tensor([0], int32)).item(), 0);
});

Deno.test("cross-entropy's gradients agree with central differences", async () => {
  const labels = tensor([[0, 2], [1, -1]], int32);
  const weights = tensor([1, 5, 3], float64);
  const x = normal(key(0), [2, 2, 3], float64);
  await checkGradients((x) => crossEntropy(x, labels), [x]);
  await checkGradients((x) => crossEntropy(x, labels, { weights }), [x]);
});

Deno.test("cross-entropy rejects labels of the wrong shape or dtype", () => {
  assert.throws(
    () => crossEntropy(zeros([2, 3]), zeros([3], int32)),
    /labels of shape \(3,\), expected \(2,\)/,
  );
  assert.throws(() => crossEntropy(zeros([2, 3]), zeros([2])), /labels must be int32, got float32/);
});

Deno.test("binary cross-entropy is the mean over independent targets", async () => {
  const probability = (x: number) => 1 / (1 + Math.exp(-x));
  const loss = binaryCrossEntropy(tensor([0.5, -2], float64), tensor([1, 0.25], float64));
  const second = 0.25 * Math.log(probability(-2)) + 0.75 * Math.log(1 - probability(-2));
  near(await loss.item(), -(Math.log(probability(0.5)) + second) / 2);
});

Deno.test("binary cross-entropy weights positives like PyTorch's pos_weight", async () => {
  // Computed with PyTorch 2.15.
  const [x, y] = [[0.5, -2, 3, 0.1], [1, 0, 0.25, 1]].map((values) => tensor(values, float64));
  near(await binaryCrossEntropy(x, y, { positiveWeight: 10 }).item(), 3.429893336548602);
  await checkGradients((x) => binaryCrossEntropy(x, y, { positiveWeight: 3 }), [x]);
  assert.throws(
    () => binaryCrossEntropy(x, y, { positiveWeight: 0 }),
    /positiveWeight is 0, expected a finite/,
  );
});

Deno.test("a weight penalty is the sum of squares, or of norms, with their gradients", async () => {
  const parameters = { a: tensor([[1, -2], [0, 3]], float64), b: tensor([0, 0], float64) };
  near(await l2Penalty(parameters).item(), 14);
  near(await l2Penalty(parameters, { norms: true }).item(), Math.sqrt(14), 1e-11);
  await checkGradients((a) => l2Penalty({ a }), [parameters.a]);
  await checkGradients((a) => l2Penalty({ a }, { norms: true }), [parameters.a]);
});

Deno.test("binary cross-entropy accepts bool targets and is finite for large logits", async () => {
  near(await binaryCrossEntropy(tensor([500, 500]), tensor([true, false])).item(), 250);
});

Deno.test("binary cross-entropy's gradients agree with central differences", async () => {
  await checkGradients(binaryCrossEntropy, [normal(key(0), [5], float64), uniform(key(1), [5], float64)]);
});

Deno.test("mean squared error matches its definition and rejects broadcasting", async () => {
  near(await meanSquaredError(tensor([1, 2], float64), tensor([0, 4], float64)).item(), 2.5);
  assert.throws(() => meanSquaredError(zeros([2, 1]), zeros([2])), /targets of shape \(2,\)/);
});

Deno.test("accuracy is the fraction of labels with the largest logit", async () => {
  const x = tensor([[2, -1, 0.5], [0, 1, -2], [0, 0, 1], [3, 0, 0]]);
  near(await accuracy(x, tensor([0, 1, 0, 0], int32)).item(), 0.75);
});

testOnDevices("accuracy is NaN if a row has NaN logits", async () => {
  for (const logits of [[[NaN, NaN], [1, 0]], [[0, NaN], [1, 0]]]) {
    assert.equal(await accuracy(tensor(logits), tensor([0, 0], int32)).item(), NaN);
  }
});

testOnDevices("accuracy ignores elements without a label", async () => {
  const x = tensor([[2, -1], [0, 1], [1, 0]]);
  near(await accuracy(x, tensor([0, -1, 1], int32)).item(), 0.5, 1e-7);
});

testOnDevices("labels outside the classes throw if the host knows their values", () => {
  const x = tensor([[2, -1, 0.5], [0, 1, -2], [0, 0, 1]]);
  for (const measure of [crossEntropy, accuracy]) {
    const message = new RegExp(
      `${measure.name}: labels of shape \\(3,\\) have the value 3 \\(index 2\\), expected -1 to 2`,
    );
    assert.throws(() => measure(x, tensor([1, 2, 3], int32)), message);
    assert.throws(() => measure(x, tensor([0, -2, 1], int32)), RangeError);
  }
});

testOnDevices(
  "device-computed labels outside the classes throw or give NaN metrics",
  async (device) => {
    const x = tensor([[2, -1, 0.5], [0, 1, -2], [0, 0, 1]]);
    const computed = (labels: number[]) => tensor(labels, int32).add(0);
    for (const measure of [crossEntropy, accuracy]) {
      for (const labels of [[1, 2, 3], [1, -2, 0]]) {
        if (device.readSync) assert.throws(() => measure(x, computed(labels)), RangeError);
        else assert.equal(await measure(x, computed(labels)).item(), NaN);
      }
      assert(Number.isFinite(await measure(x, computed([1, -1, 0])).item()));
    }
  },
);

testOnDevices("binary cross-entropy is NaN for targets that are not probabilities", async () => {
  for (const target of [2, -0.5, NaN]) {
    assert.equal(await binaryCrossEntropy(tensor([0, 1]), tensor([0, target])).item(), NaN);
  }
});
