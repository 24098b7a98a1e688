import { concatenate } from "../tensor/functions.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { mapSeries } from "./blocks.ts";
import { cubicPieces } from "./cubic_pieces.ts";
import { fromColumns, toColumns } from "./columns.ts";
import { gapsOfColumns, hasMissing } from "./knots.ts";
import { checkObservations, markCausal } from "./path.ts";
import { durationsOf, readTimeline, type Times } from "./times.ts";

/**
 * Coefficients of Hermite cubic splines with backward differences. The path is continuously differentiable. Its slope at an
 * observation is the slope of the line from the previous observation; at the first observation, of the line to the second.
 * (Morrill et al., "Neural Controlled Differential Equations for Online Prediction Tasks", 2021.) Same as torchcde's
 * `hermite_cubic_coefficients_with_backward_differences`.
 *
 * Without missing observations the path is causal: up to an observation it is independent of later observations. Missing
 * observations (NaN) are interpolated linearly, as by `linearCoeffs`, which uses later observations. Call `forwardFill` first to
 * keep the path causal.
 *
 * @example
 * ```ts
 * import { CubicSpline, hermiteCubicCoeffs, tensor } from "@weft/weft";
 *
 * const X = CubicSpline(hermiteCubicCoeffs(tensor([[0, 1], [1, 3], [2, 2]])));
 * console.log(X.causal, await X.derivative(1.5).data());
 * ```
 *
 * @param x Observations, `(..., length, channels)`.
 * @param t Increasing times of the observations: `(length,)`, or a row per series `(..., length)`; 0, 1, ... by default.
 * @returns `(..., length - 1, 4 * channels)`, in the format of `naturalCubicCoeffs`.
 * @throws {ShapeError | RangeError} If there are fewer than two observations, or times have a wrong shape or do not increase.
 */
export function hermiteCubicCoeffs(x: Tensor, t?: Times): Tensor {
  checkObservations(x, "hermiteCubicCoeffs");
  const timeline = readTimeline(t, x.shape.slice(0, -1), "hermiteCubicCoeffs");
  const missing = hasMissing(x, "hermiteCubicCoeffs");
  const [length, channels] = x.shape.slice(-2);
  const coeffs = mapSeries(x, {
    fit: (block, first) => fit(block, durationsOf(timeline, block, first), missing ?? true),
    result: [length - 1, 4 * channels],
  });
  return missing === false ? markCausal(coeffs) : coeffs;
}

function fit(x: Tensor, durations: Tensor, missing: boolean): Tensor[] {
  const { start, end, inverse, offset } = gapsOfColumns(toColumns(x), durations, missing);
  // Use slopes of gaps instead of filled values, whose rounding errors grow as the grid becomes finer.
  const chord = end.sub(start).mul(inverse);
  const values = offset ? start.add(chord.mul(offset)) : start;
  const before = concatenate([chord.slice(0, 0, 1), chord.slice(0, 0, -1)]);
  return cubicPieces({ start: values, chord, slopes: [before, chord], inverse: durations.pow(-1) }).map(
    (columns) => fromColumns(columns, x.shape),
  );
}
