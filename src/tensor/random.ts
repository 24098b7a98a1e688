/**
 * Random numbers from a counter-based generator, Threefry-2x32 with 20 rounds (Salmon et al., "Parallel Random Numbers:
 * As Easy as 1, 2, 3", 2011). Element i of a tensor is the generator's output for counter i under a key, so that the
 * stream depends only on the key, not on the device, the number of threads or earlier draws.
 */
import { describe } from "../device/describe.ts";
import { checkOptions, namesOf } from "../device/options.ts";
import { type DType, isFloat } from "../device/dtype.ts";
import * as s from "../device/scalar/scalar.ts";
import type { Scalar } from "../device/scalar/scalar.ts";
import { checkedShape, sameShape, type Shape } from "../device/shape.ts";
import { checkFinite, generate, scalar, tensor, tensorOptionNames, type TensorOptions } from "./creation.ts";
import { stack } from "./functions.ts";
import { apply } from "./primitive.ts";
import { type Elementwise, elementwise } from "./primitives/elementwise.ts";
import { Symbolic } from "./symbolic.ts";
import { Tensor, type TensorLike } from "./tensor.ts";

/**
 * Source of random numbers. Use a key once, and {@linkcode splitKey} to get more keys. Inside `jit` and `vmap` a key of the
 * arguments is a tensor of two words, since each call, or each example, may have another key.
 */
export type Key = readonly [number, number] | Tensor;

/** Values that are known to be keys. */
const keys = new WeakSet<object>();

/** Marks a value as a key. */
export function markKey<K extends Key>(words: K): K {
  keys.add(words);
  return words;
}

/** Whether a value was made by {@linkcode key}, {@linkcode splitKey} or {@linkcode foldIn}, or is a key inside `jit`. */
export function isKey(value: unknown): value is Key {
  return typeof value === "object" && value !== null && keys.has(value);
}

/** The tensor `(..., 2)` of a nonempty array of keys, or of arrays of keys of one length; `undefined` for other values. */
export function tensorOfKeys(value: unknown): Tensor | undefined {
  if (isKey(value)) return value instanceof Tensor ? value : tensor(value, { dtype: "uint32" });
  if (!Array.isArray(value) || value.length === 0) return undefined;
  if (value.every((member) => isKey(member) && !(member instanceof Tensor))) {
    return tensor(value.flat(), { shape: [value.length, 2], dtype: "uint32" });
  }
  const parts = value.map(tensorOfKeys);
  const isLike = (x: Tensor | undefined): x is Tensor =>
    x !== undefined && sameShape(x.shape, parts[0]!.shape);
  return parts.every(isLike) ? stack(parts) : undefined;
}

/** Options of {@linkcode uniform}. */
export interface UniformOptions extends TensorOptions {
  /**
   * Smallest number.
   *
   * @default {0}
   */
  low?: number;
  /**
   * End of the range, which is not drawn.
   *
   * @default {1}
   */
  high?: number;
}

/** Options of {@linkcode normal}. */
export interface NormalOptions extends TensorOptions {
  /**
   * Mean of the distribution.
   *
   * @default {0}
   */
  mean?: number;
  /**
   * Standard deviation, at least 0.
   *
   * @default {1}
   */
  standardDeviation?: number;
}

const uniformOptionNames = namesOf<UniformOptions>()(tensorOptionNames, "low? high?");
const normalOptionNames = namesOf<NormalOptions>()(tensorOptionNames, "mean? standardDeviation?");

const rotations = [13, 15, 26, 6, 17, 29, 16, 24];
const parity = 0x1bd11bda;

/** Threefry on expressions of a kernel. */
function threefry(key: readonly [Scalar, Scalar], counter: readonly [Scalar, Scalar]): [Scalar, Scalar] {
  const schedule = [...key, s.xor(s.xor(key[0], key[1]), parity)];
  let [x, y] = [s.add(counter[0], key[0]), s.add(counter[1], key[1])];
  for (let round = 0; round < 20; round++) {
    const bits = rotations[round % 8];
    x = s.add(x, y);
    y = s.xor(s.or(s.shl(y, bits), s.shr(y, 32 - bits)), x);
    if (round % 4 !== 3) continue;
    const injection = (round + 1) / 4;
    x = s.add(x, schedule[injection % 3]);
    y = s.add(s.add(y, schedule[(injection + 1) % 3]), injection);
  }
  return [x, y];
}

