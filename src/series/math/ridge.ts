/**
 * Ridge regression with several targets, whose penalty has the smallest leave-one-out error: Golub, Heath and
 * Wahba, "Generalized Cross-Validation as a Method for Choosing a Good Ridge Parameter" (1979). In float64.
 */
import {
  factorShifted,
  quadraticForm,
  type ShiftedFactors,
  solveShifted,
  type Tridiagonal,
  tridiagonal,
} from "./tridiagonal.ts";

/** Samples of a ridge regression. */
interface RidgeSamples {
  /** Features of each sample, at least one sample. */
  readonly features: readonly Float32Array[];
  /** Factor of each feature, such as its inverse standard deviation; 0 leaves the feature out. */
  readonly scale: Float64Array;
  /** Targets `(samples, targets)`, row-major. */
  readonly targets: Float64Array;
}

/** Fitted ridge regression: prediction = bias + sum over f of weight(f) scale(f) (feature(f) - mean(f)). */
interface RidgeFit {
  /** Means of the features. */
  readonly mean: Float64Array;
  /** Weights `(features, targets)`, row-major. */
  readonly weight: Float64Array;
  /** Biases `(targets)`: the means of the targets. */
  readonly bias: Float64Array;
  /** The chosen penalty, per feature: the sum of squared weights is multiplied by penalty times features. */
  readonly penalty: number;
  /** Sum of the squared leave-one-out residuals. */
  readonly error: number;
  /**
   * Prediction of each sample by the fit to the other samples with the same penalty `(samples, targets)`.
   */
  readonly leftOut: Float64Array;
}

/** Penalties per feature. */
export const penalties: readonly number[] = Array.from({ length: 10 }, (_, i) => 10 ** (i - 6));

/** Number of features or samples of a block in float64, so that memory stays small. */
const blockSize = 256;

/**
 * Fits a ridge regression. All targets share a penalty.
 *
 * @param choices Penalties to choose from, each above 0.
 */
export function fitRidge(
  { scale, ...samples }: RidgeSamples,
  choices: readonly number[] = penalties,
): RidgeFit {
  return fitRidges({ ...samples, scales: [scale] }, choices)[0];
}

/**
 * Fits a ridge regression for each of some lists of scales. Products of features with equal scales are computed once.
 *
 * With n samples and m features, the system of order min(n, m) is that of the samples, (K + lambda I) a = y
 * with K = Z Z^T, or that of the features, (Z^T Z + lambda I) w = Z^T y. It is reduced to a tridiagonal matrix
 * once, and not decomposed into eigenvectors: each penalty then takes n min(n, m) operations, for all
 * leave-one-out residuals r(i) = (y - H y)(i) / (1 - H(i, i)). H includes the bias, which has no penalty.
 *
 * @param choices Penalties to choose from, each above 0.
 */
export function fitRidges(
  { features, scales, targets }: Omit<RidgeSamples, "scale"> & { readonly scales: readonly Float64Array[] },
  choices: readonly number[] = penalties,
): RidgeFit[] {
  const [n, m] = [features.length, features[0].length];
  const k = targets.length / n;
  const bias = new Float64Array(k);
  targets.forEach((y, i) => bias[i % k] += y / n);
  const centred = targets.map((y, i) => y - bias[i % k]);
  const mean = featureMeans(features);
  const kernels = n <= m ? kernelsOf(features, mean, scales) : undefined;
  return scales.map((scale, s) => {
    const system = kernels
      ? sampleSystem(kernels[s], features, { mean, scale }, centred, k)
      : featureSystem(features, { mean, scale }, centred, k);
    let best: { error: number; penalty: number; residuals: Float64Array } = {
      error: Infinity,
      penalty: choices[0],
      residuals: centred,
    };
    system.residuals(choices.map((penalty) => penalty * m)).forEach((residuals, i) => {
      const error = residuals.reduce((sum, r) => sum + r * r, 0);
      // With equal errors, as of constant features, the larger penalty gives the simpler model.
      if (error <= best.error) best = { error, penalty: choices[i], residuals };
    });
    const { error, penalty, residuals } = best;
    return {
      mean,
      weight: system.weights(penalty * m),
      bias,
      penalty,
      error,
      leftOut: targets.map((y, i) => y - residuals[i]),
    };
  });
}

/** Means of the features. */
export function featureMeans(features: readonly Float32Array[]): Float64Array {
  const mean = new Float64Array(features[0].length);
  for (const row of features) for (let f = 0; f < mean.length; f++) mean[f] += row[f] / features.length;
  return mean;
}

/** Largest standard deviation of a feature that is a rounding error of float32, as a fraction of its magnitude. */
const roundingShare = 1e-6;

