/** Runge-Kutta steps with explicit or diagonally implicit stages. */
import type { Tensor, TensorLike } from "../tensor/tensor.ts";
import type { Tree } from "../tensor/tree.ts";
import type { RungeKutta } from "./tableaus.ts";

/**
 * The right-hand side of dy/dt = f(t, y). The time is a scalar tensor. The state is a tensor or a tree of tensors, and the
 * result has the same structure and shapes.
 */
export type VectorField<S extends Tree = Tensor> = (t: Tensor, y: S) => S;

/** A state in several tensors, such as a solution and its adjoint. */
export type Parts = readonly Tensor[];

/** A vector field of a state in several tensors. */
export type PartsField = (t: Tensor, y: Parts) => Parts;

/** The state of a stage and its slope. */
interface Stage {
  readonly state: Parts;
  readonly slope: Parts;
}

/**
 * Computes a stage. `explicitPart` is y + dt sum_j a_ij k_j over the stages before stage i: the state of an explicit stage, and the
 * constant term in the equation of an implicit stage.
 */
export type StageRule = (i: number, t: Tensor, explicitPart: Parts) => Stage;

/** A step that has been taken. */
export interface Step {
  /** The state at the end of the step. */
  readonly y: Parts;
  /** The slopes of the stages. */
  readonly stages: readonly Parts[];
  /** Whether the equations of implicit stages were solved, for each sample `(samples, 1)`. */
  readonly isSolved?: Tensor;
}

/** Arguments of an adaptive step: the first slope is known, and `timeAt` gives the time at a fraction of the step. */
export type StepArguments = [
  f: PartsField,
  timeAt: (fraction: number) => Tensor,
  dt: TensorLike,
  y: Parts,
  slope: Parts,
];

/** The rule of explicit stages. */
export function explicitStages(f: PartsField): StageRule {
  return (_, t, state) => ({ state, slope: f(t, state) });
}

/** The times of the stages of a step from its start, its length and, if known, its end, without rounding at both ends. */
export function stageTimes(t: Tensor, dt: Tensor, end?: Tensor): (fraction: number) => Tensor {
  return (c) => c === 0 ? t : c === 1 && end ? end : t.add(dt.mul(c));
}

/**
 * The stages of a step.
 *
 * @param timeAt The time at a fraction of the step.
 * @param slope The slope of the first stage, if known.
 */
export function computeStages(
  { a, c }: RungeKutta,
  rule: StageRule,
  timeAt: (fraction: number) => Tensor,
  dt: TensorLike,
  y: Parts,
  slope?: Parts,
): { states: Parts[]; slopes: Parts[] } {
  const first = slope ? { state: y, slope } : rule(0, timeAt(c[0]), y);
  const [states, slopes] = [[first.state], [first.slope]];
  a.forEach((row, j) => {
    const stage = rule(j + 1, timeAt(c[j + 1]), advance(y, row, slopes, dt));
    states.push(stage.state);
    slopes.push(stage.slope);
  });
  return { states, slopes };
}

/** One step, with the arguments of {@linkcode computeStages}. */
export function takeStep(
  tableau: RungeKutta & { readonly diagonal?: number },
  rule: StageRule,
  timeAt: (fraction: number) => Tensor,
  dt: TensorLike,
  y: Parts,
  slope?: Parts,
): Step {
  const { a, b, diagonal = 0 } = tableau;
  const { states, slopes } = computeStages(tableau, rule, timeAt, dt, y, slope);
  const last = a.at(-1);
  const endsAtLastStage = last && b.every((weight, i) => weight === (last[i] ?? diagonal));
  return { y: endsAtLastStage ? states.at(-1)! : advance(y, b, slopes, dt), stages: slopes };
}

/** One explicit step of a state of one tensor. The last arguments are the first slope and the end of the step, if known. */
export function rungeKuttaStep(
  tableau: RungeKutta,
  f: VectorField,
  t: Tensor,
  dt: Tensor,
  y: Tensor,
  slope?: Tensor,
  end?: Tensor,
): Tensor {
  const rule = explicitStages((t, [y]) => [f(t, y)]);
  return takeStep(tableau, rule, stageTimes(t, dt, end), dt, [y], slope && [slope]).y[0];
}

/** The state after equal steps across a duration, of an equation dy/dt = f(y). */
export function rungeKuttaSteps(
  tableau: RungeKutta,
  f: (y: Tensor) => Tensor,
  duration: Tensor,
  y: Tensor,
  steps: number,
): Tensor {
  const dt = duration.div(steps);
  for (let step = 0; step < steps; step++) y = rungeKuttaStep(tableau, (_t, y) => f(y), dt, dt, y);
  return y;
}

/**
 * The gradient of y through the change of an explicit step, dt sum_i b_i k_i, from the cotangent of the change. Each slope
 * contributes to the change and to the states of all later stages, so that the stages run from the last to the first.
 *
 * @param pull The gradient of the state through f at a time and state, from the cotangent of the slope.
 */
export function pullChange(
  tableau: RungeKutta,
  f: VectorField,
  pull: (t: Tensor, y: Tensor, cotangent: Tensor) => Tensor,
  t: Tensor,
  dt: Tensor,
  y: Tensor,
  cotangent: Tensor,
): Tensor {
  const { a, b } = tableau;
  const times: Tensor[] = [];
  const { states } = computeStages(
    tableau,
    (i, t, [state]) => {
      times[i] = t;
      return { state: [state], slope: [f(t, state)] };
    },
    stageTimes(t, dt),
    dt,
    [y],
  );
  const scaled = cotangent.mul(dt);
  const ofStates: (Tensor | undefined)[] = [];
  let sum: Tensor | undefined;
  for (let i = b.length - 1; i >= 0; i--) {
    const weights = [b[i], ...a.slice(i).map((row) => row[i])];
    const cotangents = [scaled, ...a.slice(i).map((_, j) => ofStates[i + 1 + j]?.mul(dt))];
    const used = cotangents.flatMap((x, j) => x && weights[j] !== 0 ? [{ x, weight: weights[j] }] : []);
    if (used.length === 0) continue;
    const ofSlope = combine(used.map(({ weight }) => weight), used.map(({ x }) => x));
    const ofState = ofStates[i] = pull(times[i], states[i][0], ofSlope);
    sum = sum ? sum.add(ofState) : ofState;
  }
  return sum!;
}

/** y + dt sum_i w_i k_i. */
function advance(y: Parts, weights: readonly number[], slopes: readonly Parts[], dt: TensorLike): Parts {
  const change = weigh(weights, slopes, dt);
  return y.map((part, i) => part.add(change[i]));
}

/** dt sum_i w_i k_i. */
export function weigh(weights: readonly number[], slopes: readonly Parts[], dt: TensorLike): Parts {
  return slopes[0].map((_, part) => combine(weights, slopes.map((slope) => slope[part])).mul(dt));
}

/** sum_i w_i x_i. */
export function combine(weights: readonly number[], xs: readonly Tensor[]): Tensor {
  const terms = xs.flatMap((x, i) => weights[i] === 0 ? [] : weights[i] === 1 ? [x] : [x.mul(weights[i])]);
  return terms.length === 0 ? xs[0].zerosLike() : terms.reduce((sum, term) => sum.add(term));
}
