/**
 * The continuous adjoint: gradients by solving a second differential equation backwards in time, beside the state's own.
 * (Chen et al., "Neural Ordinary Differential Equations", 2018, appendix B; Kidger et al., 2020, section 3.2.) Memory does
 * not depend on the number of steps. The gradient is that of the equation, not of its discrete solution, so it is exact in
 * the limit of small steps only.
 */
import { differentiate } from "../../autodiff/differentiate.ts";
import { Loop, TracedFunction } from "../../compile/loop/loop.ts";
import { tensor } from "../../tensor/creation.ts";
import { concatenate } from "../../tensor/functions.ts";
import { hasValues, isRecording, isWatched, record, withoutRecording } from "../../tensor/primitive.ts";
import { tidy } from "../../tensor/scope.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { solveParts } from "../adaptive/adaptive.ts";
import type { AdaptiveOptions } from "../adaptive/adaptive_search.ts";
import type { AdaptiveMethod } from "../adaptive/embedded.ts";
import { type StepChoice, stepTimes } from "../fixed/step_times.ts";
import { type PartsField, type StageRule, stageTimes, takeStep, type VectorField } from "../runge_kutta.ts";
import type { RungeKutta } from "../tableaus.ts";

/** Traces a vector field: a function of the time and the state. */
function traceField(f: VectorField, y0: Tensor): TracedFunction {
  return new TracedFunction(f, { shape: [], dtype: y0.dtype }, y0);
}

/** Gradients of tensors, summed up; none where they are zero. */
export type GradientSums = readonly (Tensor | undefined)[];

/** Adds gradients of some tensors to their sums so far. */
export function addGradients(sums: GradientSums, gradients: GradientSums): GradientSums {
  return gradients.map((gradient, i) => gradient && sums[i] ? sums[i].add(gradient) : sums[i] ?? gradient);
}

/** The adjoint at the first time, and the gradients of the constants that are wanted. */
export interface AdjointSolution {
  readonly a: Tensor;
  readonly sums: GradientSums;
}

/**
 * Solves an equation whose gradient is found by another solve, backwards in time.
 *
 * @param solve Solves with a vector field.
 * @param outputs Picks from the solution the tensors that have a gradient.
 * @param backwards Solves backwards, from the traced field, the solution, the gradients of the outputs, and the tensors that the
 * field closes over whose gradients are wanted.
 * @param isOfSteps Whether the gradient is that of the steps, as the solve's own would be.
 */
export function solveThereAndBack<T>(
  f: VectorField,
  y0: Tensor,
  solve: (f: VectorField) => T,
  outputs: (solution: T) => readonly Tensor[],
  backwards: (
    field: TracedFunction,
    solution: T,
    cotangents: readonly (Tensor | undefined)[],
    constants: readonly Tensor[],
  ) => AdjointSolution,
  isOfSteps = false,
): T {
  const field = traceField(f, y0);
  const forwards = () => solve((t, y) => field.call(t, y));
  const solution = withoutRecording(() => tidy(forwards));
  const inputs = [y0, ...field.constants];
  record(inputs, outputs(solution), (cotangents, wanted) => {
    // What undoes steps begins with more than the outputs: the gradient of a gradient would lack how that depends on the inputs.
    if (isOfSteps && isRecording()) {
      return gradientsThrough(() => outputs(forwards()), inputs, wanted, cotangents);
    }
    const constants = field.constants.filter((_, i) => wanted[i + 1]);
    const { a, sums } = backwards(field, solution, cotangents, constants);
    return [a, ...field.constants.map((x) => sums[constants.indexOf(x)])];
  });
  return solution;
}

/** Gradients of inputs through what is computed of them once more, and so recorded; each tensor's once, where it is wanted. */
function gradientsThrough(
  f: () => readonly Tensor[],
  inputs: readonly Tensor[],
  wanted: readonly boolean[],
  cotangents: readonly (Tensor | undefined)[],
): (Tensor | undefined)[] {
  const watched = [...new Set(inputs.filter((_, i) => wanted[i]))];
  const { gradients } = differentiate(f, watched, () => cotangents);
  return inputs.map((x, i) => inputs.indexOf(x) === i ? gradients[watched.indexOf(x)] : undefined);
}

/** Arguments of a solve of the adjoint equation: the field, the states at the output times and their gradient. */
type Given = [
  field: TracedFunction,
  states: Tensor,
  cotangents: readonly (Tensor | undefined)[],
  constants: readonly Tensor[],
];

/**
 * Solves the adjoint equation with an adaptive method; the errors of the constants' gradients do not count.
 *
 * @throws {Error} If a gradient of the gradient is being asked for: this solve is not recorded.
 */
