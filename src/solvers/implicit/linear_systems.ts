/** Batches of small dense linear systems, in float64 on the host. */

/** LU factors of matrices `(count, n, n)` with row exchanges. */
export interface Factors {
  readonly n: number;
  /** L below the diagonal (its diagonal is 1), and U. */
  readonly values: Float64Array;
  /** The row that was exchanged with row k in step k of the elimination, `(count, n)`. */
  readonly pivots: Int32Array;
}

/**
 * Factorizes matrices with partial pivoting. (Golub, Van Loan, "Matrix Computations", section 3.4.) Singular matrices give infinite or
 * NaN solutions.
 *
 * @param values `(count, n, n)`, row-major. They are overwritten.
 */
export function factorize(values: Float64Array, n: number): Factors {
  const pivots = new Int32Array(values.length / n);
  for (let base = 0, first = 0; base < values.length; base += n * n, first += n) {
    for (let k = 0; k < n; k++) {
      let pivot = k;
      for (let i = k + 1; i < n; i++) {
        if (Math.abs(values[base + i * n + k]) > Math.abs(values[base + pivot * n + k])) pivot = i;
      }
      pivots[first + k] = pivot;
      for (let j = 0; j < n && pivot !== k; j++) {
        const [a, b] = [base + k * n + j, base + pivot * n + j];
        [values[a], values[b]] = [values[b], values[a]];
      }
      for (let i = k + 1; i < n; i++) {
        const factor = values[base + i * n + k] /= values[base + k * n + k];
        for (let j = k + 1; j < n; j++) values[base + i * n + j] -= factor * values[base + k * n + j];
      }
    }
  }
  return { n, values, pivots };
}

/** Solves for right-hand sides `(count, n)`, which are overwritten by the solutions. */
export function solveFactorized({ n, values, pivots }: Factors, rhs: Float64Array): Float64Array {
  for (let first = 0, base = 0; first < rhs.length; first += n, base += n * n) {
    for (let k = 0; k < n; k++) {
      const pivot = pivots[first + k];
      [rhs[first + k], rhs[first + pivot]] = [rhs[first + pivot], rhs[first + k]];
    }
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < i; j++) rhs[first + i] -= values[base + i * n + j] * rhs[first + j];
    }
    for (let i = n - 1; i >= 0; i--) {
      for (let j = i + 1; j < n; j++) rhs[first + i] -= values[base + i * n + j] * rhs[first + j];
      rhs[first + i] /= values[base + i * n + i];
    }
  }
  return rhs;
}

/** The inverses of the matrices, `(count, n, n)`. */
export function invertFactorized(factors: Factors): Float64Array {
  const { n, values } = factors;
  const inverses = new Float64Array(values.length);
  for (let column = 0; column < n; column++) {
    const unit = Float64Array.from({ length: values.length / n }, (_, i) => i % n === column ? 1 : 0);
    solveFactorized(factors, unit).forEach((value, i) => inverses[i * n + column] = value);
  }
  return inverses;
}
