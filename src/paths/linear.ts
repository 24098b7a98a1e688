import { ShapeError } from "../device/shape.ts";
import { tensor } from "../tensor/creation.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { type Grid, locate, makeGrid, type Path, readTimes, type Times } from "./path.ts";

/**
 * Coefficients of linear interpolation: the observations themselves.
 *
 * @param x `(..., length, channels)`.
 * @param t Times, increasing, `(length,)`; 0, 1, ... by default.
 * @returns `(..., length, channels)`.
 */
export function linearCoeffs(x: Tensor, t?: Times): Tensor {
  readTimes(t, x.shape.at(-2) ?? 0, "linearCoeffs");
  return x;
}

/** A path of straight pieces between observations. */
export class LinearInterpolation implements Path {
  readonly #grid: Grid;
  readonly #coeffs: Tensor;
  readonly #slopes: Tensor;

  /**
   * @param coeffs `(..., length, channels)`.
   * @param t Times, `(length,)`; 0, 1, ... by default.
   */
  constructor(coeffs: Tensor, t?: Times) {
    if (coeffs.rank < 2) {
      throw new ShapeError(
        `LinearInterpolation: coefficients of shape (${coeffs.shape}), expected (..., length, channels)`,
      );
    }
    const times = readTimes(t, coeffs.shape.at(-2)!, "LinearInterpolation");
    const inverse = Float64Array.from({ length: times.length - 1 }, (_, i) => 1 / (times[i + 1] - times[i]));
    this.#coeffs = coeffs;
    this.#slopes = coeffs.slice(-2, 1).sub(coeffs.slice(-2, 0, -1)).mul(
      tensor(inverse, { dtype: coeffs.dtype }).expandDims(1),
    );
    this.#grid = makeGrid(times, coeffs.dtype);
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
    const { pick, elapsed } = locate(this.#grid, t);
    return pick(this.#slopes).mul(elapsed).add(pick(this.#coeffs));
  }

  derivative(t: Tensor | number): Tensor {
    return locate(this.#grid, t).pick(this.#slopes);
  }
}