export function solveBackwardsAdaptively(
  tableau: AdaptiveMethod,
  times: Float64Array,
  options: AdaptiveOptions,
  ...[field, states, [arriving], constants]: Given
): AdjointSolution {
  const cotangent = arriving!;
  if ([states, cotangent, ...constants].some(isWatched)) {
    throw new Error(
      `odeint: a gradient of a gradient is asked for, which the adjoint "continuous" of ${tableau.name} does not have; use the ` +
        'adjoint "direct", or a method of fixed steps, rk4 say',
    );
  }
  if (![states, cotangent, ...constants].every(hasValues)) {
    throw new Error(
      `odeint: the adjoint "continuous" of ${tableau.name} chooses its steps while it runs, which vmap cannot do for each ` +
        'example; use the adjoint "direct"',
    );
  }
  const augmented: PartsField = (t, [y, a]) => {
    const { output, gradient = y.zerosLike(), ofConstants } = field.pull([t, y], a.neg(), 1, constants);
    return [output, gradient, ...constants.map((x, i) => ofConstants[i] ?? x.zerosLike())];
  };
  let a = cotangent.select(0, -1);
  let sums = constants.map((x) => x.zerosLike());
  for (let i = times.length - 1; i > 0; i--) {
    const interval = [times[i], times[i - 1]] as const;
    const [, arrived, ...added] = solveParts(
      tableau,
      augmented,
      [states.select(0, i), a, ...sums],
      interval,
      options,
      2,
    );
    a = arrived.add(cotangent.select(0, i - 1));
    sums = added;
  }
  return { a, sums };
}

/** Solves the adjoint equation in steps of a fixed size. */
export function solveBackwardsInSteps(
  tableau: RungeKutta,
  times: Float64Array,
  { compile, ...choice }: StepChoice & { readonly compile?: boolean },
  ...[field, states, [arriving], constants]: Given
): AdjointSolution {
  const cotangent = arriving!;
  const { dtype } = states;
  // From each output time back to the one before it; there the state is the solution's again, and its gradient arrives.
  const intervals = Array.from({ length: times.length - 1 }, (_, i) => {
    const later = times.length - 1 - i;
    return { later, grid: stepTimes(Float64Array.of(times[later], times[later - 1]), choice) };
  });
  const starts = intervals.flatMap(({ grid }) => [...grid.subarray(0, -1)]);
  const lengths = intervals.flatMap(({ grid }) => [...grid.subarray(1)].map((end, i) => end - grid[i]));
  const arrivals = intervals.flatMap(({ later, grid }) =>
    [...grid.subarray(1)].map((_, i) => i === 0 ? later : -1)
  );
  const vector = (values: number[]) => tensor(Float64Array.from(values), { dtype });

  const last = states.select(0, -1);
  const many = times.length > 2;
  // Row number zero of both stands for the steps at which nothing arrives.
  const at = tensor(arrivals.map((later) => later + 1), { dtype: "int32" });
  const rowsOf = (x: Tensor) => concatenate([x.slice(0, 0, 1).zerosLike(), x]).take(at);
  const rows = {
    t: vector(starts),
    dt: vector(lengths),
    arriving: many
      ? [{
        is: tensor(arrivals.map((later) => later >= 0)),
        state: rowsOf(states),
        gradient: rowsOf(cotangent),
      }]
      : [],
  };
  const body = (carry: { y: Tensor; a: Tensor }, { t, dt, arriving: [arriving] }: typeof rows) => {
    const state = arriving ? arriving.is.where(arriving.state, carry.y) : carry.y;
    const adjoint = arriving ? carry.a.add(arriving.gradient) : carry.a;
    let sums: GradientSums = [];
    // da/dt = -a df/dy and dp/dt = -a df/dp. Only the weighted gradients of the constants p are needed, so that one reverse pass
    // with the stage's weight gives both. The weight is then divided out of the slope of a.
    const rule: StageRule = (i, time, [y, a]) => {
      const scale = tableau.b[i] === 0 ? undefined : dt.mul(-tableau.b[i]);
      const pulled = field.pull([time, y], scale ? a.mul(scale) : a, 1, scale ? constants : []);
      const gradient = pulled.gradient ?? y.zerosLike();
      if (scale) sums = addGradients(sums, pulled.ofConstants);
      const change = scale ? gradient.div(dt.mul(tableau.b[i])) : gradient.neg();
      return { state: [y, a], slope: [pulled.output, change] };
    };
    const { y: [y, a] } = takeStep(tableau, rule, stageTimes(t, dt), dt, [state, adjoint]);
    return {
      carry: { y, a },
      sums: constants.map((x, i) => sums[i] ?? x.zerosLike()),
    };
  };
  const initial = { y: last, a: many ? last.zerosLike() : cotangent.select(0, -1) };
  const loop = new Loop(body, initial, rows, {
    compile,
    memory: memoryAhead,
    gradients: ({ a }, { arriving }) => [a, ...arriving.map(({ gradient }) => gradient)],
    // Gradients of projections stay where their sums over the samples can be taken.
    keepsProducts: true,
  });
  const result = loop.run(initial, starts.length);
  return { a: result.carry.a.add(cotangent.select(0, 0)), sums: result.sums };
}

/** Bytes for what is known ahead of the steps, where memory must not grow with their number. */
export const memoryAhead: number = 2 ** 24;
