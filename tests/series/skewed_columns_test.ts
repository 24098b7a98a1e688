/** The inverse hyperbolic sine of skewed columns. */
import assert from "node:assert/strict";
import { normalise } from "../../src/data/series.ts";
import { skewness } from "../../src/series/math/skewness.ts";
import { skewedColumns } from "../../src/series/read/skewed_columns.ts";
import { scaledSeries, scaledValue } from "../../src/series/record/scaled_values.ts";

/** Rows of one column. */
const column = (...values: number[]) => [{ values: Float64Array.from(values) }];
/** Powers of two from 1 to 2^19, whose logarithms are not skewed. */
const powers = Array.from({ length: 20 }, (_, i) => 2 ** i);

Deno.test("the skewness is the mean cube in standard deviations", () => {
  // The distances to the mean 1 are -1, -1, -1 and 3: the mean of the squares is 3, of the cubes 6.
  assert.equal(skewness(Float64Array.of(0, 0, 0, 4)).toFixed(12), (6 / 3 ** 1.5).toFixed(12));
  assert.equal(skewness(Float64Array.of(-1e300, 0, 1e300)), 0);
});

Deno.test("a scaled value is (asinh(x / unit) - mean) / standard deviation", () => {
  const scale = {
    ...{ mean: 7, standardDeviation: 3 },
    asinh: { unit: 4, mean: Math.LN2, standardDeviation: 0.5 },
  };
  // asinh(3 / 4) = ln 2 and asinh(0) = 0.
  assert.ok(Math.abs(scaledValue(3, scale)) < 1e-15);
  assert.ok(Math.abs(scaledValue(0, scale) + 2 * Math.LN2) < 1e-15);
  assert.ok(Number.isNaN(scaledValue(NaN, scale)));
  assert.ok(Math.abs(scaledValue(-3, scale) + 4 * Math.LN2) < 1e-14);
});

Deno.test("without an inverse hyperbolic sine, scaling has the digits of normalise", () => {
  const channels = [{ mean: 0.1, standardDeviation: 0.3 }, { mean: -7, standardDeviation: 1e3 }];
  const series = {
    ...{ name: "a", label: -1, times: Float64Array.of(0, 1) },
    values: Float64Array.of(0.7, 1 / 3, NaN, 12),
  };
  assert.deepEqual(scaledSeries(series, channels), normalise([series], channels)[0]);
});

Deno.test("the unit of a skewed column is the 5 % quantile of its positive values", () => {
  const [found] = skewedColumns(column(...powers, NaN), 1);
  // The quantile is between the values 1 and 2 of ranks 0 and 1, at 0.05 * 19 = 0.95.
  assert.ok(Math.abs(found!.unit - 1.95) < 1e-12);
  const [, other] = skewedColumns(
    [{ values: Float64Array.from(powers.flatMap((value, i) => [i, value])) }],
    2,
  );
  assert.deepEqual(other, found);
  const mean = powers.reduce((sum, value) => sum + Math.asinh(value / 1.95) / 20, 0);
  assert.ok(Math.abs(found!.mean - mean) < 1e-12);
});

Deno.test("columns that are symmetric, negative, short or flags stay as they are", () => {
  const symmetric = Array.from({ length: 40 }, (_, i) => (i - 19.5) ** 3);
  const flags = Array.from({ length: 40 }, (_, i) => i === 0 ? 1 : 0);
  const signed = [...powers, -1];
  for (const values of [symmetric, flags, signed, powers.slice(1), Array(40).fill(5), Array(40).fill(NaN)]) {
    assert.deepEqual(skewedColumns(column(...values), 1), [undefined]);
  }
});