/** A block of the generator on the host: two words from a key and a counter of two words. */
export function threefry2x32(key: Key, counter: readonly [number, number]): [number, number] {
  if (key instanceof Tensor) {
    throw new TypeError(
      "random: the host cannot read a key that is an argument of a function of jit or vmap; draw numbers for the host outside of it",
    );
  }
  // Arithmetic without functions: one definition for numbers and expressions is ten times as slow once both have run.
  const schedule = [key[0], key[1], key[0] ^ key[1] ^ parity];
  let [x, y] = [counter[0] + key[0] | 0, counter[1] + key[1] | 0];
  for (let round = 0; round < 20; round++) {
    const bits = rotations[round % 8];
    x = x + y | 0;
    y = (y << bits | y >>> 32 - bits) ^ x;
    if (round % 4 !== 3) continue;
    const injection = (round + 1) / 4;
    x = x + schedule[injection % 3] | 0;
    y = y + schedule[(injection + 1) % 3] + injection | 0;
  }
  return [x >>> 0, y >>> 0];
}

/**
 * A key from a seed.
 *
 * @param seed A whole number from 0 to 2^53 - 1.
 */
export function key(seed: number): readonly [number, number] {
  if (!Number.isSafeInteger(seed) || seed < 0) {
    throw new RangeError(`key: seed ${describe(seed)} is not a whole number from 0 to 2^53 - 1`);
  }
  return markKey([Math.floor(seed / 2 ** 32), seed >>> 0]);
}

/** Rejects values that are not keys. */
function checkKey(operation: string, key: Key): void {
  const isWord = (word: number) => word === word >>> 0;
  if (
    key instanceof Tensor
      ? key.dtype === "uint32" && key.rank === 1 && key.size === 2
      : Array.isArray(key) && key.length === 2 && key.every(isWord)
  ) {
    return;
  }
  const actual = Array.isArray(key) ? `[${key.map(describe)}]` : describe(key);
  throw new TypeError(`${operation}: ${actual} is not a key; make one with key(seed)`);
}

/**
 * Derives independent keys from a key.
 *
 * @param count A whole number from 0.
 */
export function splitKey<K extends Key>(parent: K, count = 2): K[] {
  checkKey("splitKey", parent);
  checkedShape("splitKey", [count]);
  return Array.from({ length: count }, (_, i) => derive(parent, [i, 0x5eed]));
}

/**
 * Derives key number `n` of a sequence from a key, for example the key of a training step.
 *
 * @param n A whole number from 0 to 2^53 - 1.
 */
export function foldIn<K extends Key>(parent: K, n: number): K {
  checkKey("foldIn", parent);
  if (!Number.isSafeInteger(n) || n < 0) {
    throw new RangeError(`foldIn: ${describe(n)} is not a whole number from 0 to 2^53 - 1`);
  }
  return derive(parent, [n >>> 0, 0xf01d + Math.floor(n / 2 ** 32)]);
}

/** Derives a key from a key and a counter. */
function derive<K extends Key>(parent: K, counter: readonly [number, number]): K {
  if (!(parent instanceof Tensor)) return markKey(threefry2x32(parent, counter)) as Key as K;
  const kernel = (index: Scalar, a: Scalar, b: Scalar, c: Scalar, d: Scalar) => {
    const [first, second] = threefry([a, b], [c, d]);
    return s.select(s.eq(index, s.constant(0, "uint32")), first, second);
  };
  return markKey(drawWith("key", [2], "uint32", kernel, [...wordsOf(parent), ...counter])) as K;
}

/** The elementwise primitives of draws with keys that are symbols, by name and type. */
const primitives = new Map<string, Elementwise>();

/**
 * Makes a tensor from the position of each element and from words. In `vmap`, the position is that within the example.
 *
 * @param build Depends on `name` and `dtype` alone.
 * @param words Numbers, or uint32 tensors that broadcast to the shape.
 */
