/** Measures of forecasts with quantiles, on the host. */

/**
 * Pinball loss of a quantile: `level` times the shortfall, or `1 - level` times the excess, as scikit-learn's
 * `mean_pinball_loss`. Unknown truths (NaN) are skipped.
 *
 * @param level Probability of the quantile, between 0 and 1.
 */
export function pinballLoss(quantile: ArrayLike<number>, truth: ArrayLike<number>, level: number): number {
  let [sum, count] = [0, 0];
  for (let i = 0; i < truth.length; i++) {
    if (Number.isNaN(truth[i])) continue;
    const error = truth[i] - quantile[i];
    sum += Math.max(level * error, (level - 1) * error);
    count++;
  }
  return sum / count;
}

/**
 * Continuous ranked probability score, as twice the mean pinball loss of equally spaced quantiles.
 *
 * @param quantiles Values by level. Levels are between 0 and 1.
 */
export function quantileCrps(
  quantiles: readonly (readonly [level: number, values: ArrayLike<number>])[],
  truth: ArrayLike<number>,
): number {
  const losses = quantiles.map(([level, values]) => pinballLoss(values, truth, level));
  return 2 * losses.reduce((sum, loss) => sum + loss, 0) / losses.length;
}

/** Fraction of the known truths from `low` to `high`. */
export function coverage(
  low: ArrayLike<number>,
  high: ArrayLike<number>,
  truth: ArrayLike<number>,
): number {
  let [inside, count] = [0, 0];
  for (let i = 0; i < truth.length; i++) {
    if (Number.isNaN(truth[i])) continue;
    inside += +(truth[i] >= low[i] && truth[i] <= high[i]);
    count++;
  }
  return inside / count;
}
