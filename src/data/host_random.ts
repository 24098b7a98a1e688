/** Random numbers for data sets, computed on the host: the same on every machine. */
import { type Key, threefry2x32 } from "../tensor/random.ts";

/**
 * Two independent uniform numbers in [0, 1), computed on the host: the same on every machine.
 *
 * @param counter Number of the pair, a whole number from 0 to 2^32 - 1. The same key and counter give the same pair.
 */
export function unitPair(key: Key, counter: number): [number, number] {
  const [a, b] = threefry2x32(key, [counter, 0]);
  return [a * 2 ** -32, b * 2 ** -32];
}

/** Two independent normal numbers (Box-Muller). */
export function normalPair(key: Key, counter: number): [number, number] {
  const [a, b] = unitPair(key, counter);
  const radius = Math.sqrt(-2 * Math.log(1 - a));
  return [radius * Math.cos(2 * Math.PI * b), radius * Math.sin(2 * Math.PI * b)];
}
