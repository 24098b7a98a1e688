import { concatenate } from "../tensor/functions.ts";
import { tridiagonalSolve } from "../tensor/functions.ts";
import { tensor } from "../tensor/creation.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { readTimes, type Times } from "./path.ts";
import { cubicCoeffs } from "./cubic_spline.ts";

/**
 * Coefficients of natural cubic splines: twice continuously differentiable, with no curvature at both ends. The paths of
 * Kidger et al., "Neural Controlled Differential Equations for Irregular Time Series" (2020), appendix A.
 *
 * @example
 * ```ts
 * import { CubicSpline, naturalCubicCoeffs, tensor } from "@weft/weft";
 *
 * const x = tensor([[[0, 1], [1, 3], [2, 2]]]); // one series of three observations of two channels
 * const X = new CubicSpline(naturalCubicCoeffs(x));
 * console.log(await X.evaluate(0.5).data());
 * ```
 *
 * @param x Observations, `(..., length, channels)`.
 * @param t Their times, increasing, `(length,)`; 0, 1, ... by default.
 * @returns `(..., length - 1, 4 * channels)`: [a, b, 2c, 3d] for a + b s + c s^2 + d s^3, where s is the time since the
 * start of the piece.
 * @throws {ShapeError | RangeError} With fewer than two observations, or times that do not increase.
 */
export function naturalCubicCoeffs(x: Tensor, t?: Times): Tensor {
  const times = readTimes(t, x.shape.at(-2) ?? 0, "naturalCubicCoeffs");
  const { dtype } = x;
  const pieces = times.length - 1;
  const inverse = Float64Array.from({ length: pieces }, (_, i) => 1 / (times[i + 1] - times[i]));
  const before = (values: Float64Array, i: number) => i > 0 ? values[i - 1] : 0;
  const after = (values: Float64Array, i: number) => i < pieces ? values[i] : 0;
  const band = (value: (i: number) => number) =>
    tensor(Float64Array.from({ length: times.length }, (_, i) => value(i)), { dtype });

  // Continuity of the second derivative at each grid point, in terms of the first derivatives there.
  const rise = x.slice(-2, 1).sub(x.slice(-2, 0, -1)).mul(
    tensor(inverse.map((r) => 3 * r * r), { dtype }).expandDims(1),
  );
  const border = rise.slice(-2, 0, 1).zerosLike();
  const rhs = concatenate([border, rise], -2 + x.rank).add(concatenate([rise, border], -2 + x.rank));
  const slopes = tridiagonalSolve(
    band((i) => before(inverse, i)),
    band((i) => 2 * (before(inverse, i) + after(inverse, i))),
    band((i) => after(inverse, i)),
    rhs.transpose(),
  ).transpose();
  return cubicCoeffs(x, slopes, times);
}
