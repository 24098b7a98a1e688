/** Skewness of some numbers: the mean cube of their distances to the mean, in standard deviations. */
export function skewness(values: Float64Array): number {
  const mean = values.reduce((sum, value) => sum + value / values.length, 0);
  // Powers of huge and tiny distances would overflow or vanish.
  const largest = values.reduce((most, value) => Math.max(most, Math.abs(value - mean)), 0) || 1;
  const momentOf = (power: number) =>
    values.reduce((sum, value) => sum + ((value - mean) / largest) ** power, 0) / values.length;
  return momentOf(3) / momentOf(2) ** 1.5;
}
