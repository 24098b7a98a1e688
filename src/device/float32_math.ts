/**
 * Elementary functions of float32 as plain arithmetic, so that both devices compute the same function: WGSL promises
 * little for its own (`sin` and `cos` an absolute 2^-11, `tanh` and `log` less than that near zero or one), and Wasm has
 * none. float64 exists on the CPU alone, which calls `Math`'s.
 *
 * Polynomials are minimax fits for the relative error. The arithmetic holds with and without fused multiply-add, and
 * where results or operands below 2^-126 are flushed to zero. Shader compilers reorder sums and products as if they were
 * exact (Mesa's makes x - n * a - n * b one product), so where a sum's order matters {@link opaque} stands in between.
 * Special values are told apart by their bits or by comparisons that a NaN fails, since those compilers may also take
 * every number to be finite.
 */
import * as s from "./scalar.ts";
import type { Scalar, Transcendental } from "./scalar.ts";

/** The same function of the same inputs, without transcendental nodes of type float32. */
export function lower(root: Scalar): Scalar {
  const lowered = new Map<Scalar, Scalar>();
  for (const node of s.topological(root)) {
    const args = node.args.map((arg) => lowered.get(arg)!);
    const build = node.type === "float32" ? builders[node.op as Transcendental] : undefined;
    const same = args.every((arg, i) => arg === node.args[i]);
    lowered.set(node, build ? build(...args) : same ? node : { ...node, args });
  }
  return lowered.get(root)!;
}

const builders: Record<Transcendental, (...args: Scalar[]) => Scalar> = {
  ...{ exp, log, log1p, sin, cos, tanh, erf, pow },
};

const float = (value: number) => s.constant(value, "float32");
const bits = (x: Scalar) => s.bitcast(x, "int32");
const fromBits = (x: Scalar) => s.bitcast(x, "float32");
const infinityBits = 0x7f800000;
const negativeInfinityBits = -0x00800000;

/** Whether the bits, without their sign, are those of an infinity or of a NaN. */
const isSpecial = (x: Scalar) => s.ge(s.and(bits(x), 0x7fffffff), infinityBits);

/** The low bits of a whole number below 2^22, given as a float: adding 1.5 * 2^23 moves them into the significand. */
const wholeBits = (n: Scalar) => bits(s.add(n, 12582912));

/** The same number, in a way that a compiler cannot see through: `wholeBits` are positive, so the bit added is zero. */
function opaque(x: Scalar, wholeBits: Scalar): Scalar {
  const zero = s.shr(s.bitcast(wholeBits, "uint32"), 31);
  return fromBits(s.xor(s.bitcast(x, "uint32"), zero));
}

/** At most 1.5 ulp off. Results below 2^-126 are zero on devices that flush such numbers. */
function exp(any: Scalar): Scalar {
  // Beyond these the result is zero and infinite.
  const x = s.min(s.max(any, -105), 89);
  // x = n log 2 + r, with log 2 in two parts: the first has nine bits, so that n times it is exact.
  const n = s.round(s.mul(x, Math.LOG2E));
  const whole = wholeBits(n);
  const r = s.fma(n, -log2Low, opaque(s.fma(n, -log2High, x), whole));
  const p = s.polynomial(r, [
    0.0013814466845338245,
    0.008368780418567411,
    0.04166839421519153,
    0.1666652010773978,
    0.49999993412480775,
  ]);
  return timesPowerOfTwo(s.add(s.fma(s.mul(r, r), p, r), 1), whole);
}

/** x 2^n for n from -152 to 129, given by its {@linkcode wholeBits}. */
function timesPowerOfTwo(x: Scalar, whole: Scalar): Scalar {
  // 2^n is the product of two powers whose exponents fit, where that of 2^128 and those below 2^-126 do not.
  const biased = s.add(whole, 254);
  const half = s.shr(biased, 1);
  const power = (exponent: Scalar) => fromBits(s.shl(exponent, 23));
  return s.mul(s.mul(x, power(half)), power(s.sub(biased, half)));
}

const log2High = 0.693359375;
const log2Low = Math.LN2 - log2High;

/** At most 0.9 ulp off, for numbers below 2^-126 too. */
function log(x: Scalar): Scalar {
  return withLimitsOfLog(x, logOfParts(partsOf(x)));
}

/** A positive number as 2^e (1 + f), with 1 + f between sqrt(1/2) and sqrt(2). */
interface Parts {
  readonly e: Scalar;
  readonly f: Scalar;
}

