/**
 * The value below which a share of the numbers lies, between two of them interpolated linearly, as NumPy's `quantile`.
 *
 * @param sorted Numbers in ascending order, at least one.
 * @param share From 0 to 1.
 */
export function quantileOf(sorted: ArrayLike<number>, share: number): number {
  const at = share * (sorted.length - 1);
  const below = Math.floor(at);
  const above = Math.min(below + 1, sorted.length - 1);
  return sorted[below] + (at - below) * (sorted[above] - sorted[below]);
}
