/** Verdicts of evaluations: baselines, and the measure in validation. */
import assert from "node:assert/strict";
import type { Series } from "../../src/data/series.ts";
import { evaluateNumbers } from "../../src/series/targets/evaluate_numbers.ts";
import { forecastVerdict } from "../../src/series/targets/forecast_verdict.ts";
import { worstSection } from "../../src/series/targets/report_sections.ts";
import { accuracyWithError, besideValidation } from "../../src/series/targets/validated.ts";

const baselines = {
  "the mean of the past": { mase: 3 },
  "the last value": { mase: 0.8 },
  "the season before": { mase: 1 },
};

Deno.test("forecasts are compared with the seasonal naive forecast, or with a baseline that is better", () => {
  assert.equal(
    forecastVerdict({ mase: 0.5 }, baselines),
    "Better than the seasonal naive forecast (MASE 0.50, seasonal naive 1.00).",
  );
  assert.equal(
    forecastVerdict({ mase: 0.9 }, baselines),
    "No better than the naive forecast (MASE 0.90, naive 0.80).",
  );
  assert.equal(
    forecastVerdict({ mase: 5 }, baselines),
    "No better than the naive forecast (MASE 5.00, naive 0.80).",
  );
  assert.equal(forecastVerdict({ mse: 1 }, baselines), undefined);
});

Deno.test("the seasonal naive forecast is not compared with itself", () => {
  const good = { ...baselines, "the last value": { mase: 2 } };
  assert.equal(
    forecastVerdict({ mase: 1 }, good, "seasonal-naive"),
    "The model is the seasonal naive forecast (MASE 1.00).",
  );
  assert.equal(
    forecastVerdict({ mase: 1 }, baselines, "seasonal-naive"),
    "No better than the naive forecast (MASE 1.00, naive 0.80).",
  );
});

Deno.test("the naive forecast is compared with the seasonal one, and without a season not with itself", () => {
  assert.equal(
    forecastVerdict({ mase: 0.8 }, baselines, "naive"),
    "Better than the seasonal naive forecast (MASE 0.80, seasonal naive 1.00).",
  );
  assert.equal(
    forecastVerdict({ mase: 2 }, { "the last value": { mase: 2 } }, "naive"),
    "The model is the naive forecast (MASE 2.00).",
  );
});

Deno.test("validation and test that differ by more than two standard errors give a warning", () => {
  const validation = accuracyWithError(0.9, 100);
  // (90 + 2) / (100 + 4) = 0.8846, and sqrt(0.8846 * 0.1154 / 104) = 0.03133.
  assert.equal(validation.standardError.toFixed(5), "0.03133");
  assert.deepEqual(besideValidation(accuracyWithError(1, 10), accuracyWithError(0.98, 1000)).warnings, []);
  const near = besideValidation(validation, accuracyWithError(0.85, 100));
  assert.deepEqual(near, { text: " In validation: accuracy 90.00 %, here 85.00 %.", warnings: [] });
  const far = besideValidation(validation, accuracyWithError(0.5, 100));
  assert.match(
    far.warnings[0],
    /^the accuracy is 50.00 % here and was 90.00 % in validation: 6.9 standard errors/,
  );
  assert.deepEqual(besideValidation(undefined, validation), { text: "", warnings: [] });
});

const series = [1, 2, 3, 4].map((value, i): Series => ({
  ...{ name: `${i}`, times: Float64Array.of(0, 1), label: -1 },
  values: Float64Array.of(9, value, NaN, NaN),
  targets: Float64Array.of(value),
}));

Deno.test("predicted numbers are compared with the mean, the last value and a linear model on the last values", async () => {
  const { baselines, verdict } = await evaluateNumbers({
    ...{ series, channels: ["z", "x"], targets: [{ name: "x", mean: 2.5, standardDeviation: 1 }] },
    predict: (some) =>
      Promise.resolve(some.map(({ name, values }) => ({ series: name, numbers: { x: values[1] + 1 } }))),
    linear: ({ values }) => [values[1] + 0.5],
  });
  assert.deepEqual(Object.entries(baselines).map(([name, { mse }]) => [name, mse]), [
    ["the mean", 1.25],
    ["the last value", 0],
    ["a linear model on the last values", 0.25],
  ]);
  assert.match(
    verdict!,
    /^No better than a linear model on the last values: the mean squared error is 80.0 % of/,
  );
});

Deno.test("constant targets give a verdict without a quotient", async () => {
  const constant = series.map((one) => ({ ...one, targets: Float64Array.of(7) }));
  const { verdict } = await evaluateNumbers({
    ...{ series: constant, channels: ["z", "x"], targets: [{ name: "y", mean: 7, standardDeviation: 1 }] },
    predict: (some) => Promise.resolve(some.map(({ name }) => ({ series: name, numbers: { y: 7 } }))),
  });
  assert.equal(verdict, "The targets are constant: the mean predicts them without an error.");
});

Deno.test("the largest errors are drawn with the most important channels", () => {
  const channels = Array.from({ length: 8 }, (_, i) => `c${i}`);
  const shown = [{ title: "s", times: Float64Array.of(0), values: Float64Array.from(channels.keys()) }];
  const importance = { c7: 5, c2: 1, c0: -1 };
  const [section] = worstSection(shown, channels, { importance });
  assert.ok(section.kind === "charts");
  const panels = section.charts[0].panels.map(({ y, marks: [mark] }) => [y.title, "y" in mark && mark.y[0]]);
  assert.deepEqual(panels.slice(0, 3), [["c7", 7], ["c2", 2], ["c1", 1]]);
  assert.equal(panels.length, 6);
});
