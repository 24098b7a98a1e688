import * as s from "../device/scalar/scalar.ts";
import { tridiagonalSolve } from "../tensor/functions.ts";
import { apply } from "../tensor/primitive.ts";
import { type Elementwise, elementwise } from "../tensor/primitives/elementwise.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { mapSeries } from "./blocks.ts";
import { fromColumns, segmentedSum, segmentedSumBackwards, toColumns } from "./columns.ts";
import { cubicPieces } from "./cubic_pieces.ts";
import { type Gaps, gapsOfColumns, hasMissing } from "./knots.ts";
import { checkObservations } from "./path.ts";
import { durationsOf, readTimeline, type Times } from "./times.ts";

/**
 * Coefficients of natural cubic splines: twice continuously differentiable, without curvature at both ends. (Kidger et al.,
 * "Neural Controlled Differential Equations for Irregular Time Series", 2020, appendix A.) Same as torchcde's
 * `natural_cubic_coeffs`. The path is not causal: it depends on later observations.
 *
 * NaN is a missing observation: the spline of a channel passes through the observations of the channel. Missing values before the
 * first or after the last observation are equal to that observation. A channel without observations is zero.
 *
 * @example
 * ```ts
 * import { CubicSpline, naturalCubicCoeffs, tensor } from "@weft/weft";
 *
 * const x = tensor([[[0, 1], [1, NaN], [2, 2]]]); // one series of three observations of two channels, one missing
 * const X = CubicSpline(naturalCubicCoeffs(x));
 * console.log(await X.evaluate(0.5).data());
 * ```
 *
 * @param x Observations, `(..., length, channels)`.
 * @param t Increasing times of the observations: `(length,)`, or a row per series `(..., length)`; 0, 1, ... by default.
 * @returns `(..., length - 1, 4 * channels)`: [a, b, 2c, 3d] for `a + b s + c s^2 + d s^3` with the time s since the
 * start of the piece.
 * @throws {ShapeError | RangeError} If there are fewer than two observations, or times have a wrong shape or do not increase.
 */
export function naturalCubicCoeffs(x: Tensor, t?: Times): Tensor {
  checkObservations(x, "naturalCubicCoeffs");
  const timeline = readTimeline(t, x.shape.slice(0, -1), "naturalCubicCoeffs");
  const missing = hasMissing(x, "naturalCubicCoeffs") ?? true;
  const [length, channels] = x.shape.slice(-2);
  return mapSeries(x, {
    fit: (block, first) => fit(block, durationsOf(timeline, block, first), missing),
    result: [length - 1, 4 * channels],
  });
}

function fit(x: Tensor, durations: Tensor, missing: boolean): Tensor[] {
  const gaps = gapsOfColumns(toColumns(x), durations, missing);
  const { start, end, inverse, offset, links } = gaps;
  const chord = end.sub(start).mul(inverse);
  const slopes = knotSlopes(gaps, chord);
  const [before, after] = links
    ? [segmentedSum(links, slopes), segmentedSumBackwards(links, slopes)]
    : [slopes, slopes];
  const ends: [Tensor, Tensor] = [before.slice(0, 0, -1), after.slice(0, 1)];
  return cubicPieces({ start, chord, slopes: ends, inverse, offset }).map((columns) =>
    fromColumns(columns, x.shape)
  );
}

/** Slopes at the knots, zero in other rows. They make the second derivative continuous at each knot. */
function knotSlopes({ inverse, knots }: Gaps, chord: Tensor): Tensor {
  // Pad with zeros: there is no gap before the first row or after the last row.
  const [chords, inverses] = [chord, inverse].map((rows) => rows.pad([[1, 1], [0, 0]]));
  const [lower, upper] = bothSides(inverses);
  const twice = lower.add(upper).mul(2);
  const diagonal = knots ? knots.where(twice, 0) : twice;
  const [before, after] = bothSides(chords);
  const sides = [before, lower, after, upper].map((rows) => rows.broadcastTo(before.shape));
  const rhs = apply(slopeEquation, sides, undefined);
  return tridiagonalSolve(lower.mT, diagonal.mT, upper.mT, rhs.mT).mT;
}

/** The gaps before and after each row. */
function bothSides(gaps: Tensor): [Tensor, Tensor] {
  return [gaps.slice(0, 0, -1), gaps.slice(0, 1)];
}

/**
 * The right-hand side of the equation for the slope at a knot: three times the sum of chord slopes divided by gap durations, over the
 * gaps before and after the knot.
 */
export const slopeEquation: Elementwise = elementwise(
  "slopeEquation",
  (before, inverseBefore, after, inverseAfter) =>
    s.mul(s.add(s.mul(before, inverseBefore), s.mul(after, inverseAfter)), 3),
  [
    (g, [, inverse]) => g.mul(inverse).mul(3),
    (g, [chord]) => g.mul(chord).mul(3),
    (g, [, , , inverse]) => g.mul(inverse).mul(3),
    (g, [, , chord]) => g.mul(chord).mul(3),
  ],
);
