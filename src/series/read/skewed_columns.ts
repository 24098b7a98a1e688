/** Columns of skewed numbers, such as concentrations, whose inverse hyperbolic sine is far less skewed. */
import { quantileOf } from "../../data/quantile.ts";
import { channelStatistics, type Scaling } from "../../data/scaling.ts";
import { asinh } from "../math/elementary.ts";
import { skewness } from "../math/skewness.ts";
import type { RecordedAsinh } from "../record/scaled_values.ts";

/** Minimum number of values that can show a skewed distribution. */
const minValues = 20;
/** Minimum skewness of a skewed column; 2 is that of an exponential distribution. */
const minSkewness = 1;
/** Maximum skewness of the inverse hyperbolic sine, as a fraction of that of the values. */
const maxShare = 0.5;
/** Quantile of the positive values that is the unit. */
const lowQuantile = 0.05;

/**
 * Finds the inverse hyperbolic sine for each skewed column. Far above its unit it is a logarithm, and near zero it is
 * linear, so it is defined for all numbers. The unit is the 5 % quantile of the positive values. A column with negative
 * values stays as it is: the noise of a signal about zero would become as large as its peaks.
 *
 * @param rows Row-major values of the columns; NaN is missing.
 * @param scaling Scaling of the values after the inverse hyperbolic sine.
 * @returns Undefined for each column that stays as it is.
 */
export function skewedColumns(
  rows: readonly { readonly values: ArrayLike<number> }[],
  columns: number,
  scaling?: Scaling,
): (RecordedAsinh | undefined)[] {
  return Array.from({ length: columns }, (_, column) => {
    const values = observedValues(rows, columns, column);
    if (values.length < minValues) return undefined;
    if (values.some((value) => value < 0)) return undefined;
    const skew = skewness(values);
    if (!(skew > minSkewness)) return undefined;
    const unit = quantileOf(values.filter((value) => value > 0).sort(), lowQuantile);
    const curved = values.map((value) => asinh(value / unit));
    if (!(Math.abs(skewness(curved)) < maxShare * skew)) return undefined;
    return { unit, ...channelStatistics([{ values: curved }], 1, scaling)[0] };
  });
}

/** Known values of a column. */
function observedValues(
  rows: Parameters<typeof skewedColumns>[0],
  columns: number,
  column: number,
): Float64Array {
  const all = new Float64Array(rows.reduce((sum, { values }) => sum + values.length / columns, 0));
  let count = 0;
  for (const { values } of rows) {
    for (let i = column; i < values.length; i += columns) {
      if (!Number.isNaN(values[i])) all[count++] = values[i];
    }
  }
  return all.subarray(0, count);
}
