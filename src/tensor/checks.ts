/** Checks of arguments. */
import { Tensor } from "./tensor.ts";

/** Refuses what is no tensor, as a path or an array. @param name Such as `"Linear: x"`. */
export function checkTensor(name: string, x: unknown): asserts x is Tensor {
  if (x instanceof Tensor) return;
  const found = x === null ? "null" : Array.isArray(x) ? "an array" : typeof x;
  throw new TypeError(`${name} must be a tensor, got ${found}; make one of an array with tensor(...)`);
}

/** Refuses a word that an option does not know. */
export function checkWord(operation: string, option: string, value: unknown, words: readonly string[]): void {
  if (words.includes(value as string)) return;
  const known = words.map((word) => `"${word}"`).join(", ").replace(/, ([^,]*)$/, " or $1");
  throw new RangeError(`${operation}: ${option} is ${JSON.stringify(value)}, expected ${known}`);
}
