import type { Key } from "@weft/weft";
import { unitPair } from "@weft/weft/data";
import { checkCount } from "./check_count.ts";

/** A permutation: the image of each point. */
type Permutation = readonly number[];

/** Generators of each group, as permutations. A token of a series is one of them. */
const generators = {
  /** The group of two elements: an element that changes nothing, and a transposition. */
  parity: [[0, 1], [1, 0]],
  /** The cyclic group of five elements: a step forwards, and a step backwards. */
  C5: [[1, 2, 3, 4, 0], [4, 0, 1, 2, 3]],
  /** All permutations of three points: a transposition, and a cycle. */
  S3: [[1, 0, 2], [1, 2, 0]],
  /** The even permutations of five points: a cycle of three points, and one of five. */
  A5: [[1, 2, 0, 3, 4], [1, 2, 3, 4, 0]],
} satisfies Record<string, Permutation[]>;

/** Names of the groups. */
export type GroupName = keyof typeof generators;

export const groupNames = Object.keys(generators) as GroupName[];

/** A finite group. Elements are numbers from 0, the identity. */
export interface Group {
  /** Number of elements. */
  readonly size: number;
  /** Element after a generator: `next[token][element]`. */
  readonly next: readonly (readonly number[])[];
}

/** The group of all products of the generators. */
export function groupOf(name: GroupName): Group {
  const tokens: readonly Permutation[] = generators[name];
  const identity = tokens[0].map((_, i) => i);
  const elements: Permutation[] = [identity];
  const place = new Map([[identity.join(), 0]]);
  const next: number[][] = tokens.map(() => []);
  for (let i = 0; i < elements.length; i++) {
    tokens.forEach((token, t) => {
      const product = elements[i].map((point) => token[point]);
      const known = place.get(product.join());
      if (known === undefined) {
        place.set(product.join(), elements.length);
        elements.push(product);
      }
      next[t][i] = place.get(product.join())!;
    });
  }
  return { size: elements.length, next };
}

/** Series of tokens. */
export interface StateTrackingArray {
  /** Tokens, one-hot, row-major. Shape (series, length, tokens). */
  readonly values: Float32Array;
  readonly shape: readonly [series: number, length: number, tokens: number];
  /** The product of all tokens up to each step. Shape (series, length). */
  readonly labels: Int32Array;
}

/**
 * Words of random generators of a group, and the group element after each token: the task of state tracking
 * (Merrill, Petty, Sabharwal, "The Illusion of State in State-Space Models", 2024). The accuracy of a guess is
 * 1 / size of the group.
 *
 * @param count Number of series.
 * @param key Random key of the series; the same key gives the same series on every machine.
 * @throws {RangeError} If a count is not a positive integer.
 */
export function stateTracking(count: number, key: Key, name: GroupName, length: number): StateTrackingArray {
  checkCount("stateTracking", "count", count);
  checkCount("stateTracking", "length", length);
  const { next } = groupOf(name);
  const tokens = next.length;
  const values = new Float32Array(count * length * tokens);
  const labels = new Int32Array(count * length);
  for (let series = 0; series < count; series++) {
    let element = 0;
    for (let t = 0; t < length; t++) {
      const row = series * length + t;
      const token = Math.floor(unitPair(key, row)[0] * tokens);
      values[row * tokens + token] = 1;
      element = next[token][element];
      labels[row] = element;
    }
  }
  return { values, shape: [count, length, tokens], labels };
}
