/** Runge-Kutta methods that estimate the error of each step: a step of one, and the states within it. */
import { tensor } from "../../tensor/creation.ts";
import type { Tensor, TensorLike } from "../../tensor/tensor.ts";
import type { ImplicitMethod } from "../implicit/implicit_step.ts";
import { combine, type RungeKutta } from "../fixed/tableau.ts";

/**
 * An explicit Runge-Kutta method with a second one of another order that shares its stages: the difference is an estimate of
 * the error, from which the length of the next step follows. The option `method` of a solve takes one of your own.
 *
 * @example
 * ```ts
 * import { type EmbeddedTableau, odeint, tensor } from "@weft/weft";
 *
 * // Ralston's method of order 2 with Euler's for the error.
 * const ralston21: EmbeddedTableau = {
 *   kind: "embedded",
 *   name: "ralston21",
 *   order: 2,
 *   c: [0, 2 / 3],
 *   a: [[2 / 3]],
 *   b: [1 / 4, 3 / 4],
 *   error: [-3 / 4, 3 / 4],
 * };
 * const y = odeint((_t, y) => y.neg(), tensor([1]), [0, 1], { method: ralston21, rtol: 1e-3 });
 * console.log(`${y}`);
 * ```
 */
export interface EmbeddedTableau extends RungeKutta {
  /** The kind of method. */
  readonly kind: "embedded";
  /** Weights of the stages in the error: those of the step less those of the second method. */
  readonly error: readonly number[];
  /**
   * Weights of the stages in the state in the middle of the step, from which states within a step are interpolated. Left out,
   * a step ends at each output time and at an event instead, and where states within a step are wanted (at other times than
   * those of steps that were found before) the middle lies on the cubic through both ends and their slopes.
   */
  readonly middle?: readonly number[];
}

/** A complete embedded tableau, whose last stage is at the step's end: the next step begins with its slope. */
export type EmbeddedMethod = EmbeddedTableau & { readonly middle: readonly number[] };

/** A method that chooses the length of its steps. */
export type AdaptiveMethod = EmbeddedMethod | ImplicitMethod;

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

/** Arguments of a step: `at` gives the time at a fraction of it, `slope` is its first stage. */
export type StepArguments = [
  f: PartsField,
  at: (fraction: number) => Tensor,
  dt: TensorLike,
  y: Parts,
  slope: Parts,
];

/** One step. */
export function embeddedStep(
  method: AdaptiveMethod,
  ...given: StepArguments
): EmbeddedStep {
  if (method.kind === "implicit") return method.step(...given);
  const { a, b, c } = method;
  const [f, at, dt, y, slope] = given;
  const stages = [slope];
  let last = y;
  a.forEach((row, i) => {
    const change = weigh(row, stages, dt);
    last = y.map((part, j) => part.add(change[j]));
    stages.push(f(at(c[i + 1]), last));
  });
  // The state of a last stage at the end of the step is the step's.
  if (b.at(-1) === 0 && a.at(-1)!.every((weight, i) => weight === b[i])) return { y: last, stages };
  const change = weigh(b, stages, dt);
  return { y: y.map((part, j) => part.add(change[j])), stages };
}

/** A weighted sum of the stages, times the step's length. */
export function weigh(weights: readonly number[], stages: readonly Parts[], dt: TensorLike): Parts {
  return stages[0].map((_, part) => combine(weights, stages.map((stage) => stage[part])).mul(dt));
}

/**
 * Support of the interpolation within a step: the states at its start, middle and end, and the slopes at both ends times its
 * length.
 */
export type StepSupport = readonly [
  start: Tensor,
  middle: Tensor,
  end: Tensor,
  startSlope: Tensor,
  endSlope: Tensor,
];

/** The support of a step for each part; the slopes are multiplied by the step's length. */
export function supportOf(
  { middle }: AdaptiveMethod,
  { y: ends, stages }: EmbeddedStep,
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

/** The state at one fraction of a step. */
export function interpolateAt(support: StepSupport, fraction: number): Tensor {
  const rows = support.map((x) => x.expandDims(0)) as unknown as StepSupport;
  return interpolate(rows, [fraction]).squeeze(0);
}
