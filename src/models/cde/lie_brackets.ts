/**
 * Linear vector fields of Lie brackets: the log-signature's coefficients of words of two and three letters, as
 * coefficients of brackets of the columns f_i of a vector field.
 *
 * A word's coefficient is that of the logarithm of the signature in the tensor algebra. The map of the letter i
 * to the field f_i extends to words: the commutator of the letters i and j becomes [f_i, f_j] = J_j f_i - J_i f_j.
 */
import { constantBeside } from "../../nn/layer.ts";
import { concatenate } from "../../tensor/functions.ts";
import type { Tensor } from "../../tensor/tensor.ts";

/** A word with a sign: the position of the word, and whether its coefficient is subtracted. */
type SignedWord = readonly [word: number, isNegative: boolean];

/**
 * Maps coefficients `(..., words)` to tensors `(..., ...shape)` whose elements are sums of coefficients with
 * signs.
 *
 * @param terms The words of each element, in row-major order.
 * @param parameter A parameter whose device the result follows.
 */
function signedSums(
  words: number,
  shape: readonly number[],
  terms: readonly (readonly SignedWord[])[],
  parameter: Tensor,
): (x: Tensor) => Tensor {
  const most = Math.max(1, ...terms.map(({ length }) => length));
  // The last place holds a zero.
  const tables = Array.from({ length: most }, (_, n) => {
    const indices = terms.map((some) => some[n] ? some[n][0] + (some[n][1] ? words : 0) : 2 * words);
    return constantBeside(parameter, Int32Array.from(indices));
  });
  return (x) => {
    const signed = concatenate([x, x.neg(), x.slice(-1, 0, 1).zerosLike()], -1);
    const sums = tables.map((indices) => signed.take(indices(), -1)).reduce((sum, part) => sum.add(part));
    return sums.reshape([...x.shape.slice(0, -1), ...shape]);
  };
}

/**
 * Maps coefficients `(..., pairs)` of the words i j with i < j to antisymmetric matrices `(..., channels,
 * channels)`: the coefficient at (i, j), and its negative at (j, i).
 */
export function pairCoefficients(
  channels: number,
  pairs: readonly number[][],
  parameter: Tensor,
): (x: Tensor) => Tensor {
  const terms: SignedWord[][] = Array.from({ length: channels ** 2 }, () => []);
  pairs.forEach(([i, j], word) => {
    terms[i * channels + j].push([word, false]);
    terms[j * channels + i].push([word, true]);
  });
  return signedSums(pairs.length, [channels, channels], terms, parameter);
}

/**
 * Maps coefficients `(..., triples)` of the Lyndon words of three letters to `(..., channels, channels,
 * channels)`: m with sum_p [f_p, G_p] and G_p = sum_(q < r) m_pqr [f_q, f_r], antisymmetric in q and r.
 *
 * The standard brackets of the words are i i j: [i, [i, j]]; i j j: [[i, j], j]; i j k: [i, [j, k]]; and i k j:
 * [[i, k], j], for i < j < k. In the tensor algebra [i, [j, k]] contains -i k j. So the coefficient of the bracket
 * of i k j is the sum of those of the words i k j and i j k.
 */
export function tripleCoefficients(
  channels: number,
  triples: readonly number[][],
  parameter: Tensor,
): (x: Tensor) => Tensor {
  const position = new Map(triples.map((word, index) => [word.join(), index]));
  const terms: SignedWord[][] = Array.from({ length: channels ** 3 }, () => []);
  /** Adds words to the coefficient of [f_p, [f_q, f_r]]. */
  const add = ([p, q, r]: readonly number[], words: readonly number[], isNegative: boolean) => {
    for (const word of words) {
      terms[(p * channels + q) * channels + r].push([word, isNegative]);
      terms[(p * channels + r) * channels + q].push([word, !isNegative]);
    }
  };
  triples.forEach(([a, b, c], index) => {
    if (b < c || a === b) add([a, b, c], [index], false);
    // [[a, b], c] = -[c, [a, b]].
    else if (b === c) add([c, a, b], [index], true);
    else add([c, a, b], [index, position.get([a, c, b].join())!], true);
  });
  return signedSums(triples.length, [channels, channels, channels], terms, parameter);
}
