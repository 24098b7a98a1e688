/** Symmetric matrices as Q T Q^T with a tridiagonal T, to solve with T plus multiples of the identity. */

/** A symmetric matrix A = Q T Q^T of order n. */
export interface Tridiagonal {
  /** Orthogonal matrix Q `(n, n)`, row-major. */
  readonly q: Float64Array;
  /** Diagonal of T `(n)`. */
  readonly diagonal: Float64Array;
  /** Elements of T below its diagonal `(n)`: element i is in row i and column i - 1. Element 0 is 0. */
  readonly below: Float64Array;
}

/**
 * Reduces a symmetric matrix to a tridiagonal one by Householder reflections (Golub and Van Loan, "Matrix
 * Computations", 4th edition, algorithm 8.3.1). About 8/3 n^3 operations.
 *
 * @param a Symmetric matrix `(n, n)`, row-major. It is overwritten.
 */
export function tridiagonal(a: Float64Array, n: number): Tridiagonal {
  const [diagonal, below] = [new Float64Array(n), new Float64Array(n)];
  const q = new Float64Array(n * n);
  const factors = new Float64Array(n);
  const p = new Float64Array(n);
  // Reflection k maps the elements of row k before column k to a multiple of the last one. Its vector
  // replaces them. Only the lower triangle is used.
  for (let k = n - 1; k > 0; k--) {
    const row = a.subarray(k * n, k * n + k);
    let scale = 0;
    for (let i = 0; i < k; i++) scale = Math.max(scale, Math.abs(row[i]));
    let rest = 0;
    for (let i = 0; i < k - 1; i++) rest = Math.max(rest, Math.abs(row[i]));
    if (rest === 0) {
      below[k] = row[k - 1];
      continue;
    }
    let norm = 0;
    for (let i = 0; i < k; i++) norm += (row[i] / scale) ** 2;
    norm = scale * Math.sqrt(norm);
    const mapped = row[k - 1] > 0 ? -norm : norm;
    below[k] = mapped;
    row[k - 1] -= mapped;
    let squares = 0;
    for (let i = 0; i < k; i++) squares += row[i] * row[i];
    const factor = factors[k] = 2 / squares;
    // p = factor A v
    p.fill(0, 0, k);
    for (let i = 0; i < k; i++) {
      const aRow = a.subarray(i * n, i * n + i + 1);
      let total = 0;
      const v = row[i];
      for (let j = 0; j < i; j++) {
        total += aRow[j] * row[j];
        p[j] += aRow[j] * v;
      }
      p[i] += total + aRow[i] * v;
    }
    let inner = 0;
    for (let i = 0; i < k; i++) inner += (p[i] *= factor) * row[i];
    inner *= factor / 2;
    for (let i = 0; i < k; i++) p[i] -= inner * row[i];
    // A -= v p^T + p v^T
    for (let i = 0; i < k; i++) {
      const aRow = a.subarray(i * n, i * n + i + 1);
      const [v, w] = [row[i], p[i]];
      for (let j = 0; j <= i; j++) aRow[j] -= v * p[j] + w * row[j];
    }
  }
  for (let i = 0; i < n; i++) diagonal[i] = a[i * n + i];
  // Q is the product of the reflections: that of row k changes the leading k columns.
  for (let i = 0; i < n; i++) q[i * n + i] = 1;
  for (let k = 1; k < n; k++) {
    const factor = factors[k];
    if (factor === 0) continue;
    const v = a.subarray(k * n, k * n + k);
    // Q has the identity outside of its leading block. H Q: rows 0 to k - 1.
    p.fill(0, 0, k);
    for (let i = 0; i < k; i++) {
      const qRow = q.subarray(i * n, i * n + k);
      const weight = factor * v[i];
      for (let j = 0; j < k; j++) p[j] += weight * qRow[j];
    }
    for (let i = 0; i < k; i++) {
      const qRow = q.subarray(i * n, i * n + k);
      for (let j = 0; j < k; j++) qRow[j] -= v[i] * p[j];
    }
  }
  return { q, diagonal, below };
}

/** T + shift I as L D L^T, with a unit lower bidiagonal L. */
export interface ShiftedFactors {
  /** Diagonal of D `(n)`, positive. */
  readonly pivots: Float64Array;
  /** Elements of L below its diagonal `(n)`. Element 0 is 0. */
  readonly ratios: Float64Array;
}

/**
 * Factors T + shift I.
 *
 * @param shift Above 0, for a positive semidefinite T. A pivot that rounding errors make smaller than the
 * smallest eigenvalue is replaced by the shift.
 */
export function factorShifted({ diagonal, below }: Tridiagonal, shift: number): ShiftedFactors {
  const n = diagonal.length;
  const [pivots, ratios] = [new Float64Array(n), new Float64Array(n)];
  for (let i = 0; i < n; i++) {
    if (i > 0) ratios[i] = below[i] / pivots[i - 1];
    pivots[i] = Math.max(shift, diagonal[i] + shift - ratios[i] * below[i]);
  }
  return { pivots, ratios };
}

/** Solves (T + shift I) x = b in place. */
export function solveShifted({ pivots, ratios }: ShiftedFactors, b: Float64Array): void {
  const n = b.length;
  for (let i = 1; i < n; i++) b[i] -= ratios[i] * b[i - 1];
  for (let i = 0; i < n; i++) b[i] /= pivots[i];
  for (let i = n - 2; i >= 0; i--) b[i] -= ratios[i + 1] * b[i + 1];
}

/** Computes b^T (T + shift I)^-1 b. @param at Position of b in `values`. */
export function quadraticForm({ pivots, ratios }: ShiftedFactors, values: Float64Array, at: number): number {
  let [total, previous] = [0, 0];
  for (let i = 0; i < pivots.length; i++) {
    previous = values[at + i] - ratios[i] * previous;
    total += previous * previous / pivots[i];
  }
  return total;
}
