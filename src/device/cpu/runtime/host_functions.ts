/**
 * An exported function that does one task of a job. `word` is the address of the descriptor divided by four.
 */
export type Task = (task: number, word: number) => void;

/**
 * Functions that kernels import. Worker threads receive the source of this function, so it must not refer to
 * outer names.
 */
export function hostFunctions(): Record<string, (x: number, p: number) => number> {
  const { exp, log, log1p, sin, cos, tanh } = Math;
  /** The error function: its Maclaurin series times exp(-x^2), with positive terms only. */
  function erf(x: number): number {
    const a = Math.abs(x);
    if (!(a < 6)) return a >= 6 ? Math.sign(x) : x;
    let term = a, sum = a;
    for (let n = 1; n < 200 && term > sum * 1e-17; n++) sum += term *= 2 * a * a / (2 * n + 1);
    return Math.sign(x) * 2 / Math.sqrt(Math.PI) * Math.exp(-a * a) * sum;
  }
  /** C's `pow`. Where `Math.pow` returns NaN: 1 to any power is 1, and -1 to an infinite power is 1. */
  function pow(x: number, p: number): number {
    return x === 1 || x === -1 && Math.abs(p) === Infinity ? 1 : Math.pow(x, p);
  }
  /** factor times the probability that a standard normal number is above t, for t >= 0. */
  function normalTail(t: number, factor: number): number {
    if (t < 2) return factor * (1 - erf(t * Math.SQRT1_2)) / 2;
    const near = Math.min(t, 40);
    const x = near * Math.SQRT1_2;
    // erfc x = exp(-x^2) / sqrt(pi) / (x + 1/2 / (x + 1 / (x + 3/2 / ...))).
    let fraction = 0;
    for (let n = Math.ceil(10 + 220 / (x * x)); n > 0; n--) fraction = n / 2 / (x + fraction);
    // The square of a float32 number is exact.
    const high = Math.fround(near);
    const power = Math.exp(-high * high / 2) * Math.exp(-(near - high) * (near + high) / 2);
    return factor * power / (2 * Math.sqrt(Math.PI) * (x + fraction));
  }
  return { exp, log, log1p, sin, cos, tanh, erf, pow, normalTail };
}
