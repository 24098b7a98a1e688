/** Dense output: states within steps, by a polynomial through both ends and the middle of a step. */
import { tensor } from "../../tensor/creation.ts";
import type { Tensor, TensorLike } from "../../tensor/tensor.ts";
import { type Parts, type Step, weigh } from "../runge_kutta.ts";

/**
 * The data of the interpolation within a step: the states at its start, middle and end, and the slopes at both ends times the step
 * size.
 */
export type StepSupport = readonly [
  start: Tensor,
  middle: Tensor,
  end: Tensor,
  startSlope: Tensor,
  endSlope: Tensor,
];

/** The tensors for the interpolation within a step, for each part of the state. */
export function supportOf(
  { middle }: { readonly middle: readonly number[] },
  { y: ends, stages }: Step,
  starts: Parts,
  dt: TensorLike,
): StepSupport[] {
  const changes = weigh(middle, stages, dt);
  const slopes = [stages[0], stages.at(-1)!];
  return starts.map((start, i) => {
    const [startSlope, endSlope] = slopes.map((slope) => slope[i].mul(dt));
    return [start, start.add(changes[i]), ends[i], startSlope, endSlope];
  });
}

/**
 * States within steps: the quartic polynomial through the three states with the slopes at both ends, as in torchdiffeq. (Shampine,
 * "Some practical Runge-Kutta formulas", 1986.)
 *
 * @param support Supports of the steps of the outputs, `(outputs, ...state)` each.
 * @param fractions Position of each output in its step: 0 at the start, 1 at the end.
 * @param shape Shape of the fractions, which must broadcast against the support.
 */
export function interpolate(
  support: StepSupport,
  fractions: readonly number[],
  shape: readonly number[] = [fractions.length, ...Array(support[0].rank - 1).fill(1)],
): Tensor {
  const { dtype } = support[0];
  const basis: ((x: number) => number)[] = [
    (x) => 1 + x * x * (-11 + x * (18 - 8 * x)),
    (x) => x * x * (16 + x * (-32 + 16 * x)),
    (x) => x * x * (-5 + x * (14 - 8 * x)),
    (x) => x * (1 + x * (-4 + x * (5 - 2 * x))),
    (x) => x * x * (1 + x * (-3 + 2 * x)),
  ];
  return basis
    .map((weight, i) => support[i].mul(tensor(fractions.map(weight), { shape, dtype })))
    .reduce((sum, term) => sum.add(term));
}

/** The state at one position in a step. */
export function interpolateAt(support: StepSupport, fraction: number): Tensor {
  const rows = support.map((x) => x.expandDims(0)) as unknown as StepSupport;
  return interpolate(rows, [fraction]).squeeze(0);
}