/**
 * Inverse standard deviations of features; 0 for a feature that is constant up to rounding, which would otherwise
 * be amplified without bound.
 *
 * @param magnitudesOf Magnitudes of the numbers that the features are computed from, from the means of the features.
 */
export function inverseDeviations(
  features: readonly Float32Array[],
  magnitudesOf = (mean: Float64Array) => mean.map(Math.abs),
): Float64Array {
  const mean = featureMeans(features);
  const magnitudes = magnitudesOf(mean);
  const scale = new Float64Array(mean.length);
  for (const row of features) {
    for (let f = 0; f < mean.length; f++) scale[f] += (row[f] - mean[f]) ** 2 / features.length;
  }
  return scale.map((square, f) =>
    Math.sqrt(square) > roundingShare * magnitudes[f] ? 1 / Math.sqrt(square) : 0
  );
}

/** Centres and scales of features. */
interface FeatureScales {
  readonly mean: Float64Array;
  readonly scale: Float64Array;
}

/** The linear system of a ridge regression. */
interface RidgeSystem {
  /** Leave-one-out residuals `(samples, targets)` for each lambda. */
  residuals(lambdas: readonly number[]): Float64Array[];
  /** Weights `(features, targets)`. */
  weights(lambda: number): Float64Array;
}

/** Products K of all pairs of standardised samples, for each list of scales. */
function kernelsOf(
  features: readonly Float32Array[],
  mean: Float64Array,
  scales: readonly Float64Array[],
): Float64Array[] {
  const n = features.length;
  const shared = new Float64Array(n * n);
  const own = scales.map(() => new Float64Array(n * n));
  forEachBlock(features, (from, size, standardised) => {
    const end = from + size;
    const isShared = scales.every((scale) =>
      scale.subarray(from, end).every((one, f) => one === scales[0][from + f])
    );
    if (isShared) addGram(standardised({ mean, scale: scales[0] }), n, size, shared);
    else scales.forEach((scale, s) => addGram(standardised({ mean, scale }), n, size, own[s]));
  });
  return own.map((kernel) => kernel.map((one, i) => one + shared[i]));
}

/** Visits blocks of the features, with a function that standardises a block of all samples. */
function forEachBlock(
  features: readonly Float32Array[],
  visit: (from: number, size: number, standardised: (scales: FeatureScales) => Float64Array) => void,
): void {
  const [n, m] = [features.length, features[0].length];
  const block = new Float64Array(n * blockSize);
  for (let from = 0; from < m; from += blockSize) {
    const size = Math.min(blockSize, m - from);
    visit(from, size, (scales) => {
      features.forEach((row, i) => standardise(row, scales, from, size, block, i * size));
      return block;
    });
  }
}

/**
 * System of the samples: with G = (K + lambda I)^-1, the residuals are lambda G y, and
 * 1 - H(i, i) = lambda G(i, i) - 1 / n.
 */
function sampleSystem(
  kernel: Float64Array,
  features: readonly Float32Array[],
  scales: FeatureScales,
  y: Float64Array,
  k: number,
): RidgeSystem {
  const [n, m] = [features.length, features[0].length];
  const reduced = tridiagonal(kernel, n);
  const solve = solver(reduced, y, k);
  return {
    residuals: (lambdas) =>
      lambdas.map((lambda) => {
        const factors = factorShifted(reduced, lambda);
        const residuals = solve(factors);
        for (let i = 0; i < n; i++) {
          const left = lambda * quadraticForm(factors, reduced.q, i * n) - 1 / n;
          for (let c = 0; c < k; c++) residuals[i * k + c] *= lambda / Math.max(left, tiny);
        }
        return residuals;
      }),
    weights(lambda) {
      const dual = solve(factorShifted(reduced, lambda));
      const weights = new Float64Array(m * k);
      forEachBlock(features, (from, size, standardised) => {
        addProduct(standardised(scales), n, size, dual, k, weights, from * k);
      });
      return weights;
    },
  };
}

