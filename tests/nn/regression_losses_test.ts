import assert from "node:assert/strict";
import {
  bitsPerDimension,
  checkGradients,
  gaussianNLL,
  key,
  meanAbsoluteError,
  meanAbsolutePercentageError,
  meanSquaredError,
  normal,
  ShapeError,
  tensor,
  uniform,
} from "../../mod.ts";
import { testOnCpu, testOnDevices } from "../devices.ts";

const float64 = { dtype: "float64" } as const;
const near = (found: number, expected: number, tolerance = 1e-12) =>
  assert.ok(Math.abs(found - expected) <= tolerance, `${found}, expected ${expected}`);

Deno.test("mean absolute error and mean absolute percentage error match their definitions", async () => {
  const [found, targets] = [tensor([1, -2, 4], float64), tensor([2, -4, -1], float64)];
  near(await meanAbsoluteError(found, targets).item(), 8 / 3);
  near(await meanAbsolutePercentageError(found, targets).item(), (1 / 2 + 1 / 2 + 5) / 3);
});

Deno.test("the negative log-likelihood of a normal distribution matches its density, in nats and in bits", async () => {
  const [means, deviations, targets] = [[0, 1, -2], [1, 0.1, 3], [0.5, 1.2, 4]];
  const density = (i: number) =>
    Math.exp(-((targets[i] - means[i]) ** 2) / (2 * deviations[i] ** 2)) /
    (deviations[i] * Math.sqrt(2 * Math.PI));
  const expected = [0, 1, 2].reduce((sum, i) => sum - Math.log(density(i)), 0) / 3;
  const args = [means, deviations, targets].map((values) => tensor(values, float64));
  near(await gaussianNLL(args[0], args[1], args[2]).item(), expected);
  near(await bitsPerDimension(args[0], args[1], args[2]).item(), expected / Math.log(2));
});

testOnDevices("the mean negative log-likelihood of normal samples is the entropy", async () => {
  const deviations = uniform(key(1), [100_000], { low: 0.5, high: 2 });
  const targets = normal(key(2), [100_000]).mul(deviations).add(3);
  const entropy = (await deviations.log().mean().item()) + (1 + Math.log(2 * Math.PI)) / 2;
  const means = deviations.zerosLike().add(3);
  near(await gaussianNLL(means, deviations, targets).item(), entropy, 0.01);
});

testOnCpu("the gradients of regression losses agree with central differences", async () => {
  const [a, b] = [normal(key(1), [6], float64), normal(key(2), [6], float64)];
  const deviations = uniform(key(3), [6], { ...float64, low: 0.5, high: 2 });
  await checkGradients(meanSquaredError, [a, b]);
  await checkGradients(meanAbsoluteError, [a, b]);
  await checkGradients(meanAbsolutePercentageError, [a, b]);
  await checkGradients(gaussianNLL, [a, deviations, b]);
});

Deno.test("regression losses reject predictions of the wrong shape", () => {
  const [one, other] = [tensor([1, 2]), tensor([[1, 2]])];
  assert.throws(() => meanAbsoluteError(one, other), ShapeError);
  assert.throws(() => meanAbsolutePercentageError(one, other), ShapeError);
  assert.throws(() => gaussianNLL(one, other, one), ShapeError);
});
