/** Autoregression against hand-computed recursions, and properties of its fit. */
import assert from "node:assert/strict";
import {
  type Autoregression,
  effectsOf,
  forecastAutoregression,
  runAutoregression,
} from "../../src/series/models/local/autoregression.ts";
import { autoregressionOrder, fitAutoregression } from "../../src/series/models/local/fit_autoregression.ts";
import { key, normal } from "../../src/tensor/random.ts";

function assertNear(actual: ArrayLike<number>, expected: ArrayLike<number>, tolerance: number): void {
  assert.equal(actual.length, expected.length);
  for (let i = 0; i < actual.length; i++) {
    assert.ok(Math.abs(actual[i] - expected[i]) <= tolerance, `${i}: ${actual[i]}, expected ${expected[i]}`);
  }
}

/** v_t = 1.5 v_{t-1} - 0.8 v_{t-2} + e_t around 10. */
async function cycles(steps: number): Promise<Float64Array> {
  const noise = await normal(key(5), [steps]).data();
  const y = new Float64Array(steps);
  for (let t = 0; t < steps; t++) y[t] = 1.5 * (y[t - 1] ?? 0) - 0.8 * (y[t - 2] ?? 0) + noise[t];
  return y.map((value) => value + 10);
}

/** Trend and season of four steps. */
const patterned = (t: number) => 30 + 0.5 * t + [1, -2, 3, -2][t % 4];

const form = (coefficients: number[], rest: Partial<Autoregression> = {}): Autoregression => ({
  coefficients: Float64Array.from(coefficients),
  ...{ constant: 0, isLog: false, relativeDeviation: 1, ...rest },
});

Deno.test("an autoregression forecasts values by its recursion", () => {
  const { forecast, squares, count } = runAutoregression(
    form([0.5, 0.25], { constant: 1 }),
    Float64Array.of(2, 4, 1),
    2,
  );
  // 1 + 4 / 2 + 2 / 4 = 3.5 is forecast for the value 1.
  assert.deepEqual([squares, count], [2.5 ** 2, 1]);
  assertNear(forecast, [1 + 0.5 + 1, 1 + 1.25 + 0.25], 1e-12);
});

Deno.test("a missing value counts as its forecast", () => {
  const fitted = form([0.5, 0.25], { constant: 1 });
  const missing = runAutoregression(fitted, Float64Array.of(2, 4, NaN, 1), 3);
  const replaced = runAutoregression(fitted, Float64Array.of(2, 4, 3.5, 1), 3);
  assertNear(missing.forecast, replaced.forecast, 1e-12);
  assert.equal(missing.count, 1);
});

Deno.test("the standard deviation of a random walk grows with the square root of the horizon", () => {
  assert.deepEqual([...effectsOf(Float64Array.of(1), 3)], [1, 1, 1]);
  const { standardDeviations } = forecastAutoregression(form([1]), Float64Array.of(0, 1, 0, 1, 0, 1), 4);
  assertNear(standardDeviations.map((value) => value / standardDeviations[0]), [
    1,
    Math.sqrt(2),
    Math.sqrt(3),
    2,
  ], 1e-12);
});

Deno.test("the fit finds the coefficients of a cycle", async () => {
  const fitted = fitAutoregression(await cycles(3000), 1);
  assertNear(fitted.coefficients.slice(0, 2), [1.5, -0.8], 0.05);
});

Deno.test("an autoregression with differences forecasts a trend with a season", () => {
  const y = Float64Array.from({ length: 32 }, (_, t) => patterned(t));
  const { steps } = forecastAutoregression(fitAutoregression(y, 4), y, 6);
  assertNear(steps, Array.from({ length: 6 }, (_, h) => patterned(32 + h)), 1e-6);
});

Deno.test("an autoregression of logarithms forecasts growth by a factor", async () => {
  const noise = await normal(key(2), [60]).data();
  let level = 10;
  const y = Float64Array.from(noise, (value) => level *= Math.exp(0.1 + 0.02 * value));
  const fitted = fitAutoregression(y, 1);
  const { steps, standardDeviations } = forecastAutoregression(fitted, y, 10);
  assert.equal(fitted.isLog, true);
  assert.ok(Math.abs(Math.log(steps[9] / y[59]) / 10 - 0.1) < 0.02);
  assert.ok(Math.abs(standardDeviations[0] / steps[0] - 0.02) < 0.01);
});

Deno.test("forecasts follow the scale and the shift of a history", async () => {
  const y = (await cycles(80)).map((value) => value - 10);
  const moved = y.map((value) => 1000 * value - 5e4);
  const [one, two] = [y, moved].map((values) =>
    forecastAutoregression(fitAutoregression(values, 1), values, 8)
  );
  assertNear(two.steps, one.steps.map((value) => 1000 * value - 5e4), 1e-3);
  assertNear(two.standardDeviations, one.standardDeviations.map((value) => 1000 * value), 1e-3);
});

Deno.test("a fit whose errors would explode is left out", () => {
  const y = Float64Array.from({ length: 24 }, (_, t) => -(1.6 ** t) + (t % 3));
  const { coefficients } = fitAutoregression(y, 1);
  assert.ok(Math.abs(effectsOf(coefficients, 25)[24]) <= 24);
});

Deno.test("values without structure are forecast by their mean", async () => {
  const y = await normal(key(9), [200]).data() as Float32Array;
  const shifted = Float64Array.from(y, (value) => 5 + value);
  const { steps } = forecastAutoregression(fitAutoregression(shifted, 7), shifted, 3);
  assertNear(steps, [5, 5, 5], 0.4);
});

Deno.test("histories that are short, constant or nearly empty have finite forecasts", () => {
  const histories = [[3], [3, 4], [3, NaN, 4], [2, 2, 2, 2, 2, 2, 2, 2, 2], [0, 0, 0, 0], [
    NaN,
    1,
    NaN,
    NaN,
    2,
    NaN,
    4,
    NaN,
  ]];
  for (const history of histories) {
    const y = Float64Array.from(history);
    for (const season of [1, 4]) {
      const fitted = fitAutoregression(y, season);
      assert.equal(fitted.coefficients.length, autoregressionOrder(season));
      const { steps, standardDeviations } = forecastAutoregression(fitted, y, 5);
      assert.ok(
        [...steps, ...standardDeviations].every(Number.isFinite),
        `${history}: ${steps} ${standardDeviations}`,
      );
    }
  }
  const constant = Float64Array.from({ length: 9 }, () => 2);
  assertNear(forecastAutoregression(fitAutoregression(constant, 1), constant, 3).steps, [2, 2, 2], 1e-9);
});
