/**
 * Ridge regression of several outputs on inputs `(rows, inputs)`, from the moments X'X and X'Y in float64, and
 * further inputs that differ from output to output but share their coefficients.
 *
 * Output h of a row is `x W_h + z_h a`. For fixed `a`, all outputs share the matrix X'X. Eliminating W leaves a
 * small system for `a`, with the Schur complement of X'X.
 */

/** Sizes of a regression. */
interface RegressionSizes {
  /** Number of inputs, including one that is 1 for the bias. It is the last, and it has no penalty. */
  readonly inputs: number;
  readonly outputs: number;
  /** Number of coefficients that the outputs share. */
  readonly shared: number;
}

/** Sums of products over the rows of a data set. */
export interface Moments extends RegressionSizes {
  rows: number;
  /** X'X; the upper triangle is valid. Shape (inputs, inputs). */
  readonly xx: Float64Array;
  /** Y'X. Shape (outputs, inputs). */
  readonly yx: Float64Array;
  /** Sum of the squares of all outputs. */
  yy: number;
  /** Z'X. Shape (outputs, shared, inputs). */
  readonly zx: Float64Array;
  /** Z'Z, summed over the outputs. Shape (shared, shared). */
  readonly zz: Float64Array;
  /** Z'Y, summed over the outputs. Shape (shared). */
  readonly zy: Float64Array;
}

/** Row of a data set. */
export interface RegressionRow {
  /** Shape (inputs). */
  readonly x: Float64Array;
  /** Shape (outputs). */
  readonly y: Float64Array;
  /** Shape (outputs, covariates). */
  readonly z: Float64Array;
  /** First of the shared coefficients of the row. */
  readonly at: number;
}

/** Coefficients of a regression. */
export interface Coefficients {
  /** Shape (outputs, inputs). */
  readonly weight: Float64Array;
  /** Shape (shared). */
  readonly shared: Float64Array;
}

/** Moments without rows. */
export function emptyMoments({ inputs, outputs, shared }: RegressionSizes): Moments {
  return {
    ...{ inputs, outputs, shared, rows: 0, yy: 0 },
    xx: new Float64Array(inputs * inputs),
    yx: new Float64Array(outputs * inputs),
    zx: new Float64Array(outputs * shared * inputs),
    zz: new Float64Array(shared * shared),
    zy: new Float64Array(shared),
  };
}

/** Adds rows to moments, in place. */
export function addRows(moments: Moments, rows: readonly RegressionRow[]): void {
  const { inputs, outputs, shared, xx, yx, zx, zz, zy } = moments;
  for (let start = 0; start < rows.length; start += 4) addProducts(xx, rows.slice(start, start + 4), inputs);
  for (const { x, y, z, at } of rows) {
    moments.rows++;
    const covariates = z.length / outputs;
    for (let h = 0; h < outputs; h++) {
      moments.yy += y[h] ** 2;
      addScaled(yx, h * inputs, y[h], x);
      for (let k = 0; k < covariates; k++) {
        const value = z[h * covariates + k];
        if (value === 0) continue;
        addScaled(zx, (h * shared + at + k) * inputs, value, x);
        zy[at + k] += value * y[h];
        for (let l = 0; l < covariates; l++) zz[(at + k) * shared + at + l] += value * z[h * covariates + l];
      }
    }
  }
}

/** Adds the products of the inputs of up to four rows to the upper triangle of X'X. */
function addProducts(xx: Float64Array, rows: readonly RegressionRow[], inputs: number): void {
  const none = new Float64Array(inputs);
  const [a, b, c, d] = Array.from({ length: 4 }, (_, i) => rows[i]?.x ?? none);
  for (let i = 0; i < inputs; i++) {
    const [ai, bi, ci, di] = [a[i], b[i], c[i], d[i]];
    const row = i * inputs;
    for (let j = i; j < inputs; j++) xx[row + j] += ai * a[j] + bi * b[j] + ci * c[j] + di * d[j];
  }
}

function addScaled(sums: Float64Array, start: number, factor: number, x: Float64Array): void {
  for (let i = 0; i < x.length; i++) sums[start + i] += factor * x[i];
}

/**
 * Coefficients with the smallest sum of squared errors plus penalty.
 *
 * @param penalty Factor of the squared coefficients, as a fraction of the number of rows, above 0. The bias has
 * a vanishing penalty.
 */
