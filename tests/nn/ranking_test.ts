import assert from "node:assert/strict";
import { averagePrecision, rocAuc } from "../../mod.ts";

/** Computed with `roc_auc_score` and `average_precision_score` of scikit-learn 1.9.1. */
const golden = [{
  "name": "no ties",
  "scores": [0.126, -0.132, 0.64, 0.105, -0.536, 0.362, 1.304, 0.947, -0.704, -1.265, -0.623, 0.041],
  "labels": [0, 1, 0, 0, 1, 1, 0, 1, 0, 0, 1, 0],
  "auc": 0.48571428571428577,
  "averagePrecision": 0.4638888888888888,
}, {
  "name": "many ties",
  "scores": [1.0, 3.0, 2.0, 0.0, 3.0, 2.0, 3.0, 0.0, 0.0, 3.0, 0.0, 2.0, 0.0, 1.0, 1.0],
  "labels": [1, 0, 0, 1, 0, 1, 1, 0, 0, 0, 0, 1, 0, 1, 0],
  "auc": 0.5462962962962963,
  "averagePrecision": 0.41785714285714287,
}, {
  "name": "all scores equal",
  "scores": [0.5, 0.5, 0.5, 0.5, 0.5, 0.5],
  "labels": [1, 0, 0, 1, 0, 0],
  "auc": 0.5,
  "averagePrecision": 0.3333333333333333,
}, {
  "name": "perfect",
  "scores": [-1.0, 0.0, 2.0, 3.0],
  "labels": [0, 0, 1, 1],
  "auc": 1.0,
  "averagePrecision": 1.0,
}, {
  "name": "inverted",
  "scores": [-1.0, 0.0, 2.0, 3.0],
  "labels": [1, 1, 0, 0],
  "auc": 0.0,
  "averagePrecision": 0.41666666666666663,
}, {
  "name": "one positive in twenty",
  "scores": [
    -0.13,
    1.37,
    -0.67,
    0.35,
    0.9,
    0.09,
    -0.74,
    -0.92,
    -0.46,
    0.22,
    -1.01,
    -0.21,
    -0.16,
    0.54,
    0.21,
    0.36,
    -0.65,
    -0.13,
    0.78,
    1.49,
  ],
  "labels": [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0],
  "auc": 0.7894736842105263,
  "averagePrecision": 0.2,
}];

for (const { name, scores, labels, auc, averagePrecision: precision } of golden) {
  Deno.test(`ROC AUC and average precision agree with scikit-learn: ${name}`, () => {
    assert.ok(Math.abs(rocAuc(scores, labels) - auc) < 1e-14);
    assert.ok(Math.abs(averagePrecision(scores, labels) - precision) < 1e-14);
  });
}

Deno.test("infinite scores are ranked like finite scores", () => {
  assert.equal(rocAuc([Infinity, -Infinity, 0, Infinity], [1, 0, 0, 1]), 1);
});

Deno.test("ranking metrics reject a single class, NaN scores and invalid labels", () => {
  assert.throws(() => rocAuc([1, 2], [1, 1]), /2 positive and 0 negative samples, expected both/);
  assert.throws(() => averagePrecision([1, 2], [0, 0]), /no positive samples/);
  assert.throws(() => rocAuc([1, NaN], [0, 1]), /score 1 is NaN/);
  assert.throws(() => rocAuc([1, 2], [0, 2]), /label 1 is 2, expected 0 or 1/);
  assert.throws(() => averagePrecision([1], [0, 1]), /1 scores for 2 labels/);
});
