/** Cubics between the ends of gaps, as the coefficients of a path. */
import type { BufferView, View } from "../device/device.ts";
import * as s from "../device/scalar.ts";
import type { Scalar, ScalarFunction } from "../device/scalar.ts";
import { allocateView } from "../device/view.ts";
import { apply, type Primitive } from "../tensor/primitive.ts";
import type { Tensor } from "../tensor/tensor.ts";

/** Ends of gaps, all `(..., pieces, channels)`: see {@linkcode cubicPieces}. */
type Ends<T> = [start: T, secant: T, startSlope: T, endSlope: T, inverse: T, offset?: T];

/** 2c and 3d of the cubic that begins where the gap does. */
function curvature([, secant, startSlope, endSlope, inverse]: Ends<Scalar>) {
  const slopes = s.add(startSlope, endSlope);
  return {
    twoC: s.mul(s.sub(s.mul(s.sub(secant, startSlope), 6), s.mul(s.sub(endSlope, startSlope), 2)), inverse),
    threeD: s.mul(s.mul(s.mul(s.sub(slopes, s.mul(secant, 2)), 3), inverse), inverse),
  };
}

/** a, b, 2c and 3d. */
const coefficients: ((ends: Ends<Scalar>) => Scalar)[] = [
  (ends) => {
    const [start, , slope, , , offset] = ends;
    if (!offset) return start;
    const { twoC, threeD } = curvature(ends);
    const inner = s.fma(offset, s.fma(offset, s.mul(threeD, 1 / 3), s.mul(twoC, 0.5)), slope);
    return s.fma(offset, inner, start);
  },
  (ends) => {
    const [, , slope, , , offset] = ends;
    if (!offset) return slope;
    const { twoC, threeD } = curvature(ends);
    return s.fma(offset, s.fma(offset, threeD, twoC), slope);
  },
  (ends) => {
    const offset = ends[5];
    const { twoC, threeD } = curvature(ends);
    return offset ? s.fma(s.mul(offset, 2), threeD, twoC) : twoC;
  },
  (ends) => curvature(ends).threeD,
];

const functions: ScalarFunction[] = coefficients.map((build, i) => ({
  name: `cubic coefficient ${i}`,
  build: (...ends) => build(ends as Ends<Scalar>),
}));
const functionsWithOffset: ScalarFunction[] = functions.map(({ name, build }) => ({
  name: `${name} with offset`,
  build,
}));

const primitive: Primitive<{ into?: BufferView }> = {
  name: "cubicPieces",
  infer: ([{ shape, dtype }]) => ({ shape: [...shape.slice(0, -1), 4 * shape.at(-1)!], dtype }),
  run(device, inputs, { into }, { shape, dtype }) {
    const output = into ?? allocateView(device, shape, dtype);
    const channels = shape.at(-1)! / 4;
    const [start, , slope] = inputs;
    (inputs.length === 6 ? functionsWithOffset : functions).forEach((fn, i) => {
      const window = { ...output, shape: inputs[0].shape, offset: output.offset + i * channels };
      // Without an offset the first two are copies: no need to read the rest.
      const plain: View | undefined = inputs.length === 6 ? undefined : [start, slope][i];
      device.map(plain ? s.identity : fn, plain ? [plain] : inputs, window);
    });
    return output;
  },
  // Linear in values and slopes; the times have no gradient here.
  vjp(g, [, , , , inverse, offset], _output, _params, input) {
    if (input > 3) return undefined;
    const channels = g.shape.at(-1)! / 4;
    const [ga, gb, g2c, g3d] = [0, 1, 2, 3].map((i) => g.slice(-1, i * channels, (i + 1) * channels));
    // With respect to b, 2c and 3d at the start of the gap, by Horner's rule.
    let [b, twoC, threeD] = [gb, g2c, g3d];
    if (offset) {
      b = gb.add(ga.mul(offset));
      twoC = g2c.add(gb.add(ga.mul(offset).mul(1 / 2)).mul(offset));
      threeD = g3d.add(g2c.mul(2).add(gb.add(ga.mul(offset).mul(1 / 3)).mul(offset)).mul(offset));
    }
    const scaledC = twoC.mul(inverse);
    const scaledD = threeD.mul(inverse.square());
    if (input === 2) return b.sub(scaledC.mul(4)).add(scaledD.mul(3));
    if (input === 3) return scaledD.mul(3).sub(scaledC.mul(2));
    return input === 1 ? scaledC.sub(scaledD).mul(6) : ga;
  },
};

/**
 * Coefficients of paths, `(..., pieces, 4 * channels)`: [a, b, 2c, 3d] of cubics that have given values and slopes at both
 * ends of the gap that each piece lies in.
 *
 * @param start Values at the start of the gap, `(..., pieces, channels)`.
 * @param secant The slope of the line from there to its end.
 * @param slopes The slopes of the cubic at both ends.
 * @param inverse One over the gap's duration, which broadcasts.
 * @param offset Time from the start of the gap to that of the piece; none where each piece is a gap of its own.
 * @param into Where the result is put; new memory when left out.
 */
export function cubicPieces(
  start: Tensor,
  secant: Tensor,
  slopes: readonly [Tensor, Tensor],
  inverse: Tensor,
  offset?: Tensor,
  into?: BufferView,
): Tensor {
  const inputs = [start, secant, ...slopes, inverse, ...(offset ? [offset] : [])];
  return apply(primitive, inputs.map((x) => x.broadcastTo(start.shape)), { into });
}
