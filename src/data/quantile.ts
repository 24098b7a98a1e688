/**
 * Quantile of some numbers with linear interpolation, as NumPy's `quantile`.
 *
 * @param sorted Numbers in ascending order, at least one.
 * @param share Probability of the quantile, from 0 to 1.
 */
export function quantileOf(sorted: ArrayLike<number>, share: number): number {
  const at = share * (sorted.length - 1);
  const below = Math.floor(at);
  const above = Math.min(below + 1, sorted.length - 1);
  return sorted[below] + (at - below) * (sorted[above] - sorted[below]);
}
