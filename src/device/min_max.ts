/**
 * The largest of any number of numbers, minus infinity of none. `Math.max(...values)` would pass each as an argument of a
 * call, and the stack holds about a hundred thousand.
 */
export function largest(values: Iterable<number>): number {
  let result = -Infinity;
  for (const value of values) result = Math.max(result, value);
  return result;
}

/** The smallest of any number of numbers, infinity of none. */
export function smallest(values: Iterable<number>): number {
  let result = Infinity;
  for (const value of values) result = Math.min(result, value);
  return result;
}