/** For numbers below 2^-126 too. */
function partsOf(x: Scalar): Parts {
  const isSubnormal = s.lt(bits(x), 0x00800000);
  // The significand of a number below 2^-126 is that number times 2^149.
  const normal = s.select(isSubnormal, bits(s.convert(bits(x), "float32")), bits(x));
  const exponent = exponentBits(normal);
  const e = s.convert(s.shr(exponent, 23), "float32");
  return {
    e: s.select(isSubnormal, s.sub(e, 149), e),
    f: s.sub(fromBits(s.sub(normal, exponent)), 1),
  };
}

/** At most 1.4 ulp off. */
function log1p(x: Scalar): Scalar {
  // With 1 + x = 2^e (1 + f): f = 2^-e x + (2^-e - 1), in which nothing is lost. Four times 2^-e is in range for every e.
  const sum = s.add(x, 1);
  const exponent = exponentBits(bits(sum));
  const scale = fromBits(s.sub(s.constant(0x40800000, "int32"), exponent));
  const f = s.add(fromBits(s.sub(bits(x), exponent)), s.fma(scale, 0.25, -1));
  const e = s.convert(s.shr(exponent, 23), "float32");
  return withLimitsOfLog(sum, logOfParts({ e, f }));
}

/** The exponent, in its place among the bits, that leaves a significand between sqrt(1/2) and sqrt(2). */
function exponentBits(x: Scalar): Scalar {
  return s.and(s.sub(x, 0x3f3504f3), ~0x7fffff);
}

/** log(2^e (1 + f)). */
function logOfParts({ e, f }: Parts): Scalar {
  const p = s.polynomial(f, [
    -0.07634387486877217,
    0.12765427773703789,
    -0.1316200420151786,
    0.1420136867238295,
    -0.16623144461485165,
    0.20001235874930381,
    -0.2500082676850412,
    0.33333331682031103,
  ]);
  const square = s.mul(f, f);
  const tail = s.fma(square, -0.5, s.fma(e, log2Low, s.mul(s.mul(square, f), p)));
  return s.fma(e, log2High, s.add(f, tail));
}

/** The logarithm's value at zero, infinity, NaN and below zero, elsewhere `result`. */
function withLimitsOfLog(x: Scalar, result: Scalar): Scalar {
  const isPositive = s.lt(s.sub(s.bitcast(x, "uint32"), 1), infinityBits - 1);
  const isZero = s.eq(s.shl(bits(x), 1), 0);
  const limit = s.select(isZero, float(-Infinity), float(NaN));
  return s.select(isPositive, result, s.select(s.gt(bits(x), 0), x, limit));
}

/**
 * At most 1.5 ulp off for |x| up to 10, 2.3 ulp up to 1e4, and 1.2e-7 up to 2e7. Further out, where neighbouring numbers are
 * two and more apart, a number within [-1, 1].
 */
function sin(x: Scalar): Scalar {
  return sinOfQuadrants(x, 0);
}

/** The cosine, as accurate as {@linkcode sin}. */
function cos(x: Scalar): Scalar {
  return sinOfQuadrants(x, 1);
}

/** pi / 2 in parts of eleven bits, whose products with numbers of up to thirteen bits are exact, and the rest. */
const halfPi = [1.5703125, 0.0004837512969970703, 7.549533620476723e-8, 2.563344151594519e-12];

/** 113 turns in parts of nine bits, whose products with numbers of up to fifteen bits are exact, and the rest. */
const turns = [710, -6.031990051269531e-5, 3.11937845878699e-8];

/** sin(x + quadrants pi / 2). */
function sinOfQuadrants(x: Scalar, quadrants: number): Scalar {
  // x = many 113 turns + n pi / 2 + r. 113 turns are so near to 710 that what is left of x is exact, and n below 2^8.
  const many = s.round(s.mul(x, 1 / (226 * Math.PI)));
  const near = s.fma(many, -turns[0], x);
  const n = s.round(s.fma(many, -turns[1] * 2 / Math.PI, s.mul(near, 2 / Math.PI)));
  const whole = wholeBits(n);
  const take = (rest: Scalar, count: Scalar, part: number) => s.fma(count, -part, opaque(rest, whole));
  // The largest parts first: nothing is rounded but the fine ones and what they leave.
  const coarse = take(take(take(near, n, halfPi[0]), many, turns[1]), n, halfPi[1]);
  const fine = s.fma(n, halfPi[2], s.mul(many, turns[2]));
  const remainder = take(s.sub(opaque(coarse, whole), fine), n, halfPi[3]);
  // Beyond the range that those parts serve the remainder may be anything.
  const r = s.min(s.max(remainder, -0.8), 0.8);
  const square = s.mul(r, r);
  const sinP = s.polynomial(square, [-0.0001951463198876668, 0.008332156054612705, -0.16666654536644823]);
  const cosP = s.polynomial(square, [2.443241291317476e-05, -0.0013887309865890504, 0.04166664555445058]);
  const sinR = s.fma(s.mul(square, r), sinP, r);
  const cosR = s.fma(s.mul(square, square), cosP, s.fma(square, -0.5, 1));
  const quadrant = quadrants === 0 ? whole : s.add(whole, quadrants);
  const isEven = s.eq(s.and(quadrant, 1), 0);
  const sign = s.shl(s.and(quadrant, 2), 30);
  const result = fromBits(s.xor(bits(s.select(isEven, sinR, cosR)), sign));
  return s.select(isSpecial(x), NaN, result);
}

