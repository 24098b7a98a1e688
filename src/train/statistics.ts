/** Statistics of results. */

/** The mean and the (sample) standard deviation; of a single value that is zero. */
export function statistics(values: readonly number[]): { mean: number; deviation: number } {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return { mean, deviation: Math.sqrt(squares / Math.max(values.length - 1, 1)) };
}
