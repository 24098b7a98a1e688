/** Numbers of series of classes, and weights of classes. */

/** Number of series of each class. */
export function countLabels(series: readonly { readonly label: number }[], classes: number): number[] {
  const counts = new Array<number>(classes).fill(0);
  for (const { label } of series) counts[label]++;
  return counts;
}

/**
 * Class weights that give each class the same total weight, as scikit-learn's `"balanced"`. A class may have
 * no training series, if its groups are all in the validation or test set. It then counts as if it had one
 * series.
 *
 * @param counts Number of series of each class.
 */
export function balancedWeights(counts: readonly number[]): number[] {
  const total = counts.reduce((sum, count) => sum + count, 0);
  return counts.map((count) => total / (counts.length * Math.max(1, count)));
}
