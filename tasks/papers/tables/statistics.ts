/** Mean and sample standard deviation, which is zero for a single value. */
export function statistics(values: readonly number[]): { mean: number; standardDeviation: number } {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return { mean, standardDeviation: Math.sqrt(squares / Math.max(values.length - 1, 1)) };
}
