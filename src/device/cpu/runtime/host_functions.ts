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
  return { exp, log, log1p, sin, cos, tanh, erf, pow };
}