/** System of the features: H(i, i) = 1 / n + z(i)^T (Z^T Z + lambda I)^-1 z(i). */
function featureSystem(
  features: readonly Float32Array[],
  scales: FeatureScales,
  y: Float64Array,
  k: number,
): RidgeSystem {
  const [n, m] = [features.length, features[0].length];
  const gram = new Float64Array(m * m);
  const projected = new Float64Array(m * k);
  const [block, other] = [new Float64Array(m * blockSize), new Float64Array(m * blockSize)];
  const eachBlock = (visit: (from: number, size: number) => void) => {
    for (let from = 0; from < n; from += blockSize) {
      const size = Math.min(blockSize, n - from);
      for (let i = 0; i < size; i++) standardise(features[from + i], scales, 0, m, block, i * m);
      visit(from, size);
    }
  };
  eachBlock((from, size) => {
    for (let i = 0; i < size; i++) for (let f = 0; f < m; f++) other[f * size + i] = block[i * m + f];
    addGram(other, m, size, gram);
    addProduct(block, size, m, y.subarray(from * k), k, projected, 0);
  });
  const reduced = tridiagonal(gram, m);
  const solve = solver(reduced, projected, k);
  return {
    residuals(lambdas) {
      const choices = lambdas.map((lambda) => {
        const factors = factorShifted(reduced, lambda);
        return { factors, weights: solve(factors), residuals: y.slice() };
      });
      eachBlock((from, size) => {
        // Z Q
        other.fill(0);
        for (let i = 0; i < size; i++) {
          addProduct(reduced.q, m, m, block.subarray(i * m, (i + 1) * m), 1, other, i * m);
        }
        for (const { factors, weights, residuals } of choices) {
          for (let i = 0; i < size; i++) {
            const left = 1 - 1 / n - quadraticForm(factors, other, i * m);
            for (let c = 0; c < k; c++) {
              let residual = residuals[(from + i) * k + c];
              for (let f = 0; f < m; f++) residual -= block[i * m + f] * weights[f * k + c];
              residuals[(from + i) * k + c] = residual / Math.max(left, tiny);
            }
          }
        }
      });
      return choices.map(({ residuals }) => residuals);
    },
    weights: (lambda) => solve(factorShifted(reduced, lambda)),
  };
}

/** Smallest divisor of a residual: without its only sample, a fit has no residual. */
const tiny = 1e-12;

/** Solves Q (T + lambda I) Q^T x = y for several right-hand sides `(n, k)`. */
function solver(reduced: Tridiagonal, y: Float64Array, k: number): (factors: ShiftedFactors) => Float64Array {
  const n = reduced.diagonal.length;
  const rotated = new Float64Array(n * k);
  addProduct(reduced.q, n, n, y, k, rotated, 0);
  return (factors) => {
    const solution = new Float64Array(n * k);
    const column = new Float64Array(n);
    for (let c = 0; c < k; c++) {
      for (let i = 0; i < n; i++) column[i] = rotated[i * k + c];
      solveShifted(factors, column);
      for (let i = 0; i < n; i++) {
        let total = 0;
        for (let j = 0; j < n; j++) total += reduced.q[i * n + j] * column[j];
        solution[i * k + c] = total;
      }
    }
    return solution;
  };
}

/** Standardises `size` features of a row, starting at feature `from`, into an array at `at`. */
function standardise(
  row: Float32Array,
  { mean, scale }: FeatureScales,
  from: number,
  size: number,
  into: Float64Array,
  at: number,
): void {
  for (let f = 0; f < size; f++) into[at + f] = (row[from + f] - mean[from + f]) * scale[from + f];
}

/** Adds the lower triangle of A A^T to a matrix, for A `(rows, size)`. Two rows at a time reuse what is loaded. */
function addGram(a: Float64Array, rows: number, size: number, into: Float64Array): void {
  for (let i = 0; i < rows; i += 2) {
    const [first, hasSecond] = [i * size, i + 1 < rows];
    const second = hasSecond ? first + size : first;
    for (let j = 0; j <= i + 1 && j < rows; j += 2) {
      const third = j * size;
      const fourth = j + 1 < rows ? third + size : third;
      let [a13, a14, a23, a24] = [0, 0, 0, 0];
      for (let f = 0; f < size; f++) {
        // Four constants: reading them from an array, as above, doubles the time.
        const x = a[first + f];
        const y = a[second + f];
        const z = a[third + f];
        const w = a[fourth + f];
        a13 += x * z;
        a14 += x * w;
        a23 += y * z;
        a24 += y * w;
      }
      into[i * rows + j] += a13;
      if (j + 1 <= i) into[i * rows + j + 1] += a14;
      if (!hasSecond) continue;
      into[(i + 1) * rows + j] += a23;
      if (j + 1 <= i + 1) into[(i + 1) * rows + j + 1] += a24;
    }
  }
}

/** Adds A^T B to a matrix `(size, k)` at a position, for A `(rows, size)` and B `(rows, k)`. */
function addProduct(
  a: Float64Array,
  rows: number,
  size: number,
  b: Float64Array,
  k: number,
  into: Float64Array,
  at: number,
): void {
  for (let i = 0; i < rows; i++) {
    for (let c = 0; c < k; c++) {
      const weight = b[i * k + c];
      for (let f = 0; f < size; f++) into[at + f * k + c] += a[i * size + f] * weight;
    }
  }
}
