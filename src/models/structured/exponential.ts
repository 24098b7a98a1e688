import { eye } from "../../tensor/creation.ts";
import type { Tensor } from "../../tensor/tensor.ts";

/** Number of squarings: the Taylor polynomial is that of the matrix divided by 2^squarings. */
const squarings = 4;

/** Coefficients 1 / k! of the Taylor polynomial, k = 0 ... 12. */
const coefficients = Array.from({ length: 13 }, (_, k) => {
  let factorial = 1;
  for (let i = 2; i <= k; i++) factorial *= i;
  return 1 / factorial;
});

/**
 * The exponential of matrices `(..., n, n)`, by scaling and squaring of the Taylor polynomial of degree 12.
 * Exact to rounding for norms up to 8. For a norm of 16, the relative error is about 1e-8.
 *
 * Squaring exp(A) - 1 in place of exp(A), with E <- 2 E + E^2, keeps all digits of small matrices.
 *
 * (Higham, "Functions of Matrices", 2008, chapter 10; the polynomial is evaluated as by Paterson and
 * Stockmeyer, in five products.)
 */
export function matrixExponential(a: Tensor): Tensor {
  if (a.shape.at(-1) === 1) return a.exp();
  const one = eye(a.shape.at(-1)!, { dtype: a.dtype });
  const x = a.mul(2 ** -squarings);
  const x2 = x.matmul(x);
  const powers = [x, x2, x.matmul(x2), x2.matmul(x2)];
  /** The terms of the powers `from` to `from + 3` of x, divided by x^from. */
  const terms = (from: number) =>
    powers.slice(0, 3).reduce(
      (sum, power, i) => sum.add(power.mul(coefficients[from + 1 + i])),
      one.mul(coefficients[from]),
    );
  const upper = terms(8).add(powers[3].mul(coefficients[12]));
  const middle = terms(4).add(powers[3].matmul(upper));
  let e = x.add(x2.mul(coefficients[2])).add(powers[2].mul(coefficients[3])).add(powers[3].matmul(middle));
  for (let i = 0; i < squarings; i++) e = e.mul(2).add(e.matmul(e));
  return e.add(one);
}
