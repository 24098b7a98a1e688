/** Golden values from scikit-learn (1.7), NumPy and SciPy. */
import assert from "node:assert/strict";
import {
  calibrationError,
  classMeasures,
  classScores,
  confusionMatrix,
} from "../../../src/series/targets/metrics/classes.ts";
import { quantileOf } from "../../../src/data/quantile.ts";
import { coverage, pinballLoss, quantileCrps } from "../../../src/series/targets/metrics/forecasts.ts";
import { numberMeasures } from "../../../src/series/targets/metrics/numbers.ts";
import { fitTemperature, probabilitiesOf } from "../../../src/series/math/temperature.ts";

function assertNear(actual: number, expected: number, name: string, tolerance = 1e-12) {
  assert.ok(Math.abs(actual - expected) <= tolerance, `${name}: ${actual}, expected ${expected}`);
}

const probabilities = [
  [0.7, 0.2, 0.1],
  [0.1, 0.6, 0.3],
  [0.3, 0.3, 0.4],
  [0.5, 0.4, 0.1],
  [0.2, 0.5, 0.3],
  [0.1, 0.1, 0.8],
  [0.6, 0.3, 0.1],
  [0.25, 0.35, 0.4],
];
const labels = [0, 1, 2, 1, 1, 2, 0, 0];

Deno.test("classification metrics agree with scikit-learn", () => {
  const golden = {
    accuracy: 0.75,
    macroF1: 0.7555555555555555,
    auc: 0.9416666666666668,
    logLoss: 0.6891865935266337,
    calibrationError: 0.1875,
  };
  const measures = classMeasures(probabilities, labels);
  assert.deepEqual(Object.keys(measures), Object.keys(golden));
  for (const [name, value] of Object.entries(golden)) assertNear(measures[name], value, name);
});

Deno.test("the confusion matrix has true classes as rows, and every class has precision, recall and F1", () => {
  const matrix = confusionMatrix(probabilities, labels, 3);
  assert.deepEqual(matrix, [[2, 0, 1], [1, 2, 0], [0, 0, 2]]);
  assert.deepEqual(classScores(matrix), [
    { precision: 2 / 3, recall: 2 / 3, f1: 2 / 3, count: 3 },
    { precision: 1, recall: 2 / 3, f1: 0.8, count: 3 },
    { precision: 2 / 3, recall: 1, f1: 0.8, count: 2 },
  ]);
  assert.deepEqual(classScores([[0, 0], [0, 3]])[0], { precision: 0, recall: 0, f1: 0, count: 0 });
});

Deno.test("regression metrics agree with scikit-learn and ignore missing targets", () => {
  const { mse, mae, r2 } = numberMeasures([1, 7, 2, 3.5, 0], [1.5, NaN, 2, 3, -1]);
  assertNear(mse, 0.375, "mse");
  assertNear(mae, 0.5, "mae");
  assertNear(r2, 0.8273381294964028, "r2");
});

Deno.test("R2 of constant targets is 1 or 0 in spite of rounding of their mean", () => {
  for (const truth of [[0.1, 0.1, 0.1], new Array(20).fill(0.3), [NaN, 7], new Array(7).fill(-1e20)]) {
    assert.equal(numberMeasures(truth, truth).r2, 1, `${truth}`);
    assert.equal(numberMeasures(truth.map((value) => 2 * value + 1), truth).r2, 0, `${truth}`);
  }
});

Deno.test("the pinball loss agrees with scikit-learn, and the quantile score is twice its mean", () => {
  const [quantile, truth] = [[1, 2, 9, 3.5, 0], [1.5, 2, NaN, 3, -1]];
  assertNear(pinballLoss(quantile, truth, 0.9), 0.15, "0.9");
  assertNear(pinballLoss(quantile, truth, 0.1), 0.35, "0.1");
  assertNear(quantileCrps([[0.1, quantile], [0.9, quantile]], truth), 0.5, "crps");
  assert.equal(coverage([0, 0, 0], [1, 1, 1], [0.5, 2, NaN]), 0.5);
  assert.equal(coverage([0, 0], [1, 1], [0, 1]), 1, "the bounds are inside");
});

Deno.test("quantiles are interpolated like NumPy's", () => {
  assertNear(quantileOf([1, 2, 4, 8], 0.3), 1.9, "0.3");
  assert.equal(quantileOf([5], 0.9), 5);
});

Deno.test("the calibration temperature minimizes the smoothed log loss", () => {
  const scores = [[2, 0, -1], [0, 3, 1], [1, 1.5, 0], [4, 0, 0], [0, 1, 2.5], [3, 1, 0]];
  assertNear(fitTemperature(scores, [0, 1, 0, 1, 2, 0]), 2.3692331885525184, "temperature", 1e-3);
});

Deno.test("calibration lowers overconfident probabilities, and a few correct predictions do not give probability 1", () => {
  const scores = Array.from({ length: 40 }, (_, i) => [i % 2 ? 10 : -10, 0]);
  // A quarter is wrong.
  const truth = scores.map((_, i) => i % 8 < 2 ? i % 2 : 1 - i % 2);
  const temperature = fitTemperature(scores, truth);
  const rows = scores.map((row) => probabilitiesOf(row, temperature));
  assert.ok(calibrationError(rows, truth) < 0.05, `${temperature}`);
  const [top] = probabilitiesOf([1, 0], fitTemperature([[1, 0], [0, 1]], [0, 1]));
  assert.ok(top < 0.9, `${top} after two right answers`);
});
