import { ShapeError } from "../device/shape.ts";
import { tensor } from "../tensor/creation.ts";
import { concatenate } from "../tensor/functions.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { type Grid, locate, makeGrid, type Path, readTimes, type Times } from "./path.ts";

/** Coefficients of the cubics with given values and slopes, both `(..., length, channels)`, at the grid points. */
export function cubicCoeffs(values: Tensor, slopes: Tensor, times: Float64Array): Tensor {
  const inverse = Float64Array.from({ length: times.length - 1 }, (_, i) => 1 / (times[i + 1] - times[i]));
  const perLength = tensor(inverse, { dtype: values.dtype }).expandDims(1);
  const [start, end] = [values.slice(-2, 0, -1), values.slice(-2, 1)];
  const [b, next] = [slopes.slice(-2, 0, -1), slopes.slice(-2, 1)];
  const secant = end.sub(start).mul(perLength);
  const twoC = secant.mul(6).sub(b.mul(4)).sub(next.mul(2)).mul(perLength);
  const threeD = b.add(next).sub(secant.mul(2)).mul(3).mul(perLength).mul(perLength);
  return concatenate([start, b, twoC, threeD], values.rank - 1);
}

/** A path of cubic pieces, from {@linkcode naturalCubicCoeffs} or {@linkcode hermiteCubicCoeffs}. */
export class CubicSpline implements Path {
  readonly #grid: Grid;
  readonly #coeffs: Tensor;

  /**
   * @param coeffs `(..., length - 1, 4 * channels)`.
   * @param t The times that the coefficients were made with, `(length,)`; 0, 1, ... by default.
   * @throws {ShapeError} If the last axis is not a multiple of four, or times and pieces do not fit.
   */
  constructor(coeffs: Tensor, t?: Times) {
    if (coeffs.rank < 2 || coeffs.shape.at(-1)! % 4 !== 0) {
      throw new ShapeError(
        `CubicSpline: coefficients of shape (${coeffs.shape}), expected (..., length - 1, 4 * channels)`,
      );
    }
    this.#coeffs = coeffs;
    this.#grid = makeGrid(readTimes(t, coeffs.shape.at(-2)! + 1, "CubicSpline"), coeffs.dtype);
  }

  get gridPoints(): Tensor {
    return this.#grid.gridPoints;
  }

  get interval(): Tensor {
    return this.#grid.interval;
  }

  get times(): Float64Array {
    return this.#grid.times;
  }

  evaluate(t: Tensor | number): Tensor {
    const { terms: [a, b, twoC, threeD], elapsed } = this.#piece(t);
    return threeD.mul(elapsed).mul(1 / 3).add(twoC.mul(0.5)).mul(elapsed).add(b).mul(elapsed).add(a);
  }

  derivative(t: Tensor | number): Tensor {
    const { terms: [_a, b, twoC, threeD], elapsed } = this.#piece(t);
    return threeD.mul(elapsed).add(twoC).mul(elapsed).add(b);
  }

  #piece(t: Tensor | number) {
    const { pick, elapsed } = locate(this.#grid, t);
    const row = pick(this.#coeffs);
    const channels = row.shape.at(-1)! / 4;
    return { terms: [0, 1, 2, 3].map((i) => row.slice(-1, i * channels, (i + 1) * channels)), elapsed };
  }
}
