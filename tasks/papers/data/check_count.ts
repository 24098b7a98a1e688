/** @throws {RangeError} Unless an option of a function is a whole number of at least `min`. */
export function checkCount(name: string, option: string, value: number, min = 1): void {
  if (Number.isInteger(value) && value >= min) return;
  throw new RangeError(`${name}: ${option} is ${value}, expected a whole number of at least ${min}`);
}
