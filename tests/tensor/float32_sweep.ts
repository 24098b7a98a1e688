/** Special functions of float32 against float64, over all exponents, both signs and special values. */
import { scan, type Tensor, tensor, zeros } from "../../mod.ts";

/** A function of float32 with its value in float64. */
export interface SweptFunction {
  readonly name: string;
  /** Computes the function of columns: one operand, or two for `pow`. */
  readonly compute: (...x: Tensor[]) => Tensor;
  readonly exact: (...x: number[]) => number;
  /** The operands: float32 columns of the same length. */
  readonly operands: readonly Float32Array[];
  /** Allowed error in units in the last place of the value; of 1 if `isAbsolute`. */
  readonly ulp: number;
  readonly isAbsolute?: boolean;
}

/** The spacing of float32 numbers at 1, and the smallest normal number. */
const unit = 2 ** -23;
export const smallestNormal = 2 ** -126;

const patterns = new Uint32Array(1);
const patternFloat = new Float32Array(patterns.buffer);
function floatOf(bits: number): number {
  patterns[0] = bits;
  return patternFloat[0];
}

/** Deterministic integers below 2^32. */
function* integers(seed: number): Generator<number> {
  for (let state = seed >>> 0;; state = (Math.imul(state, 1664525) + 1013904223) >>> 0) {
    yield (state ^ state >>> 15) >>> 0;
  }
}

const specialBits = [
  0,
  1,
  2,
  0x7fffff,
  0x800000,
  0x3f800000,
  0x3f7fffff,
  0x3f800001,
  0x7f7fffff,
  0x7f800000,
  0x7fc00000,
];

/** Numbers of every exponent, subnormal ones too, with `count` significands each, both signs, and special values. */
export function allExponents(count: number): number[] {
  const random = integers(1);
  const positive = specialBits.map(floatOf);
  for (let exponent = 0; exponent < 255; exponent++) {
    for (let i = 0; i < count; i++) positive.push(floatOf(exponent << 23 | random.next().value! >>> 9));
  }
  return positive.flatMap((x) => [x, -x]);
}

/** Evenly spaced numbers. */
export function even(low: number, high: number, count: number): number[] {
  return Array.from({ length: count }, (_, i) => low + (high - low) * i / (count - 1));
}

/** The error function complement times exp(x^2), for x >= 2: a continued fraction. */
function scaledComplement(x: number): number {
  let fraction = 0;
  for (let n = 120; n > 0; n--) fraction = n / 2 / (x + fraction);
  return 1 / Math.sqrt(Math.PI) / (x + fraction);
}

/** 2 / sqrt(pi) times the integral of exp(-t^2) up to |x|: a series of positive terms. */
function erfSeries(x: number): number {
  let [term, sum] = [x, x];
  for (let n = 1; n < 300 && Math.abs(term) > Math.abs(sum) * 1e-18; n++) {
    sum += term *= 2 * x * x / (2 * n + 1);
  }
  return 2 / Math.sqrt(Math.PI) * Math.exp(-x * x) * sum;
}

export function exactErf(x: number): number {
  if (Number.isNaN(x)) return NaN;
  const a = Math.abs(x);
  return Math.sign(x) * (a > 6 ? 1 : a < 2 ? erfSeries(a) : 1 - Math.exp(-a * a) * scaledComplement(a));
}

/** x times the probability that a normal number is below x. Its limit at minus infinity is 0. */
export function exactGelu(x: number): number {
  if (x > -2.8) return x > 40 ? x : x * (1 + exactErf(x / Math.SQRT2)) / 2;
  if (x < -40) return -0;
  return x / 2 * Math.exp(-x * x / 2) * scaledComplement(-x / Math.SQRT2);
}

const exactSoftplus = (x: number) => Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)));

/** C's `pow`, which is 1 for x = 1 and for x = -1 with an infinite exponent. */
const exactPow = (x: number, p: number) => x === 1 || x === -1 && Math.abs(p) === Infinity ? 1 : x ** p;

/** Pairs whose power is between 1e-45 and 3e38, for bases of every exponent and near 1, and pairs of special values. */
function powerPairs(count: number): [Float32Array, Float32Array] {
  const random = integers(2);
  const fraction = () => random.next().value! / 2 ** 32;
  const pairs: [number, number][] = [];
  for (const x of allExponents(count)) {
    if (!(x > 0 && x < Infinity) || x === 1) continue;
    for (const share of [fraction(), 1 - 2 ** -6 * fraction(), -fraction()]) {
      pairs.push([x, share * 88.7 / Math.log(x)]);
    }
  }
  for (let i = 0; i < 500 * count; i++) {
    // Bases near 1, whose logarithm is small.
    const x = 1 + (fraction() - 0.5) * 2 ** -Math.floor(22 * fraction());
    if (x !== 1) pairs.push([x, (2 * fraction() - 1) * 88.7 / Math.log(x)]);
    const whole = Math.round(40 * (fraction() - 0.5));
    const base = (fraction() - 0.5) * 20;
    if (Math.abs(whole * Math.log(Math.abs(base))) < 87) pairs.push([base, whole]);
  }
  const special = [...specialBits.map(floatOf), 0.5, 2, 3, 17, 2.5, 1e10, 3.138e-4, -10.993].flatMap((
    x,
  ) => [x, -x]);
  for (const x of special) for (const p of special) pairs.push([x, p]);
  return [Float32Array.from(pairs, ([x]) => x), Float32Array.from(pairs, ([, p]) => p)];
}

