/** Exponential smoothing against naive loops and known numbers. */
import assert from "node:assert/strict";
import { fitSmoothing } from "../../src/series/models/local/fit_smoothing.ts";
import { correctedAkaike } from "../../src/series/math/akaike.ts";
import { minimise } from "../../src/series/math/nelder_mead.ts";
import { forecastHistory, relativeDeviationOf } from "../../src/series/models/local/smoothed_forecast.ts";
import { continueState, smoothHistory, type Smoothing } from "../../src/series/models/local/smoothing.ts";
import { seasonalNaiveForm } from "../../src/series/models/local/smoothing_model.ts";
import { key, normal } from "../../src/tensor/random.ts";

const none: Smoothing = { period: 1, level: 0, trend: 0, season: 0, damping: 0 };

/** Trend and season without noise. */
function patterned(steps: number, from = 0): Float64Array {
  return Float64Array.from(
    { length: steps },
    (_, t) => 30 + 0.5 * (from + t) + [1, -2, 3, -2][(from + t) % 4],
  );
}

function assertNear(actual: ArrayLike<number>, expected: ArrayLike<number>, tolerance: number): void {
  assert.equal(actual.length, expected.length);
  for (let i = 0; i < actual.length; i++) {
    assert.ok(Math.abs(actual[i] - expected[i]) <= tolerance, `${i}: ${actual[i]}, expected ${expected[i]}`);
  }
}

Deno.test("the corrected Akaike criterion needs more values than parameters, and penalises parameters", () => {
  // n log(squares / n) + 2 k + 2 k (k + 1) / (n - k - 1) for n = 10 and k = 3.
  assertNear([correctedAkaike(20, 10, 3)], [10 * Math.log(2) + 6 + 4], 1e-12);
  assert.equal(correctedAkaike(20, 4, 3), Infinity);
});

Deno.test("simple exponential smoothing follows its recursion from the best initial level", () => {
  const y = Float64Array.of(4, 8, 6);
  const errorsFrom = (start: number) => {
    let level = start;
    return Array.from(y, (value) => {
      const error = value - level;
      level += error / 2;
      return error;
    });
  };
  // Errors (4 - l, 6 - l/2, 1 - l/4): the sum of squares is least at l = (4 + 3 + 1/4) / (1 + 1/4 + 1/16).
  const best = 7.25 / 1.3125;
  const { initial, last, errors } = smoothHistory({ ...none, level: 0.5 }, y);
  assertNear([initial[0]], [best], 1e-9);
  assertNear(errors, errorsFrom(best), 1e-9);
  assertNear(
    continueState({ ...none, level: 0.5 }, last, 3, 2),
    [6 - errors[2] / 2, 6 - errors[2] / 2],
    1e-9,
  );
});

Deno.test("the initial state with trend and season has a smaller error than any state close to it", async () => {
  const noise = await normal(key(3), [30]).data();
  const y = patterned(30).map((value, t) => value + noise[t]);
  y[7] = NaN;
  const parameters = { period: 4, level: 0.3, trend: 0.1, season: 0.2, damping: 0.9 };
  const { initial } = smoothHistory(parameters, y);
  const squaresFrom = (state: ArrayLike<number>) => {
    let [level, trend] = [state[0], state[1]];
    const season = Array.from(state).slice(2);
    let sum = 0;
    y.forEach((value, t) => {
      const error = Number.isNaN(value) ? 0 : value - (level + 0.9 * trend) - season[t % 4];
      level += 0.9 * trend + 0.3 * error;
      trend = 0.9 * trend + 0.1 * error;
      season[t % 4] += 0.2 * error;
      sum += error ** 2;
    });
    return sum;
  };
  const least = squaresFrom(initial);
  for (let i = 0; i < initial.length; i++) {
    for (const change of [-0.01, 0.01]) {
      assert.ok(
        squaresFrom(initial.map((value, j) => value + (i === j ? change : 0))) > least - 1e-9,
        `${i}`,
      );
    }
  }
});

Deno.test("a trend with a season is forecast exactly, with missing values too", () => {
  const y = patterned(60);
  for (const at of [0, 7, 8, 30, 59]) y[at] = NaN;
  const form = fitSmoothing(y, 4);
  assert.equal(form.period, 4);
  assertNear(forecastHistory(form, 0, y, 9).steps, patterned(9, 60), 1e-4);
});

Deno.test("growth by a factor with a seasonal factor is smoothed in logarithms", () => {
  const grown = (t: number) => 100 * 1.02 ** t * [1, 1.3, 0.8, 0.9][t % 4];
  const y = Float64Array.from({ length: 40 }, (_, t) => grown(t));
  const form = fitSmoothing(y, 4);
  assert.ok(form.isLog);
  const { steps } = forecastHistory(form, 0, y, 4);
  assertNear(Array.from(steps, (value, h) => value / grown(40 + h)), [1, 1, 1, 1], 1e-4);
});

Deno.test("noise around a constant has neither trend nor season, and its level is the mean", async () => {
  const y = Float64Array.from(await normal(key(1), [120]).data());
  const form = fitSmoothing(y, 12);
  assert.deepEqual([form.period, form.damping, form.isLog], [1, 0, false]);
  const mean = y.reduce((sum, value) => sum + value, 0) / y.length;
  assertNear(forecastHistory(form, 1, y, 1).steps, [mean], 0.25);
});

Deno.test("a model of logarithms smooths values if one of them is not positive", () => {
  const y = Float64Array.of(3, 2, 0, 2, 3);
  const { steps } = forecastHistory({ ...none, level: 1, isLog: true }, 0.1, y, 1);
  assert.equal(steps[0], 3);
});

Deno.test("the seasonal naive forecast repeats the last known value of each step of the season", () => {
  const y = Float64Array.of(1, 2, 3, 4, 5, NaN, 7);
  assertNear(forecastHistory(seasonalNaiveForm(3), 0, y, 5).steps, [5, 3, 7, 5, 3], 1e-9);
  assertNear(forecastHistory(seasonalNaiveForm(1), 0, y, 2).steps, [7, 7], 1e-9);
});

Deno.test("the standard deviation of a random walk's forecast grows with the root of the horizon", async () => {
  const noise = await normal(key(2), [400]).data();
  let level = 0;
  const y = Float64Array.from(noise, (value) => level += value);
  const form = seasonalNaiveForm(1);
  const { standardDeviations } = forecastHistory(form, relativeDeviationOf(form, y), y, 9);
  assertNear([standardDeviations[3] / standardDeviations[0], standardDeviations[8] / standardDeviations[0]], [
    2,
    3,
  ], 1e-9);
  assert.ok(Math.abs(standardDeviations[0] - 1) < 0.1, `${standardDeviations[0]}`);
});

Deno.test("the simplex method finds the minimum of a curved valley", () => {
  const { point } = minimise(([x, y]) => (1 - x) ** 2 + 10 * (y - x ** 2) ** 2, [[-1, 1], [0, 0]]);
  assertNear(point, [1, 1], 0.05);
});
