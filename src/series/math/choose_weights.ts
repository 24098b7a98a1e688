/** Weights of a mean of predictions. */

/** Number of steps of a weight from 0 to 1. */
const steps = 10;

/**
 * Weights, in tenths, of the mean of predictions with the smallest squared error. The weights are at least 0 and add up
 * to 1. Of equal errors, the one with more weight on the first predictions is chosen.
 *
 * @param predictions Predictions of each model, with columns in turn.
 * @param truth Number for each prediction; NaN is unknown.
 * @param columns Number of columns, each with its weights.
 * @returns Weight for each model and column.
 */
export function chooseWeights(
  predictions: readonly Float64Array[],
  truth: Float64Array,
  columns: number,
): number[][] {
  const best = Array.from({ length: columns }, (_, column) => {
    const places = Array.from(truth.keys()).filter((i) => i % columns === column && !Number.isNaN(truth[i]));
    // Products of the errors of two models: the squared error of a mean is a quadratic form of its weights.
    const errors = predictions.map((one) => places.map((i) => one[i] - truth[i]));
    const products = errors.map((a) => errors.map((b) => a.reduce((sum, one, i) => sum + one * b[i], 0)));
    const errorOf = (weights: readonly number[]) =>
      weights.reduce((sum, a, m) => sum + a * weights.reduce((sum, b, n) => sum + b * products[m][n], 0), 0);
    return combinations(predictions.length, steps).map((parts) => parts.map((part) => part / steps))
      .map((weights) => ({ weights, error: errorOf(weights) }))
      .reduce((best, one) => one.error < best.error ? one : best).weights;
  });
  return predictions.map((_, m) => best.map((weights) => weights[m]));
}

/** All lists of counts with a sum, the largest first counts first. */
function combinations(length: number, sum: number): number[][] {
  if (length === 1) return [[sum]];
  return Array.from({ length: sum + 1 }, (_, i) => sum - i).flatMap((first) =>
    combinations(length - 1, sum - first).map((rest) => [first, ...rest])
  );
}