/** The largest angle whose sine is accurate. */
export const largestAngle = 2e7;

function angles(count: number): Float32Array {
  const all = [...allExponents(count), ...even(-1e3, 1e3, 1000 * count)];
  return Float32Array.from(all.filter((x) => !(Math.abs(x) > largestAngle && Math.abs(x) < Infinity)));
}

/** All functions. @param count Significands of each exponent. */
export function sweptFunctions(count: number): SweptFunction[] {
  const dense = (low: number, high: number) => [
    Float32Array.from([...allExponents(count), ...even(low, high, 1000 * count)]),
  ];
  return [
    { name: "exp", compute: (x) => x.exp(), exact: Math.exp, operands: dense(-105, 90), ulp: 4 },
    { name: "log", compute: (x) => x.log(), exact: Math.log, operands: dense(0.1, 10), ulp: 4 },
    { name: "log1p", compute: (x) => x.log1p(), exact: Math.log1p, operands: dense(-1, 2), ulp: 4 },
    { name: "pow", compute: (x, p) => x.pow(p), exact: exactPow, operands: powerPairs(count), ulp: 4 },
    { name: "tanh", compute: (x) => x.tanh(), exact: Math.tanh, operands: dense(-10, 10), ulp: 4 },
    { name: "erf", compute: (x) => x.erf(), exact: exactErf, operands: dense(-5, 5), ulp: 4 },
    { name: "gelu", compute: (x) => x.gelu(), exact: exactGelu, operands: dense(-15, 15), ulp: 4 },
    {
      name: "softplus",
      compute: (x) => x.softplus(),
      exact: exactSoftplus,
      operands: dense(-105, 90),
      ulp: 4,
    },
    {
      name: "sin",
      compute: (x) => x.sin(),
      exact: Math.sin,
      operands: [angles(count)],
      ulp: 4,
      isAbsolute: true,
    },
    {
      name: "cos",
      compute: (x) => x.cos(),
      exact: Math.cos,
      operands: [angles(count)],
      ulp: 4,
      isAbsolute: true,
    },
  ];
}

/** The largest error, in units in the last place, and its operands. */
export interface Worst {
  readonly ulp: number;
  readonly at: readonly number[];
  readonly found: number;
  readonly expected: number;
}

/**
 * The largest error of a function. A NaN or an infinity in the wrong place is an infinite error.
 *
 * @param flushes Whether the device may replace operands, terms and results below 2^-126 by 0.
 */
export function worstOf(fn: SweptFunction, found: ArrayLike<number>, flushes: boolean): Worst {
  let worst: Worst = { ulp: 0, at: [], found: NaN, expected: NaN };
  for (let i = 0; i < found.length; i++) {
    const at = fn.operands.map((column) => column[i]);
    const expected = fn.exact(...at);
    const accepted = [expected];
    const isTiny = Math.abs(expected) < smallestNormal;
    if (flushes && isTiny && Math.abs(found[i] - expected) <= smallestNormal) continue;
    if (flushes && at.some((x) => Math.abs(x) < smallestNormal)) {
      accepted.push(fn.exact(...at.map((x) => Math.abs(x) < smallestNormal ? 0 * x : x)));
    }
    const ulp = Math.min(...accepted.map((value) => unitsBetween(found[i], value, fn.isAbsolute)));
    if (ulp > worst.ulp) worst = { ulp, at, found: found[i], expected };
  }
  return worst;
}

function unitsBetween(found: number, exact: number, isAbsolute = false): number {
  const rounded = Math.fround(exact);
  if (Object.is(found, rounded) || found === rounded) return 0;
  if (Number.isNaN(found) || Number.isNaN(rounded)) return Infinity;
  // The largest finite number and infinity are neighbours.
  const limited = (x: number) => Math.max(-(2 ** 128), Math.min(2 ** 128, x));
  const exponent = isAbsolute ? 0 : Math.max(-126, Math.floor(Math.log2(Math.abs(limited(exact)))));
  return Math.abs(limited(found) - limited(exact)) / (2 ** exponent * unit);
}

/** Columns of the rows of a loop. */
const columns = 1024;

/** Computes a function of all operands at once, or in the steps of a compiled loop. */
export async function computeSwept(fn: SweptFunction, where: "eager" | "loop"): Promise<ArrayLike<number>> {
  if (where === "eager") return await fn.compute(...fn.operands.map((x) => tensor(x))).data();
  const count = fn.operands[0].length;
  const rows = Math.ceil(count / columns);
  const padded = fn.operands.map((x) => {
    const values = new Float32Array(rows * columns).fill(1);
    values.set(x);
    return tensor(values).reshape([rows, columns]);
  });
  const [, results] = scan(
    (state: Tensor, row: readonly Tensor[]): [Tensor, Tensor] => [state, fn.compute(...row)],
    zeros([1]),
    padded,
  );
  return (await results.data()).subarray(0, count);
}
