/**
 * The largest number, or minus infinity if there are no numbers. `Math.max(...values)` passes each number as
 * an argument on the stack, which holds about a hundred thousand.
 */
export function largest(values: Iterable<number>): number {
  let result = -Infinity;
  for (const value of values) result = Math.max(result, value);
  return result;
}

/** The smallest number, or infinity if there are no numbers. */
export function smallest(values: Iterable<number>): number {
  let result = Infinity;
  for (const value of values) result = Math.min(result, value);
  return result;
}