/** At most 3.5 ulp off, 2.6 with fused multiply-add and 1 on the average. */
function tanh(any: Scalar): Scalar {
  // From here on the result is one, and the quotient of two equal numbers.
  const x = s.min(s.max(any, -8.8), 8.8);
  // u = tanh(x / 2) as a rational function.
  const square = s.mul(x, x);
  const p = s.polynomial(square, [0.00011467930684134516, 0.029793281998475397]);
  const numerator = s.fma(s.mul(square, x), p, x);
  const denominator = s.polynomial(square, [
    2.4761655238060214e-06,
    0.002417189134416119,
    0.22625316791799369,
    2,
  ]);
  return doubleAngle(numerator, denominator);
}

/** At most 3.5 ulp off. */
function erf(x: Scalar): Scalar {
  // u = tanh(atanh(erf x) / 2) as a rational function.
  const square = s.mul(x, x);
  const p = s.polynomial(square, [
    -6.585203566163429e-06,
    0.0006125057387188201,
    0.0187416490791051,
    0.1520629911070464,
  ]);
  const numerator = s.fma(s.mul(square, x), p, s.mul(x, 1.052022652187618));
  const denominator = s.polynomial(square, [
    0.0043227791007129516,
    0.066901245078506,
    0.2975380548029067,
    1.8646616541353382,
  ]);
  return s.select(s.gt(x, 3.85), 1, s.select(s.lt(x, -3.85), -1, doubleAngle(numerator, denominator)));
}

/** 2 u / (1 + u^2) for u = numerator / denominator. Near one an error of u has next to no effect, and the result does not exceed one. */
function doubleAngle(numerator: Scalar, denominator: Scalar): Scalar {
  const product = s.mul(numerator, denominator);
  const squares = s.fma(denominator, denominator, s.mul(numerator, numerator));
  return s.div(s.add(product, product), squares);
}

/** The largest whole exponent of a number other than a power of two whose power fits 24 bits: 3^15. */
const largestWholeExponent = 15;

/**
 * C's `pow`. Exact for whole exponents where the result is representable: of a power of two, or by repeated multiplication.
 * Elsewhere the relative error grows with |p log x|, which is rounded before the exponential: 1e-7 for small powers, 1e-5 where the result nears 1e35 or 1e-35.
 */
function pow(x: Scalar, p: Scalar): Scalar {
  const size = s.abs(x);
  const isWhole = s.eq(s.floor(p), p);
  const parts = partsOf(size);
  const exponent = s.min(s.max(s.mul(p, parts.e), -152), 129);
  const ofPowerOfTwo = timesPowerOfTwo(float(1), wholeBits(exponent));
  const isPowerOfTwo = s.and(s.eq(parts.f, 0), s.lt(bits(size), infinityBits));
  const magnitude = s.select(
    s.and(isWhole, isPowerOfTwo),
    ofPowerOfTwo,
    exp(s.mul(p, withLimitsOfLog(size, logOfParts(parts)))),
  );
  const ofUnit = s.select(s.eq(size, 1), 1, magnitude);
  const half = s.mul(p, 0.5);
  const isOdd = s.and(isWhole, s.not(s.eq(s.floor(half), half)));
  const signed = s.select(s.and(isOdd, s.lt(bits(x), 0)), s.neg(ofUnit), ofUnit);
  const isNegative = s.and(s.lt(x, 0), s.lt(bits(x), negativeInfinityBits));
  const general = s.select(s.and(isNegative, s.not(isWhole)), NaN, signed);
  const isSmall = s.and(isWhole, s.and(s.ge(p, 0), s.le(p, largestWholeExponent)));
  const small = s.convert(s.min(s.max(p, 0), largestWholeExponent), "int32");
  return s.select(isSmall, s.wholePower(x, small, 4), general);
}
