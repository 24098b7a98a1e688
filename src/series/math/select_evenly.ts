/** Selects up to `most` items at equal distances. */
export function selectEvenly<T>(items: readonly T[], most: number): T[] {
  const count = Math.min(most, items.length);
  return Array.from({ length: count }, (_, i) => items[Math.floor((i + 0.5) * items.length / count)]);
}
