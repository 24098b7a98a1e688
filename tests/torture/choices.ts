import { threefry2x32 } from "../../src/tensor/random.ts";

/** Seeded choices: the same seed and number give the same choices. */
export interface Choices {
  /** An integer from 0 to `n - 1`. */
  below(n: number): number;
  /** An element of a list. */
  of<T>(list: readonly T[]): T;
  /** Returns true with this probability. */
  chance(probability: number): boolean;
}

/** The choices of a case. */
export function choicesOf(seed: number, number: number): Choices {
  let count = 0;
  const word = () => threefry2x32([seed, number], [count++, 0x70f7])[0];
  const below = (n: number) => word() % n;
  return {
    below,
    of: (list) => list[below(list.length)],
    chance: (probability) => word() < probability * 2 ** 32,
  };
}
