/**
 * Elementary functions of float32 as plain arithmetic, so that both devices compute the same function. WGSL
 * guarantees little accuracy for its functions (`sin` and `cos` 2^-11 absolute, `tanh` and `log` less near
 * zero and one), and WebAssembly has none of them. float64 is only used on the CPU, which calls `Math`.
 *
 * Polynomials are minimax fits of the relative error. The results are correct with and without fused
 * multiply-add, and if numbers below 2^-126 are flushed to zero. Shader compilers reorder sums and products
 * as if they were exact: Mesa combines x - n * a - n * b into one product. {@linkcode s.opaque} prevents this where
 * the order of a sum matters. Special values are detected by their bits or by comparisons that are false for
 * NaN, because shader compilers may assume that all numbers are finite.
 */
import * as s from "./scalar.ts";
import type { Scalar, Transcendental } from "./scalar.ts";

/** Replaces transcendental nodes of type float32 by arithmetic. */
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
  ...{ exp, log, log1p, sin, cos, tanh, erf, pow, normalTail },
};

const float = (value: number) => s.constant(value, "float32");
const bits = (x: Scalar) => s.bitcast(x, "int32");
const fromBits = (x: Scalar) => s.bitcast(x, "float32");
const infinityBits = 0x7f800000;
const negativeInfinityBits = -0x00800000;

/** Whether the bits, without the sign, are those of infinity or NaN. */
const isSpecial = (x: Scalar) => s.ge(s.and(bits(x), 0x7fffffff), infinityBits);

/**
 * The low bits of an integer below 2^22 that is given as a float. Adding 1.5 * 2^23 moves them into the
 * significand.
 */
const wholeBits = (n: Scalar) => bits(s.add(n, 12582912));

/** Error at most 1.5 ulp. Results below 2^-126 are zero on devices that flush such numbers. */
function exp(any: Scalar): Scalar {
  // Outside this range the result is zero or infinity.
  const { whole, r } = reducedExponent(s.min(s.max(any, -105), 89));
  return timesPowerOfTwo(s.add(growth(r), 1), whole);
}

/** x = n log 2 + r, with {@linkcode wholeBits} of n. log 2 has two parts: the first has nine bits, so that n times it is exact. */
function reducedExponent(x: Scalar): { whole: Scalar; r: Scalar } {
  const n = s.round(s.mul(x, Math.LOG2E));
  const whole = wholeBits(n);
  return { whole, r: s.fma(n, -log2Low, s.opaque(s.fma(n, -log2High, x), whole)) };
}

/** exp(r) - 1 for |r| up to 0.35. */
function growth(r: Scalar): Scalar {
  const p = s.polynomial(r, [
    0.0013814466845338245,
    0.008368780418567411,
    0.04166839421519153,
    0.1666652010773978,
    0.49999993412480775,
  ]);
  return s.fma(s.mul(r, r), p, r);
}

/** x 2^n for n from -152 to 129. The argument is {@linkcode wholeBits} of n. */
function timesPowerOfTwo(x: Scalar, whole: Scalar): Scalar {
  // 2^n as the product of two powers: 2^128 and powers below 2^-126 are not normal numbers.
  const biased = s.add(whole, 254);
  const half = s.shr(biased, 1);
  const power = (exponent: Scalar) => fromBits(s.shl(exponent, 23));
  return s.mul(s.mul(x, power(half)), power(s.sub(biased, half)));
}

const log2High = 0.693359375;
const log2Low = Math.LN2 - log2High;

/** Error at most 0.9 ulp, also below 2^-126. */
function log(x: Scalar): Scalar {
  return withLimitsOfLog(x, logOfParts(partsOf(x)));
}

/** Decomposes a positive number to 2^e (1 + f), with 1 + f between sqrt(1/2) and sqrt(2). */
interface Parts {
  readonly e: Scalar;
  readonly f: Scalar;
}

/** Supports numbers below 2^-126. */
function partsOf(x: Scalar): Parts {
  const isSubnormal = s.lt(bits(x), 0x00800000);
  // Numbers below 2^-126 are multiplied by 2^149, which gives their significand.
  const normal = s.select(isSubnormal, bits(s.convert(bits(x), "float32")), bits(x));
  const exponent = exponentBits(normal);
  const e = s.convert(s.shr(exponent, 23), "float32");
  return {
    e: s.select(isSubnormal, s.sub(e, 149), e),
    f: s.sub(fromBits(s.sub(normal, exponent)), 1),
  };
}

/** Error at most 1.4 ulp. */
function log1p(x: Scalar): Scalar {
  // 1 + x = 2^e (1 + f), so f = 2^-e x + (2^-e - 1), without cancellation. 4 * 2^-e is a normal number for
  // every e.
  const sum = s.add(x, 1);
  const exponent = exponentBits(bits(sum));
  const scale = fromBits(s.sub(s.constant(0x40800000, "int32"), exponent));
  const f = s.add(fromBits(s.sub(bits(x), exponent)), s.fma(scale, 0.25, -1));
  const e = s.convert(s.shr(exponent, 23), "float32");
  return withLimitsOfLog(sum, logOfParts({ e, f }));
}

