/** Statistics of results. */

/** Mean and sample standard deviation, which is zero for a single value. */
export function statistics(values: readonly number[]): { mean: number; deviation: number } {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return { mean, deviation: Math.sqrt(squares / Math.max(values.length - 1, 1)) };
}

/** Selects items at equal distances. */
export function evenly<T>(items: readonly T[], most: number): T[] {
  const count = Math.min(most, items.length);
  return Array.from({ length: count }, (_, i) => items[Math.floor((i + 0.5) * items.length / count)]);
}