export function solveRidge(
  { inputs, outputs, shared, rows, xx, yx, zx, zz, zy }: Moments,
  penalty: number,
): Coefficients {
  const factor = cholesky(
    xx.map((value, at) => {
      const [row, column] = [Math.floor(at / inputs), at % inputs];
      if (row !== column) return value;
      return value + rows * (row === inputs - 1 ? 1e-9 : penalty);
    }),
    inputs,
  );
  const weight = yx.slice();
  for (let h = 0; h < outputs; h++) {
    solveInPlace(factor, inputs, weight.subarray(h * inputs, (h + 1) * inputs));
  }
  if (shared === 0) return { weight, shared: new Float64Array(0) };
  const solved = zx.slice();
  for (let i = 0; i < outputs * shared; i++) {
    solveInPlace(factor, inputs, solved.subarray(i * inputs, (i + 1) * inputs));
  }
  const [matrix, right] = [zz.slice(), zy.slice()];
  for (let h = 0; h < outputs; h++) {
    for (let k = 0; k < shared; k++) {
      const crossProducts = zx.subarray((h * shared + k) * inputs, (h * shared + k + 1) * inputs);
      right[k] -= dot(crossProducts, weight, h * inputs);
      for (let l = k; l < shared; l++) {
        matrix[k * shared + l] -= dot(crossProducts, solved, (h * shared + l) * inputs);
      }
    }
  }
  for (let k = 0; k < shared; k++) matrix[k * shared + k] += rows * outputs * penalty;
  solveInPlace(cholesky(matrix, shared), shared, right);
  for (let h = 0; h < outputs; h++) {
    for (let k = 0; k < shared; k++) {
      const solution = solved.subarray((h * shared + k) * inputs, (h * shared + k + 1) * inputs);
      addScaled(weight, h * inputs, -right[k], solution);
    }
  }
  return { weight, shared: right };
}

/** Sum of squared errors of coefficients on the rows of moments. */
export function squaredErrors(
  { inputs, outputs, shared, xx, yx, yy, zx, zz, zy }: Moments,
  { weight, shared: coefficients }: Coefficients,
): number {
  let sum = yy - 2 * dot(yx, weight) - 2 * dot(zy, coefficients);
  for (let h = 0; h < outputs; h++) {
    const outputWeight = weight.subarray(h * inputs, (h + 1) * inputs);
    for (let i = 0; i < inputs; i++) {
      let product = xx[i * inputs + i] * outputWeight[i];
      for (let j = i + 1; j < inputs; j++) product += 2 * xx[i * inputs + j] * outputWeight[j];
      sum += outputWeight[i] * product;
    }
    for (let k = 0; k < shared; k++) {
      sum += 2 * coefficients[k] * dot(outputWeight, zx, (h * shared + k) * inputs);
    }
  }
  for (let k = 0; k < shared; k++) sum += coefficients[k] * dot(coefficients, zz, k * shared);
  return sum;
}

/** Sum of products of `a` and the elements of `b` from `start` on. */
function dot(a: Float64Array, b: Float64Array, start = 0): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[start + i];
  return sum;
}

/**
 * Upper Cholesky factor R of a symmetric positive definite matrix R'R. Reads only the upper triangle.
 *
 * @throws {RangeError} If the matrix is not positive definite.
 */
export function cholesky(matrix: Float64Array, size: number): Float64Array {
  for (let k = 0; k < size; k++) {
    const row = k * size;
    const pivot = Math.sqrt(matrix[row + k]);
    if (!(pivot > 0)) throw new RangeError("cholesky: the matrix is not positive definite");
    for (let j = k; j < size; j++) matrix[row + j] /= pivot;
    for (let i = k + 1; i < size; i++) {
      const factor = matrix[row + i];
      if (factor === 0) continue;
      const target = i * size;
      for (let j = i; j < size; j++) matrix[target + j] -= factor * matrix[row + j];
    }
  }
  return matrix;
}

/** Solves R'R x = b in place. */
export function solveInPlace(factor: Float64Array, size: number, b: Float64Array): void {
  for (let i = 0; i < size; i++) {
    const value = b[i] /= factor[i * size + i];
    for (let j = i + 1; j < size; j++) b[j] -= factor[i * size + j] * value;
  }
  for (let i = size - 1; i >= 0; i--) {
    let value = b[i];
    for (let j = i + 1; j < size; j++) value -= factor[i * size + j] * b[j];
    b[i] = value / factor[i * size + i];
  }
}
