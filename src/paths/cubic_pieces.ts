/** Cubic polynomials across gaps, as coefficients of a path. */
import * as s from "../device/scalar/scalar.ts";
import { apply } from "../tensor/primitive.ts";
import { type Elementwise, elementwise } from "../tensor/primitives/elementwise.ts";
import type { Tensor } from "../tensor/tensor.ts";

/**
 * The coefficient 2c of the cubic a + b s + c s² + d s³ across a gap, from the slope of its chord, the slopes at both ends, and
 * the reciprocal of its duration.
 */
export const chordCurvature: Elementwise = elementwise(
  "chordCurvature",
  (chord, start, end, inverse) =>
    s.mul(s.sub(s.mul(s.sub(chord, start), 6), s.mul(s.sub(end, start), 2)), inverse),
  [
    (g, [, , , inverse]) => g.mul(inverse).mul(6),
    (g, [, , , inverse]) => g.mul(inverse).mul(-4),
    (g, [, , , inverse]) => g.mul(inverse).mul(-2),
    (g, [chord, start, end]) => g.mul(chord.sub(start).mul(6).sub(end.sub(start).mul(2))),
  ],
);

/** The coefficient 3d of the cubic a + b s + c s² + d s³ across a gap, from the operands of {@linkcode chordCurvature}. */
export const chordTwist: Elementwise = elementwise(
  "chordTwist",
  (chord, start, end, inverse) =>
    s.mul(s.mul(s.mul(s.sub(s.add(start, end), s.mul(chord, 2)), 3), inverse), inverse),
  [
    (g, [, , , inverse]) => g.mul(inverse.square()).mul(-6),
    (g, [, , , inverse]) => g.mul(inverse.square()).mul(3),
    (g, [, , , inverse]) => g.mul(inverse.square()).mul(3),
    (g, [chord, start, end, inverse]) => g.mul(start.add(end).sub(chord.mul(2))).mul(inverse).mul(6),
  ],
);

/** The value of a cubic with coefficients a, b, 2c and 3d at a time after its start. */
export const cubicValue: Elementwise = elementwise(
  "cubicValue",
  (a, b, twoC, threeD, elapsed) => {
    const inner = s.fma(elapsed, s.fma(elapsed, s.mul(threeD, 1 / 3), s.mul(twoC, 0.5)), b);
    return s.fma(elapsed, inner, a);
  },
  [
    (g) => g,
    (g, [, , , , elapsed]) => g.mul(elapsed),
    (g, [, , , , elapsed]) => g.mul(elapsed.square()).mul(1 / 2),
    (g, [, , , , elapsed]) => g.mul(elapsed.square().mul(elapsed)).mul(1 / 3),
    (g, [, b, twoC, threeD, elapsed]) => g.mul(apply(cubicSlope, [b, twoC, threeD, elapsed], undefined)),
  ],
);

/** The slope of a cubic with coefficients b, 2c and 3d at a time after its start. */
export const cubicSlope: Elementwise = elementwise(
  "cubicSlope",
  (b, twoC, threeD, elapsed) => s.fma(elapsed, s.fma(elapsed, threeD, twoC), b),
  [
    (g) => g,
    (g, [, , , elapsed]) => g.mul(elapsed),
    (g, [, , , elapsed]) => g.mul(elapsed.square()),
    (g, [, twoC, threeD, elapsed]) => g.mul(threeD.mul(elapsed).mul(2).add(twoC)),
  ],
);

/** Ends of gaps, all `(rows, columns)`. */
export interface GapEnds {
  /** Values at the start of the gap around each piece. */
  readonly start: Tensor;
  /** Slopes of the lines across the gaps. */
  readonly chord: Tensor;
  /** Slopes of the cubic at both ends. */
  readonly slopes: readonly [Tensor, Tensor];
  /** The reciprocal of the duration of the gap. It broadcasts. */
  readonly inverse: Tensor;
  /** Time from the start of the gap to the start of the piece. Undefined if each piece is a gap. */
  readonly offset?: Tensor;
}

/** The coefficients a, b, 2c and 3d of cubics with given values and slopes at both ends of gaps, in the shape of `start`. */
export function cubicPieces({ start: a, chord, slopes: [b, end], inverse, offset }: GapEnds): Tensor[] {
  const ends = [chord, b, end, inverse].map((x) => x.broadcastTo(a.shape));
  const [twoC, threeD] = [chordCurvature, chordTwist].map((primitive) => apply(primitive, ends, undefined));
  if (!offset) return [a, b, twoC, threeD];
  const since = offset.broadcastTo(a.shape);
  return [
    apply(cubicValue, [a, b, twoC, threeD, since], undefined),
    apply(cubicSlope, [b, twoC, threeD, since], undefined),
    twoC.add(threeD.mul(since).mul(2)),
    threeD,
  ];
}
