/** Error measures of numeric predictions, computed on the host. */

/**
 * Mean squared error, mean absolute error and R2 of predictions. Unknown truths (NaN) are skipped.
 *
 * R2 is scikit-learn's `r2_score`, which is 1 or 0 for a constant truth. Two cases differ. For a single known
 * truth, scikit-learn returns NaN; here it is a constant truth. For a constant truth with a rounded mean,
 * such as three times 0.1, scikit-learn divides by the squared rounding error and returns about -1e33.
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
