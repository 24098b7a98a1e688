import * as s from "../device/scalar.ts";
import type { ScalarFunction } from "../device/scalar.ts";
import type { BufferView, View } from "../device/device.ts";
import { allocateView } from "../device/view.ts";
import { tridiagonalSolve } from "../tensor/functions.ts";
import { apply, type Primitive } from "../tensor/primitive.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { mapSeries } from "./blocks.ts";
import { carryDown, carryUp, piecesOf, toColumns } from "./columns.ts";
import { cubicPieces } from "./cubic_pieces.ts";
import { type Gaps, gapsOfColumns, hasMissing } from "./knots.ts";
import { checkObservations } from "./path.ts";
import { durationsOf, readTimeline, type Times } from "./times.ts";

/**
 * Coefficients of natural cubic splines: twice continuously differentiable, with no curvature at both ends. The paths of
 * Kidger et al., "Neural Controlled Differential Equations for Irregular Time Series" (2020), appendix A; as torchcde's
 * `natural_cubic_coeffs`. The path depends on observations that are yet to come: it is not causal.
 *
 * NaN is a missing observation: each channel has a spline through its own observations. Before the first and after the last
 * of them every missing one is taken to be equal to it; a channel without any is zero.
 *
 * @example
 * ```ts
 * import { CubicSpline, naturalCubicCoeffs, tensor } from "@weft/weft";
 *
 * const x = tensor([[[0, 1], [1, NaN], [2, 2]]]); // one series of three observations of two channels, one missing
 * const X = new CubicSpline(naturalCubicCoeffs(x));
 * console.log(await X.evaluate(0.5).data());
 * ```
 *
 * @param x Observations, `(..., length, channels)`.
 * @param t Their times, increasing, `(length,)` or a row for each series `(..., length)`; 0, 1, ... by default.
 * @returns `(..., length - 1, 4 * channels)`: [a, b, 2c, 3d] for a + b s + c s^2 + d s^3, where s is the time since the
 * start of the piece.
 * @throws {ShapeError | RangeError} With fewer than two observations, or times that do not fit or do not increase.
 */
export function naturalCubicCoeffs(x: Tensor, t?: Times): Tensor {
  checkObservations(x, "naturalCubicCoeffs");
  const timeline = readTimeline(t, x.shape.slice(0, -1), "naturalCubicCoeffs");
  const missing = hasMissing(x) ?? true;
  const [length, channels] = x.shape.slice(-2);
  return mapSeries(x, {
    fit: (block, first, into) => fit(block, durationsOf(timeline, block, first), missing, into),
    result: [length - 1, 4 * channels],
  });
}

function fit(x: Tensor, durations: Tensor, missing: boolean, into?: BufferView): Tensor {
  const gaps = gapsOfColumns(toColumns(x), durations, missing);
  const { start, end, inverse, offset, going } = gaps;
  const lines = end.sub(start).mul(inverse);
  const slopes = knotSlopes(gaps, lines);
  const [before, after] = going ? [carryDown(going, slopes), carryUp(going, slopes)] : [slopes, slopes];
  const pieces = (columns: Tensor) => piecesOf(columns, x.shape);
  return cubicPieces(
    pieces(start),
    pieces(lines),
    [pieces(before.slice(0, 0, -1)), pieces(after.slice(0, 1))],
    pieces(inverse),
    offset && pieces(offset),
    into,
  );
}

/** Slopes at the knots, zero in other rows: the second derivative is the same on both sides of each knot. */
function knotSlopes({ inverse, knots }: Gaps, lines: Tensor): Tensor {
  const lower = inverse.pad([[1, 0], [0, 0]]);
  const upper = inverse.pad([[0, 1], [0, 0]]);
  const twice = lower.add(upper).mul(2);
  const diagonal = knots ? knots.where(twice, 0) : twice;
  const rhs = apply(rightSides, [lines, inverse.broadcastTo(lines.shape)], undefined);
  return tridiagonalSolve(lower.mT, diagonal.mT, upper.mT, rhs.mT).mT;
}

const single: ScalarFunction = {
  name: "right side of one gap",
  build: (line, inverse) => s.mul(s.mul(line, 3), inverse),
};
const double: ScalarFunction = {
  name: "right side of two gaps",
  build: (before, inverseBefore, after, inverseAfter) =>
    s.mul(s.add(s.mul(before, inverseBefore), s.mul(after, inverseAfter)), 3),
};

/**
 * The right sides of the slopes' equations, `(length, columns)`: three times the slopes of the lines across the gaps on
 * both sides of each row, each over its gap's duration. At a knot these are two gaps; what other rows get is not read.
 */
const rightSides: Primitive<void> = {
  name: "rightSides",
  infer: ([{ shape: [pieces, columns], dtype }]) => ({ shape: [pieces + 1, columns], dtype }),
  run(device, inputs, _, { shape: [length, columns], dtype }) {
    const output = allocateView(device, [length, columns], dtype);
    const rows = <V extends View>(view: V, first: number, count: number): V => ({
      ...view,
      shape: [count, columns],
      offset: view.offset + first * view.strides[0],
    });
    const at = (first: number, count: number) => inputs.map((input) => rows(input, first, count));
    device.map(single, at(0, 1), rows(output, 0, 1));
    device.map(single, at(length - 2, 1), rows(output, length - 1, 1));
    const inner = length - 2;
    if (inner > 0) device.map(double, [...at(0, inner), ...at(1, inner)], rows(output, 1, inner));
    return output;
  },
  vjp: (g, [, inverse], _output, _params, input) =>
    input === 0 ? g.slice(0, 0, -1).add(g.slice(0, 1)).mul(inverse).mul(3) : undefined,
};
