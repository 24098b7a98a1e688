/**
 * Exponential and logarithm from additions, multiplications and divisions, so that predictions have the same
 * digits in every program: `Math.exp` and `Math.log` of Deno, Node and Chromium differ in the last digit.
 */

/** ln 2: a number of 32 bits, whose products with exponents are exact, and the rest. */
const ln2 = { high: 0.6931471803691238, low: 1.9082149292705877e-10 };

/** A number and its two words. The second word has the exponent. */
const float = new Float64Array(1);
const words = new Uint32Array(float.buffer);

/** e to the power of a number. The relative error is below 1e-15. */
export function exp(x: number): number {
  if (!(Math.abs(x) < 750)) return x > 0 ? Infinity : x < 0 ? 0 : x;
  const exponent = Math.round(x / Math.LN2);
  const rest = x - exponent * ln2.high - exponent * ln2.low;
  let sum = 1;
  // The Taylor series of e^rest, whose terms beyond are below 1e-17: |rest| is at most ln(2) / 2.
  for (let n = 13; n > 0; n--) sum = 1 + sum * rest / n;
  const half = exponent >> 1;
  return sum * 2 ** half * 2 ** (exponent - half);
}

/** Natural logarithm. The error is below 1e-15, relative to the result or to 1. */
export function log(x: number): number {
  if (!(x > 0 && x < Infinity)) return x === 0 ? -Infinity : x === Infinity ? x : NaN;
  if (x < 2 ** -1022) return log(x * 2 ** 54) - 54 * Math.LN2;
  float[0] = x;
  const exponent = (words[1] >>> 20) - 1023;
  const mantissa = x / 2 ** exponent;
  // From sqrt(1/2) to sqrt(2), so that numbers near 1 have the exponent 0.
  const [shift, near] = mantissa > Math.SQRT2 ? [1, mantissa / 2] : [0, mantissa];
  const ratio = (near - 1) / (near + 1);
  const square = ratio * ratio;
  // ln(near) = 2 atanh(ratio). The terms beyond are below 1e-17.
  let sum = 0;
  for (let n = 21; n > 1; n -= 2) sum = (sum + 1 / n) * square;
  const power = exponent + shift;
  return power * ln2.high + (2 * ratio * (1 + sum) + power * ln2.low);
}

/** Inverse hyperbolic sine. The error is below 4e-15, relative to the result or to 1. */
export function asinh(x: number): number {
  const size = Math.abs(x);
  // The square of a huge number would overflow.
  const result = size < 2 ** 500 ? log(size + Math.sqrt(size * size + 1)) : log(size) + Math.LN2;
  return x < 0 ? -result : result;
}