function drawWith(
  name: string,
  shape: Shape,
  dtype: DType,
  build: (index: Scalar, ...words: Scalar[]) => Scalar,
  words: readonly TensorLike[],
): Tensor {
  const isSymbol = (word: TensorLike) => word instanceof Tensor && word.storage instanceof Symbolic;
  if (!words.some(isSymbol)) {
    return generate(shape, dtype, name, (...words) => build(s.index(), ...words), words, "uint32");
  }
  const id = `${name} ${dtype}`;
  let primitive = primitives.get(id);
  if (!primitive) primitives.set(id, primitive = elementwise(name, build, "zero"));
  const positions = generate(shape, "uint32", "positions", s.index, []);
  const operands = words.map((word) =>
    (word instanceof Tensor ? word : scalar(word, "uint32")).broadcastTo(shape)
  );
  return apply(primitive, [positions, ...operands], undefined);
}

/** The words of a key: numbers, or tensors of no axes. */
function wordsOf(key: Key): readonly [TensorLike, TensorLike] {
  return key instanceof Tensor ? [key.select(0, 0), key.select(0, 1)] : key;
}

function draw(
  name: string,
  key: Key,
  shape: Shape,
  dtype: DType,
  build: (bits: [Scalar, Scalar]) => Scalar,
): Tensor {
  checkKey(name, key);
  if (!isFloat(dtype)) {
    throw new TypeError(`${name}: draws float32 or float64, got dtype ${dtype}; cast the result`);
  }
  const kernel = (index: Scalar, a: Scalar, b: Scalar) =>
    build(threefry([a, b], [index, s.constant(0, "uint32")]));
  return drawWith(name, shape, dtype, kernel, wordsOf(key));
}

/**
 * Standard normal numbers of a member of a sequence: element i is the number for the counter `(i, member)`. Each member needs its
 * number alone, so that it can be drawn again at any time.
 *
 * @param member uint32, a scalar. It may be a symbol, as in the body of a loop.
 */
export function normalOfMember(key: Key, member: Tensor, shape: Shape, dtype: DType): Tensor {
  checkKey("normal", key);
  const kernel = (index: Scalar, a: Scalar, b: Scalar, member: Scalar) =>
    boxMuller(threefry([a, b], [index, member]), dtype);
  return drawWith("normal of member", shape, dtype, kernel, [...wordsOf(key), member]);
}

/** A normal number from two words. The radius is computed from (0, 1], so that its logarithm is finite. */
function boxMuller([a, b]: [Scalar, Scalar], dtype: DType): Scalar {
  const radius = s.sqrt(s.mul(s.log(s.sub(s.constant(1, dtype), toUnit([a, b], dtype))), -2));
  return s.mul(radius, s.cos(s.mul(toUnit([b, a], dtype), 2 * Math.PI)));
}

/** Random bits as a number in [0, 1): 24 of them for float32, 53 for float64. */
function toUnit([high, low]: [Scalar, Scalar], dtype: DType): Scalar {
  if (dtype !== "float64") return s.mul(s.convert(s.shr(high, 8), "float32"), 2 ** -24);
  const top = s.convert(s.shr(high, 5), "float64");
  return s.mul(s.add(s.mul(top, 2 ** 26), s.convert(s.shr(low, 6), "float64")), 2 ** -53);
}

/**
 * Uniform numbers in [low, high).
 *
 * @throws {RangeError} If `low` is above `high`, or one of them is infinite or NaN.
 */
export function uniform(
  key: Key,
  shape: Shape,
  options: UniformOptions = {},
): Tensor {
  checkOptions("uniform", options, uniformOptionNames);
  const { low = 0, high = 1, dtype = "float32" } = options;
  checkFinite("uniform", { low, high });
  if (low > high) throw new RangeError(`uniform: low is ${low} and high ${high}, expected low <= high`);
  const unit = draw("uniform", key, shape, dtype, (bits) => toUnit(bits, dtype));
  if (low === 0 && high === 1) return unit;
  // Rounding may give `high`.
  const largest = Math.max(low, numberBelow(high, dtype));
  return unit.mul(high - low).add(low).minimum(largest);
}

/** The next smaller number of a float type, for a number other than zero. */
function numberBelow(x: number, dtype: DType): number {
  const [round, halfSpacing] = dtype === "float64" ? [(y: number) => y, 2 ** -53] : [Math.fround, 2 ** -24];
  // Rounding `high` may give a smaller number. Otherwise the distance is the spacing of numbers, or half of it below a power of two.
  const candidates = [0, halfSpacing, 2 * halfSpacing].map((share) => round(x - share * Math.abs(x)));
  return candidates.find((y) => y < x) ?? x;
}

