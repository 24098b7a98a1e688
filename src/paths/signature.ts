/**
 * Signatures: the iterated integrals of a path, which determine it up to reparametrisation. The signature of a piecewise linear path
 * with increments x_1, x_2, ... is exp(x_1) (x) exp(x_2) (x) ... in the tensor algebra (Chen's identity). (Chevyrev and Kormilitzin,
 * "A Primer on the Signature Method in Machine Learning", 2016.)
 */
import { checkTensor } from "../tensor/checks.ts";
import { describe } from "../device/describe.ts";
import { formatShape, ShapeError } from "../device/shape.ts";
import { tensor } from "../tensor/creation.ts";
import { concatenate } from "../tensor/functions.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { checkObservations } from "./path.ts";

/**
 * An element of the truncated tensor algebra without its scalar part. Level k, `(..., channels ** k)`, has index k - 1. Words are
 * in lexicographic order, as in a row-major tensor with k axes.
 */
type Levels = readonly Tensor[];

/**
 * The number of values of a signature: `channels + channels^2 + ... + channels^depth`.
 *
 * @throws {RangeError} If the number of channels or the depth is invalid.
 */
export function signatureChannels(channels: number, depth: number): number {
  checkChannels("signatureChannels", channels);
  checkDepth(depth, "signatureChannels");
  return countWords(channels, depth);
}

/** Number of words of 1 to `length` letters. */
function countWords(channels: number, length: number): number {
  return Array.from({ length }, (_, k) => channels ** (k + 1)).reduce((sum, size) => sum + size, 0);
}

/**
 * The number of values of a log-signature: one for each Lyndon word of at most `depth` letters.
 *
 * @throws {RangeError} If the number of channels or the depth is invalid.
 */
export function logsignatureChannels(channels: number, depth: number): number {
  checkChannels("logsignatureChannels", channels);
  checkDepth(depth, "logsignatureChannels");
  return lyndonWords(channels, depth).length;
}

/**
 * The signature of a piecewise linear path up to a depth, as in signatory.
 *
 * @example
 * ```ts
 * import { signature, tensor } from "@weft/weft";
 *
 * const s = signature(tensor([[0, 0], [1, 0], [1, 1]]), 2);
 * console.log(await s.data()); // 1, 1 | 0.5, 1, 0, 0.5
 * ```
 *
 * @param path Points, `(..., length, channels)`, without missing values.
 * @param depth Length of the longest words, 1 to 4.
 * @returns `(..., channels + channels^2 + ... + channels^depth)`: the words of one letter, then of two letters, ..., each
 * length in lexicographic order.
 * @throws {ShapeError | RangeError} If the path has fewer than two points, or the depth is invalid.
 */
export function signature(path: Tensor, depth: number): Tensor {
  check(path, depth, "signature");
  return concatenate(signatureLevels(path, depth), path.rank - 2);
}

/**
 * The log-signature: the coefficients of Lyndon words in the logarithm of the {@linkcode signature}. They determine the logarithm.
 * Same as the mode `"words"` of signatory.
 *
 * @example
 * ```ts
 * import { logsignature, tensor } from "@weft/weft";
 *
 * const s = logsignature(tensor([[0, 0], [1, 0], [1, 1]]), 2);
 * console.log(await s.data()); // 1, 1 and the area 0.5
 * ```
 *
 * @param path Points, `(..., length, channels)`, without missing values.
 * @param depth Length of the longest words, 1 to 4.
 * @returns `(..., words)`: ordered by length, then lexicographically.
 * @throws {ShapeError | RangeError} If the path has fewer than two points, or the depth is invalid.
 */
export function logsignature(path: Tensor, depth: number): Tensor {
  check(path, depth, "logsignature");
  const channels = path.shape.at(-1)!;
  const coefficients = concatenate(logarithm(signatureLevels(path, depth)), path.rank - 2);
  const indices = lyndonWords(channels, depth).map((word) =>
    countWords(channels, word.length - 1) +
    word.reduce((index, letter) => index * channels + letter, 0)
  );
  return coefficients.take(tensor(indices, { dtype: "int32" }), -1);
}

function check(path: Tensor, depth: number, operation: string): void {
  checkObservations(path, operation);
  if (path.shape.at(-2)! < 2) {
    throw new ShapeError(
      `${operation}: the path has shape ${
        formatShape(path.shape)
      }, expected (..., length, channels) with at least two ` +
        "points",
    );
  }
  checkDepth(depth, operation);
}

/** Maximum number of channels: more channels have too many words of four letters. */
const maxChannels = 1000;

/** @throws {RangeError} If the number of channels is out of range. */
function checkChannels(operation: string, channels: number): void {
  if (!Number.isInteger(channels) || channels < 1 || channels > maxChannels) {
    throw new RangeError(
      `${operation}: channels are ${describe(channels)}, expected a whole number from 1 to ${maxChannels}`,
    );
  }
}

