/**
 * Metrics compared with scikit-learn on the random cases of `tests/fixtures/metrics.py`, which draws the same
 * inputs.
 */
import assert from "node:assert/strict";
import {
  accuracy,
  averagePrecision,
  binaryCrossEntropy,
  crossEntropy,
  meanAbsoluteError,
  meanAbsolutePercentageError,
  meanSquaredError,
  rocAuc,
  tensor,
} from "../../../mod.ts";
import { classMeasures, classScores, confusionMatrix } from "../../../src/series/targets/metrics/classes.ts";
import { pinballLoss } from "../../../src/series/targets/metrics/forecasts.ts";
import { numberMeasures } from "../../../src/series/targets/metrics/numbers.ts";
import fixture from "../../fixtures/metrics.json" with { type: "json" };
import { valuesOf } from "../../golden.ts";
import { testOnCpu } from "../../devices.ts";

/** Draws an integer from 0 to n - 1. */
type Draw = (n: number) => number;

function generator(seed: number): Draw {
  let state = Math.imul(seed + 1, 2654435761) >>> 0;
  return (n) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor(state * n / 2 ** 32);
  };
}

function list<T>(length: number, make: (i: number) => T): T[] {
  return Array.from({ length }, (_, i) => make(i));
}

function drawClasses(draw: Draw) {
  const [classes, samples] = [2 + draw(4), 5 + draw(36)];
  const [present, predicted, shift] = [1 + draw(classes), 1 + draw(classes), draw(classes)];
  const labels = list(samples, () => draw(present));
  const scores = list(samples, () => {
    const row: number[] = new Array<number>(classes).fill(0);
    for (let k = 0; k < predicted; k++) row[(k + shift) % classes] = draw(8) + Number(k === 0);
    if (!row.some((score) => score > 0)) row[shift] = 1;
    return row;
  });
  const weights = list(classes, () => (1 + draw(5)) / 2);
  const known = list(samples, (i) => i === 0 || draw(4) > 0);
  return { classes, labels, scores, weights, known };
}

const float64 = { dtype: "float64" } as const;

async function resultsOfClasses(draw: Draw): Promise<Record<string, number>> {
  const { classes, labels, scores, weights, known } = drawClasses(draw);
  const probabilities = scores.map((row) => {
    const total = row.reduce((sum, score) => sum + score, 0);
    return row.map((score) => score / total);
  });
  const perClass = classScores(confusionMatrix(probabilities, labels, classes));
  const inOrder = (name: "precision" | "recall") =>
    perClass.reduce((sum, metrics, k) => sum + (k + 1) * metrics[name], 0);
  const knownLabels = tensor(labels.map((label, i) => known[i] ? label : -1), { dtype: "int32" });
  const logits = tensor(scores, float64);
  return {
    ...classMeasures(probabilities, labels),
    precision: inOrder("precision"),
    recall: inOrder("recall"),
    crossEntropy: await crossEntropy(logits.div(2), knownLabels, { weights: tensor(weights, float64) })
      .item(),
    knownAccuracy: await accuracy(logits, knownLabels).item(),
  };
}

async function resultsOfScores(draw: Draw): Promise<Record<string, number>> {
  const [samples, ties, positives] = [5 + draw(36), 2 + draw(20), draw(5)];
  const labels = list(samples, () => Number(draw(4) < positives));
  const scores = list(samples, () => draw(ties) - 3);
  const positiveWeight = (1 + draw(8)) / 2;
  const targets = tensor(labels, float64);
  return {
    ...(labels.includes(0) && labels.includes(1) ? { rocAuc: rocAuc(scores, labels) } : {}),
    ...(labels.includes(1) ? { averagePrecision: averagePrecision(scores, labels) } : {}),
    binaryCrossEntropy: await binaryCrossEntropy(tensor(scores, float64).div(4), targets, { positiveWeight })
      .item(),
  };
}

async function resultsOfNumbers(draw: Draw): Promise<Record<string, number>> {
  const [samples, span] = [5 + draw(36), 100 * draw(5)];
  const truth = list(samples, () => (2 * draw(span + 1) - span + 1) / 8);
  const predicted = list(samples, () => (draw(200) - 100) / 8);
  const known = list(samples, (i) => i < 2 || draw(5) > 0);
  const level = (1 + draw(9)) / 10;
  const measured = truth.map((value, i) => known[i] ? value : NaN);
  const [x, y] = [predicted, truth].map((values) => tensor(values.filter((_, i) => known[i]), float64));
  const measures = numberMeasures(predicted, measured);
  const [mse, mae] = await Promise.all([meanSquaredError(x, y).item(), meanAbsoluteError(x, y).item()]);
  assertNear("meanSquaredError", mse, measures.mse);
  assertNear("meanAbsoluteError", mae, measures.mae);
  return {
    ...measures,
    mape: await meanAbsolutePercentageError(x, y).item(),
    pinball: pinballLoss(predicted, measured, level),
  };
}

function assertNear(name: string, found: number, expected: number, tolerance = 1e-10) {
  const error = Math.abs(found - expected) / Math.max(1, Math.abs(expected));
  assert.ok(error <= tolerance, `${name}: ${found}, expected ${expected}`);
}

const { names, results: { shape: [cases] } } = fixture;

testOnCpu(`metrics of ${cases} random cases agree with scikit-learn`, async () => {
  const golden = valuesOf(fixture.results);
  assert.equal(cases, 300);
  for (let i = 0; i < cases; i++) {
    const draw = generator(i);
    const found: Record<string, number> = {
      ...await resultsOfClasses(draw),
      ...await resultsOfScores(draw),
      ...await resultsOfNumbers(draw),
    };
    names.forEach((name, k) => {
      const expected = golden[names.length * i + k];
      if (Number.isNaN(expected)) assert.ok(!(name in found), `case ${i}, ${name} is not defined`);
      // The share is float32.
      else assertNear(`case ${i}, ${name}`, found[name], expected, name === "knownAccuracy" ? 1e-7 : 1e-10);
    });
    assert.deepEqual(Object.keys(found).filter((name) => !names.includes(name)), []);
  }
});

Deno.test("the random cases include classes that are absent, never predicted, and both", () => {
  const counts = { absent: 0, neverPredicted: 0, neither: 0, certainAndWrong: 0 };
  for (let i = 0; i < cases; i++) {
    const { classes, labels, scores } = drawClasses(generator(i));
    const matrix = confusionMatrix(scores, labels, classes);
    const kinds = matrix.map((row, k) => [row.some((n) => n > 0), matrix.some((other) => other[k] > 0)]);
    const has = (isTrue: boolean, isPredicted: boolean) =>
      Number(kinds.some((kind) => kind[0] === isTrue && kind[1] === isPredicted));
    counts.absent += has(false, true);
    counts.neverPredicted += has(true, false);
    counts.neither += has(false, false);
    counts.certainAndWrong += Number(scores.some((row, i) => row[labels[i]] === 0));
  }
  for (const [kind, count] of Object.entries(counts)) assert.ok(count > 50, `${kind}: ${count}`);
});
