/** Measures of numbers against the truth, on the host. */

/**
 * Mean squared error, mean absolute error and R2 of predictions; pairs of an unknown truth (NaN) are left out.
 *
 * R2 is scikit-learn's `r2_score`, which is 1 or 0 where the truth does not vary. Two cases differ. With a single known truth
 * scikit-learn returns NaN, here it does not vary. For a constant truth whose computed mean is rounded, such as three times 0.1,
 * scikit-learn divides by the square of the rounding error and returns about -1e33.
 */
export function numberMeasures(
  predicted: ArrayLike<number>,
  truth: ArrayLike<number>,
): { mse: number; mae: number; r2: number } {
  let [count, sum, squares, absolute, lowest, highest] = [0, 0, 0, 0, Infinity, -Infinity];
  for (let i = 0; i < truth.length; i++) {
    if (Number.isNaN(truth[i])) continue;
    count++;
    sum += truth[i];
    squares += (predicted[i] - truth[i]) ** 2;
    absolute += Math.abs(predicted[i] - truth[i]);
    lowest = Math.min(lowest, truth[i]);
    highest = Math.max(highest, truth[i]);
  }
  let total = 0;
  for (let i = 0; i < truth.length; i++) if (!Number.isNaN(truth[i])) total += (truth[i] - sum / count) ** 2;
  return {
    mse: squares / count,
    mae: absolute / count,
    r2: highest > lowest ? 1 - squares / total : squares === 0 ? 1 : 0,
  };
}
