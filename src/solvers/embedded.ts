/** Runge-Kutta methods that estimate the error of each step: a step of one, and the states within it. */
import { tensor } from "../tensor/creation.ts";
import type { Tensor, TensorLike } from "../tensor/tensor.ts";
import { type ButcherTableau, combine } from "./tableau.ts";

/** A method with a second one of another order that shares its stages. */
export interface EmbeddedTableau extends ButcherTableau {
  /** Weights of the stages in the error: those of the step less those of the second method. */
  readonly error: readonly number[];
  /** Weights of the stages in the state in the middle of the step, from which states within a step are interpolated. */
  readonly middle: readonly number[];
  /** How a step is taken, where it takes more than explicit stages. */
  readonly step?: (...given: StepArguments) => EmbeddedStep;
}

/** A state in parts, each a tensor of its own: a solution and its adjoint, say. */
export type Parts = readonly Tensor[];

/** A vector field of such a state; `t` is a tensor of no axes. */
export type PartsField = (t: Tensor, y: Parts) => Parts;

/** A step that has been taken. */
export interface EmbeddedStep {
  /** The state at its end. */
  readonly y: Parts;
  /** The slopes at its stages, of which the last is the next step's first. */
  readonly stages: readonly Parts[];
  /** Evaluations of the vector field that it took; one for each stage but the first when left out. */
  readonly evaluations?: number;
}

/** What a step is taken from: `at` is the time at a fraction of it, `slope` the first stage. */
export type StepArguments = [
  f: PartsField,
  at: (fraction: number) => Tensor,
  dt: TensorLike,
  y: Parts,
  slope: Parts,
];

/** One step. */
export function embeddedStep(
  { a, b, c, step }: ButcherTableau & Pick<EmbeddedTableau, "step">,
  ...given: StepArguments
): EmbeddedStep {
  if (step) return step(...given);
  const [f, at, dt, y, slope] = given;
  const stages = [slope];
  let last = y;
  a.forEach((row, i) => {
    const change = weigh(row, stages, dt);
    last = y.map((part, j) => part.add(change[j]));
    stages.push(f(at(c[i + 1]), last));
  });
  // Where the last stage is taken at the end of the step, its state is the step's.
  if (b.at(-1) === 0 && a.at(-1)!.every((weight, i) => weight === b[i])) return { y: last, stages };
  const change = weigh(b, stages, dt);
  return { y: y.map((part, j) => part.add(change[j])), stages };
}

/** A weighted sum of the stages, times the step's length. */
export function weigh(weights: readonly number[], stages: readonly Parts[], dt: TensorLike): Parts {
  return stages[0].map((_, part) => combine(weights, stages.map((stage) => stage[part])).mul(dt));
}

/** What the states within a step are interpolated from: those at its start, middle and end, and the slopes at both ends. */
export type StepSupport = readonly [
  start: Tensor,
  middle: Tensor,
  end: Tensor,
  rise: Tensor,
  lastRise: Tensor,
];

/** The support of a step for each part; the slopes are multiplied by the step's length. */
export function supportOf(
  { middle }: EmbeddedTableau,
  { y: ends, stages }: EmbeddedStep,
  starts: Parts,
  dt: TensorLike,
): StepSupport[] {
  const changes = weigh(middle, stages, dt);
  const slopes = [stages[0], stages.at(-1)!];
  return starts.map((start, i) => {
    const [rise, lastRise] = slopes.map((slope) => slope[i].mul(dt));
    return [start, start.add(changes[i]), ends[i], rise, lastRise];
  });
}

/**
 * States within steps: the quartic through the three states with the slopes at both ends. (Shampine, 1986; as torchdiffeq's.)
 *
 * @param support Of the steps, `(outputs, ...state)` each.
 * @param fractions Where in its step each output is, 0 at the start, 1 at the end.
 * @param shape Of the fractions, to broadcast against the support.
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