/** The bits of the exponent for which the significand is between sqrt(1/2) and sqrt(2). */
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

/** `result`, or the logarithm of zero, infinity, NaN and negative numbers. */
function withLimitsOfLog(x: Scalar, result: Scalar): Scalar {
  const isPositive = s.lt(s.sub(s.bitcast(x, "uint32"), 1), infinityBits - 1);
  const isZero = s.eq(s.shl(bits(x), 1), 0);
  const limit = s.select(isZero, float(-Infinity), float(NaN));
  return s.select(isPositive, result, s.select(s.gt(bits(x), 0), x, limit));
}

/**
 * Error at most 1.5 ulp for |x| up to 10, 2.3 ulp up to 1e4, and 1.2e-7 up to 2e7. For larger |x|, where
 * neighbouring floats differ by 2 or more, the result is in [-1, 1].
 */
function sin(x: Scalar): Scalar {
  return sinOfQuadrants(x, 0);
}

/** Cosine, with the accuracy of {@linkcode sin}. */
function cos(x: Scalar): Scalar {
  return sinOfQuadrants(x, 1);
}

/**
 * pi / 2 as a sum of parts with eleven bits, whose products with numbers of up to thirteen bits are exact,
 * and a rest.
 */
const halfPi = [1.5703125, 0.0004837512969970703, 7.549533620476723e-8, 2.563344151594519e-12];

/**
 * 113 turns (226 pi) as a sum of parts with nine bits, whose products with numbers of up to fifteen bits are exact,
 * and a rest.
 */
const turns = [710, -6.031990051269531e-5, 3.11937845878699e-8];

