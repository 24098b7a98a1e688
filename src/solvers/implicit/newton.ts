/**
 * Newton's method for k = f(known + scale k), the equation of a stage of an implicit Runge-Kutta method. (Hairer, Wanner, "Solving
 * Ordinary Differential Equations II", section IV.8.) It runs on the host, because matrices are small and the number of iterations
 * depends on values.
 */
import { vjp } from "../../autodiff/grad.ts";
import { sizeOf } from "../../device/shape.ts";
import { tensor } from "../../tensor/creation.ts";
import { withoutRecording } from "../../tensor/primitive.ts";
import { tidy } from "../../tensor/scope.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { factorize, type Factors, invertFactorized, solveFactorized } from "./linear_systems.ts";
import { precisionOf, readNumbers, type Tolerances } from "../adaptive/step_control.ts";

/** A function of a state. With two or more axes, the first axis has independent samples. */
type StateFunction = (y: Tensor) => Tensor;

/** Maximum number of iterations, and the allowed error in units of the tolerances. */
const [maxIterations, allowedError] = [12, 0.01];

/** Number of samples of a state, and number of values per sample. */
function samplesOf({ shape }: Tensor): { samples: number; n: number } {
  return shape.length > 1
    ? { samples: shape[0], n: sizeOf(shape.slice(1)) }
    : { samples: 1, n: sizeOf(shape) };
}

/** The Jacobian of each sample, `(samples, n, n)`. Each reverse pass computes one row for all samples. */
export function jacobian(f: StateFunction, y: Tensor): Float64Array {
  const { samples, n } = samplesOf(y);
  const matrices = new Float64Array(samples * n * n);
  withoutRecording(() =>
    tidy(() => {
      const { pullback } = vjp(() => f(y), y);
      for (let row = 0; row < n; row++) {
        const unit = tensor(Float64Array.from({ length: n }, (_, i) => i === row ? 1 : 0), {
          dtype: y.dtype,
        });
        const values = readNumbers(pullback(unit.expandDims(0).broadcastTo([samples, n]).reshape(y.shape)));
        for (let i = 0; i < values.length; i++) {
          matrices[(Math.floor(i / n) * n + row) * n + i % n] = values[i];
        }
      }
    })
  );
  return matrices;
}

/** Whether the result for the first sample has a nonzero gradient with respect to other samples. */
export function doSamplesMix(f: StateFunction, y: Tensor): boolean {
  const { n } = samplesOf(y);
  const gradient = withoutRecording(() =>
    tidy(() => {
      const ones = Float64Array.from({ length: y.size }, (_, i) => i < n ? 1 : 0);
      return readNumbers(vjp(() => f(y), y).pullback(tensor(ones, { shape: y.shape, dtype: y.dtype })));
    })
  );
  return gradient.some((value, i) => i >= n && value !== 0);
}

/** The LU factors of I - scale J. */
export function newtonMatrix(jacobian: Float64Array, scale: number, y: Tensor): Factors {
  const { n } = samplesOf(y);
  const matrices = jacobian.map((value, i) => (i % (n * n) % (n + 1) === 0 ? 1 : 0) - scale * value);
  return factorize(matrices, n);
}

/**
 * Solves for k.
 *
 * @param guess The initial value of k.
 * @param factors The result of {@linkcode newtonMatrix} for a Jacobian at a nearby state.
 * @returns `undefined` if the iteration does not converge.
 */
export function solveStage(
  f: StateFunction,
  known: Tensor,
  scale: number,
  guess: Tensor,
  factors: Factors,
  { rtol, atol }: Tolerances,
): Tensor | undefined {
  const { n } = samplesOf(known);
  const [shape, dtype] = [known.shape, known.dtype];
  const precision = precisionOf(dtype);
  return withoutRecording(() =>
    tidy(() => {
      const sizes = readNumbers(known).map(Math.abs);
      const k = Float64Array.from(readNumbers(guess));
      let before = Infinity;
      for (let iteration = 0; iteration < maxIterations; iteration++) {
        const step = tidy(() => {
          const now = tensor(k, { shape, dtype });
          return solveFactorized(
            factors,
            Float64Array.from(readNumbers(f(known.add(now.mul(scale))).sub(now))),
          );
        });
        let largest = 0;
        for (let first = 0; first < k.length; first += n) {
          let [sum, roundings] = [0, 0];
          for (let i = first; i < first + n; i++) {
            k[i] += step[i];
            const size = Math.max(sizes[i], Math.abs(scale * k[i]));
            sum += (scale * step[i] / (atol + rtol * size)) ** 2;
            roundings += (precision * size / (atol + rtol * size)) ** 2;
          }
          const change = Math.sqrt(sum / n);
          if (Number.isNaN(change)) return undefined;
          // Ignore changes of the size of rounding errors.
          if (change > 10 * Math.sqrt(roundings / n)) largest = Math.max(largest, change);
        }
        const rate = largest / before;
        if (!(rate < 2)) return undefined;
        // The remaining error is a geometric series with the ratio of consecutive changes. The first change has no ratio.
        const left = largest * (rate > 0 && rate < 0.5 ? rate / (1 - rate) : 1);
        if (left <= allowedError) return tensor(k, { shape, dtype });
        before = largest;
      }
      return undefined;
    })
  );
}

/**
 * Adds iterations with recorded gradients to a solution. By the implicit function theorem, the first iteration gives the first
 * derivatives of the solution, if the matrix is that of the solution. Each further iteration gives one more order.
 *
 * @param orders Number of iterations.
 */
export function refine(
  f: StateFunction,
  known: Tensor,
  scale: number,
  solution: Tensor,
  orders: number,
): Tensor {
  const at = withoutRecording(() => known.add(solution.mul(scale)));
  const { samples, n } = samplesOf(known);
  const inverse = invertFactorized(newtonMatrix(jacobian(f, at), scale, known));
  const matrix = tensor(inverse, { shape: [samples, n, n], dtype: known.dtype });
  let k = solution;
  for (let order = 0; order < orders; order++) {
    const residual = f(known.add(k.mul(scale))).sub(k);
    k = k.add(matrix.matmul(residual.reshape([samples, n, 1])).reshape(known.shape));
  }
  return k;
}
