/** Quantiles of forecast errors. */
import assert from "node:assert/strict";
import { errorsAfter, ErrorSample, levels } from "../../src/series/targets/error_quantiles.ts";

/** Quantiles of the errors of one channel at one step. */
function quantilesOf(errors: readonly number[]): readonly number[] {
  const sample = new ErrorSample(1, 1);
  for (const error of errors) sample.add(0, 1, error);
  return sample.quantiles()[0][0];
}

Deno.test("the errors of few forecasts have symmetric quantiles, widened by n / (n - 1)", () => {
  // For two errors of size 1 and 2, the share |2 p - 1| of the sizes, times 2.
  const expected = levels.map((level) => Math.sign(level - 0.5) * 2 * (1 + Math.abs(2 * level - 1)));
  quantilesOf([1, -2]).forEach((value, i) => assert.ok(Math.abs(value - expected[i]) < 1e-5, `${value}`));
  assert.deepEqual(quantilesOf([-3]), [-6, -6, -6, -6, 0, 6, 6, 6, 6]);
  assert.deepEqual(quantilesOf([NaN]), []);
});

Deno.test("the errors of many forecasts have their own quantiles", () => {
  const errors = Array.from({ length: 101 }, (_, i) => i);
  assert.deepEqual(quantilesOf(errors), levels.map((level) => Math.round(100 * level)));
});

Deno.test("a history between two lengths has the wider errors of both, for each channel", () => {
  const errors = (...widths: number[]) =>
    widths.map((width) => [levels.map((level) => width * (level - 0.5))]);
  const known = { errors: errors(2, 1), short: [{ steps: 4, errors: errors(1, 3) }] };
  assert.deepEqual(errorsAfter(known, 8, 8), errors(2, 1));
  assert.deepEqual(errorsAfter(known, 6, 8), errors(2, 3));
  for (const steps of [4, 1]) assert.deepEqual(errorsAfter(known, steps, 8), errors(1, 3));
});