/**
 * Normal numbers by the Box-Muller transform.
 *
 * @throws {RangeError} If the standard deviation is below zero, or a number is infinite or NaN.
 */
export function normal(
  key: Key,
  shape: Shape,
  options: NormalOptions = {},
): Tensor {
  checkOptions("normal", options, normalOptionNames);
  const { mean = 0, standardDeviation = 1, dtype = "float32" } = options;
  checkFinite("normal", { mean, standardDeviation });
  if (standardDeviation < 0) {
    throw new RangeError(`normal: standardDeviation is ${standardDeviation}, expected at least 0`);
  }
  const standard = draw("normal", key, shape, dtype, (bits) => boxMuller(bits, dtype));
  return mean === 0 && standardDeviation === 1 ? standard : standard.mul(standardDeviation).add(mean);
}

/**
 * Whole numbers from `low` to `high - 1`, each equally likely up to one part in 2^32 / (high - low); int32.
 *
 * @example
 * ```ts
 * import { key, randint } from "@weft/weft";
 *
 * randint(key(0), [10], 1, 7); // ten throws of a die
 * ```
 *
 * @param low Smallest number, at least -2^31.
 * @param high End of the range, not included, at most 2^31.
 * @throws {RangeError} If a bound is not a whole number in range, or `low` is not below `high`.
 */
export function randint(key: Key, shape: Shape, low: number, high: number): Tensor {
  checkKey("randint", key);
  for (const [name, bound] of Object.entries({ low, high })) {
    if (Number.isInteger(bound) && Math.abs(bound) <= 2 ** 31) continue;
    throw new RangeError(
      `randint: ${name} is ${describe(bound)}, expected a whole number from -2^31 to 2^31`,
    );
  }
  if (low >= high) throw new RangeError(`randint: low is ${low} and high ${high}, expected low < high`);
  const kernel = (index: Scalar, a: Scalar, b: Scalar, least: Scalar, count: Scalar) => {
    const [word] = threefry([a, b], [index, s.constant(0, "uint32")]);
    // A count of 2^32 is 0 here: then the word is the result.
    const position = s.select(s.eq(count, 0), word, highWord(word, count));
    return s.bitcast(s.add(position, least), "int32");
  };
  const range = [low >>> 0, (high - low) >>> 0] as const;
  return drawWith("randint", shape, "int32", kernel, [...wordsOf(key), ...range]);
}

/** The upper 32 bits of the product of two words, by halves of 16 bits. */
function highWord(a: Scalar, b: Scalar): Scalar {
  const [aLow, bLow] = [a, b].map((word) => s.and(word, 0xffff));
  const [aHigh, bHigh] = [a, b].map((word) => s.shr(word, 16));
  const middle = s.add(s.mul(aHigh, bLow), s.shr(s.mul(aLow, bLow), 16));
  const carry = s.add(s.mul(aLow, bHigh), s.and(middle, 0xffff));
  return s.add(s.add(s.mul(aHigh, bHigh), s.shr(middle, 16)), s.shr(carry, 16));
}

/** True with probability `p`. */
export function bernoulli(key: Key, p: number, shape: Shape): Tensor {
  checkKey("bernoulli", key);
  if (!(typeof p === "number" && p >= 0 && p <= 1)) {
    throw new RangeError(`bernoulli: probability ${describe(p)} is not between 0 and 1`);
  }
  return uniform(key, shape).less(p);
}

/** {@linkcode randperm} on the host. @throws {ShapeError} If `size` is not a whole number of at least 0. */
export function randpermArray(key: Key, size: number): Int32Array {
  checkKey("randperm", key);
  checkedShape("randperm", [size]);
  const order = Int32Array.from({ length: size }, (_, i) => i);
  for (let i = size - 1; i > 0; i--) {
    const [word] = threefry2x32(key, [i, 0x9e37]);
    const j = Math.floor(word / 2 ** 32 * (i + 1));
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
}

/** The whole numbers below `size` in random order, int32. */
export function randperm(key: Key, size: number): Tensor {
  return tensor(randpermArray(key, size), { dtype: "int32" });
}