/** @throws {RangeError} If a depth is not 1, 2, 3 or 4. */
export function checkDepth(depth: number, operation: string): void {
  if (![1, 2, 3, 4].includes(depth)) {
    throw new RangeError(`${operation}: depth is ${describe(depth)}, expected 1, 2, 3 or 4`);
  }
}

/**
 * The levels of a signature. Level k of the path up to a point is a sum over the increments d before it, by Chen's
 * identity with S the signature up to that increment:
 * S_(k-1) d + S_(k-2) d d / 2! + ... + d^k / k!, in Horner's form (((d / k + S_1) d / (k - 1) + S_2) ... + S_(k-1)) d. Each
 * level is one cumulative sum. The last level needs only the total: one matrix product.
 */
function signatureLevels(path: Tensor, depth: number): Levels {
  const increments = path.slice(-2, 1).sub(path.slice(-2, 0, -1));
  const levels: Tensor[] = [];
  /** Levels up to the start of each increment. */
  const before: Tensor[] = [];
  for (let k = 1; k <= depth; k++) {
    let prefix: Tensor | undefined;
    for (let j = 1; j < k; j++) {
      const step = increments.mul(1 / (k - j + 1));
      prefix = before[j - 1].add(prefix ? outer(prefix, step) : step);
    }
    if (!prefix) levels.push(increments.sum(-2));
    else levels.push(prefix.mT.matmul(increments).flatten(-2));
    if (k < depth) {
      const each = prefix ? outer(prefix, increments) : increments;
      const sums = each.slice(-2, 0, -1).cumsum(-2);
      before.push(sums.pad(sums.shape.map((_, axis) => axis === sums.rank - 2 ? [1, 0] : [0, 0])));
    }
  }
  return levels;
}

/** Products of all pairs of elements along the last axes, `(..., m)` and `(..., n)` to `(..., m n)`. */
function outer(a: Tensor, b: Tensor): Tensor {
  return a.expandDims(-1).mul(b.expandDims(-2)).flatten(-2);
}

/** (scalar + a) b without the scalar part, up to the depth of b: products of tensors, level by level. */
function times(scalar: number, a: Levels, b: Levels): Tensor[] {
  return b.map((level, k) => {
    let sum = scalar === 0 ? undefined : level.mul(scalar);
    for (let i = 0; i < k; i++) {
      const product = outer(a[i], b[k - 1 - i]);
      sum = sum ? sum.add(product) : product;
    }
    return sum ?? level.zerosLike();
  });
}

/** log(1 + s) = s (1 - s (1/2 - s (1/3 - ...))), which ends at the depth. */
function logarithm(s: Levels): Levels {
  let inner: Levels = s.map((level) => level.zerosLike());
  let constant = 1 / s.length;
  for (let n = s.length - 1; n >= 1; n--) {
    // 1 / n - (constant + inner) s
    inner = times(constant, inner, s).map((level) => level.neg());
    constant = 1 / n;
  }
  return times(constant, inner, s);
}

/**
 * The signature of the concatenation of two paths, from both signatures (Chen's identity). Same as signatory's
 * `signature_combine`.
 *
 * @param a Signature of the first path, `(..., channels + ... + channels^depth)`.
 * @param b Signature of the second path, with the same shape.
 * @throws {ShapeError | RangeError} If the length of a signature does not match the channels and the depth.
 */
export function combineSignatures(a: Tensor, b: Tensor, channels: number, depth: number): Tensor {
  checkDepth(depth, "combineSignatures");
  checkTensor("combineSignatures: a", a);
  checkTensor("combineSignatures: b", b);
  const size = signatureChannels(channels, depth);
  if (a.shape.at(-1) !== size || b.shape.at(-1) !== size) {
    throw new ShapeError(
      `combineSignatures: signatures of shapes ${formatShape(a.shape)} and ${
        formatShape(b.shape)
      }, expected ` +
        `(..., ${size}) for ${channels} channels to depth ${depth}`,
    );
  }
  const levels = (x: Tensor) =>
    Array.from(
      { length: depth },
      (_, k) => x.slice(-1, countWords(channels, k), countWords(channels, k + 1)),
    );
  const [left, right] = [levels(a), levels(b)];
  const product = times(1, left, right).map((level, k) => level.add(left[k]));
  return concatenate(product, a.rank - 1);
}

/**
 * Lyndon words: words that precede all their rotations. By length, then lexicographically. (Duval, "Generation d'une section des
 * classes de conjugaison et arbre des mots de Lyndon de longueur bornee", 1988.)
 */
export function lyndonWords(channels: number, depth: number): number[][] {
  const words: number[][] = [];
  let word = [-1];
  while (word.length > 0) {
    word[word.length - 1]++;
    words.push([...word]);
    const { length } = word;
    word = Array.from({ length: depth }, (_, i) => word[i % length]);
    while (word.at(-1) === channels - 1) word.pop();
  }
  // The words are in lexicographic order, and the sort is stable.
  return words.sort((a, b) => a.length - b.length);
}