/** sin(x + quadrants pi / 2). */
function sinOfQuadrants(x: Scalar, quadrants: number): Scalar {
  // x = m * 113 turns + n pi / 2 + r. 113 turns are so close to 710 that the remainder of x is exact, and n
  // is below 2^8.
  const many = s.round(s.mul(x, 1 / (226 * Math.PI)));
  const near = s.fma(many, -turns[0], x);
  const n = s.round(s.fma(many, -turns[1] * 2 / Math.PI, s.mul(near, 2 / Math.PI)));
  const whole = wholeBits(n);
  const take = (rest: Scalar, count: Scalar, part: number) => s.fma(count, -part, s.opaque(rest, whole));
  // The largest parts are subtracted first. Only the smallest parts and their difference are rounded.
  const coarse = take(take(take(near, n, halfPi[0]), many, turns[1]), n, halfPi[1]);
  const fine = s.fma(n, halfPi[2], s.mul(many, turns[2]));
  const remainder = take(s.sub(s.opaque(coarse, whole), fine), n, halfPi[3]);
  // For larger |x| the remainder is arbitrary, so it is limited.
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

/** Error at most 3.5 ulp; with fused multiply-add at most 2.6 ulp and 1 ulp on average. */
function tanh(any: Scalar): Scalar {
  // For larger |x| the result is 1, as a quotient of two equal numbers.
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

/** Error at most 3.5 ulp. */
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

/**
 * 2 u / (1 + u^2) for u = numerator / denominator. Near u = 1 an error of u has almost no effect, and the
 * result is at most 1.
 */
function doubleAngle(numerator: Scalar, denominator: Scalar): Scalar {
  const product = s.mul(numerator, denominator);
  const squares = s.fma(denominator, denominator, s.mul(numerator, numerator));
  return s.div(s.add(product, product), squares);
}

/**
 * factor times the probability that a standard normal number is above t, for t >= 0. Error at most 3 ulp, for tiny probabilities
 * too: the probability is exp(-t^2 / 2) times a smooth function, and t^2 is the sum of two numbers.
 */
function normalTail(any: Scalar, factor: Scalar): Scalar {
  // For larger t the result is zero, also times t.
  const t = s.min(any, 14.5);
  const high = leadingBits(t);
  const { whole, r } = reducedExponent(s.mul(s.mul(high, high), -0.5));
  const rest = s.mul(s.mul(s.sub(t, high), s.add(t, high)), -0.5);
  // (1 + 0.8 t) exp(t^2 / 2) times the probability, which is between 0.35 and 0.51.
  //  -27.797985147557004
  const v = s.div(s.sub(t, 4.0), s.add(t, 4.0));
  const ratio = s.polynomial(v, [
    -5.772684977777454e-05,
    -6.383667086945117e-05,
    0.0005181949482306278,
    -0.00011061142675561761,
    -0.003901053828885204,
    0.01265265073453172,
    -0.019585181004933283,
    0.008538599685348544,
    0.03607555445713692,
    -0.11144232031758018,
    0.3965246934414506,
  ]);
  const scaled = s.div(s.mul(factor, ratio), s.fma(t, 0.8, 1));
  return timesPowerOfTwo(s.fma(scaled, growth(s.add(r, rest)), scaled), whole);
}

/** The number without its twelve low bits. Products of two such numbers are exact. */
function leadingBits(x: Scalar): Scalar {
  return fromBits(s.and(bits(x), ~0xfff));
}

/** The largest integer exponent of a base other than a power of two whose power fits 24 bits: 3^15. */
const largestWholeExponent = 15;

/**
 * C's `pow`. Exact for integer exponents if the result is representable: for powers of two, or by repeated
 * multiplication. Otherwise the error is at most 2 ulp.
 */
function pow(x: Scalar, p: Scalar): Scalar {
  const size = s.abs(x);
  const isWhole = s.eq(s.floor(p), p);
  const isLimit = s.and(s.or(s.eq(size, 0), s.eq(size, Infinity)), s.not(s.isNaN(p)));
  const limit = s.select(s.eq(s.gt(p, 0), s.gt(size, 1)), float(Infinity), float(0));
  const magnitude = s.select(isLimit, limit, powerOfSize(size, p));
  const ofUnit = s.select(s.eq(size, 1), 1, magnitude);
  const half = s.mul(p, 0.5);
  const isOdd = s.and(isWhole, s.not(s.eq(s.floor(half), half)));
  const signed = s.select(s.and(isOdd, s.lt(bits(x), 0)), s.neg(ofUnit), ofUnit);
  const isNegative = s.and(s.lt(x, 0), s.lt(bits(x), negativeInfinityBits));
  const isInvalid = s.or(s.isNaN(x), s.and(isNegative, s.not(isWhole)));
  const general = s.select(isInvalid, NaN, signed);
  // Fourth and higher powers are only representable if the base has at most six bits.
  const isExact = s.or(s.le(p, 3), s.eq(s.and(bits(x), 0x3ffff), 0));
  const isSmall = s.and(s.and(isWhole, isExact), s.and(s.ge(p, 0), s.le(p, largestWholeExponent)));
  const small = s.convert(s.min(s.max(p, 0), largestWholeExponent), "int32");
  return s.select(isSmall, s.wholePower(x, small, 4), general);
}

/** 2 / (3 log 2) as a number with twelve bits and a rest. */
const scaleHigh = 0.9619140625;
const scaleLow = 2 / (3 * Math.LN2) - scaleHigh;

/**
 * x^p = 2^(p log2 x) for positive x, as `powf` of FreeBSD: the logarithm and the product are sums of two numbers, since the
 * product can be 128 times as large as its error may be. The first number has twelve bits.
 */
function powerOfSize(x: Scalar, anyPower: Scalar): Scalar {
  // For larger powers the result is zero or infinity, unless x is 1.
  const p = s.min(s.max(anyPower, -(2 ** 40)), 2 ** 40);
  const { e, f } = partsOf(x);
  const key = wholeBits(e);
  // ratio = f / (2 + f) = high + low, so log(1 + f) = 2 atanh(ratio).
  const sum = s.add(f, 2);
  const inverse = s.div(float(1), sum);
  const ratio = s.mul(f, inverse);
  const high = leadingBits(ratio);
  const sumHigh = leadingBits(sum);
  const sumLow = s.sub(f, s.opaque(s.sub(sumHigh, 2), key));
  const remainder = s.sub(s.opaque(s.sub(f, s.mul(high, sumHigh)), key), s.mul(high, sumLow));
  const low = s.mul(inverse, remainder);
  // 3 atanh(ratio) / ratio = 3 + ratio^2 + tail = seriesHigh + seriesLow.
  const square = s.mul(ratio, ratio);
  const polynomial = s.polynomial(square, [0.34572781648561807, 0.42843344792901844, 0.6000002260649142]);
  const tail = s.fma(s.mul(square, square), polynomial, s.mul(low, s.add(high, ratio)));
  const squareHigh = s.mul(high, high);
  const seriesHigh = leadingBits(s.add(s.add(squareHigh, 3), tail));
  const seriesLow = s.sub(tail, s.sub(s.opaque(s.sub(seriesHigh, 3), key), squareHigh));
  // 3 atanh(ratio) = product + rest, then times 2 / (3 log 2).
  const product = s.mul(high, seriesHigh);
  const rest = s.fma(low, seriesHigh, s.mul(seriesLow, ratio));
  const thirds = leadingBits(s.add(product, rest));
  const thirdsLow = s.sub(rest, s.opaque(s.sub(thirds, product), key));
  const scaled = s.mul(thirds, scaleHigh);
  const scaledLow = s.fma(thirds, scaleLow, s.mul(thirdsLow, scaleHigh + scaleLow));
  // log2 x = logHigh + logLow.
  const logHigh = leadingBits(s.add(s.add(scaled, scaledLow), e));
  const logLow = s.sub(scaledLow, s.sub(s.opaque(s.sub(logHigh, e), key), scaled));
  const pHigh = leadingBits(p);
  const large = s.mul(pHigh, logHigh);
  const small = s.fma(s.sub(p, pHigh), logHigh, s.mul(p, logLow));
  const n = s.min(s.max(s.round(s.add(large, small)), -152), 129);
  // Where n is limited, the fraction is arbitrary.
  const fraction = s.min(s.max(s.add(s.opaque(s.sub(large, n), key), small), -0.6), 0.6);
  return timesPowerOfTwo(s.add(growth(s.mul(fraction, Math.LN2)), 1), wholeBits(n));
}
