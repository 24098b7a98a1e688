/**
 * The continuous adjoint: gradients by a second differential equation, solved backwards in time together with the state. (Chen et al.,
 * "Neural Ordinary Differential Equations", 2018, appendix B; Kidger et al., 2020, section 3.2.) Memory is independent of the number
 * of steps. The gradient is that of the equation, and equals the gradient of the discrete solution only in the limit of small
 * steps.
 */
import { differentiate } from "../../autodiff/differentiate.ts";
import { Transformation } from "../../autodiff/transformation.ts";
import { inEachCall } from "../../compile/jit/each_call.ts";
import { Loop, TracedFunction } from "../../compile/loop/loop.ts";
import { tensor } from "../../tensor/creation.ts";
import { concatenate } from "../../tensor/functions.ts";
import {
  beneath,
  isRecording,
  isWatched,
  record,
  traceOf,
  withoutRecording,
} from "../../tensor/primitive.ts";
import { tidy } from "../../tensor/scope.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { solveParts } from "../adaptive/adaptive.ts";
import type { AdaptiveOptions } from "../adaptive/steps.ts";
import type { AdaptiveMethod } from "../adaptive/embedded.ts";
import { type StepChoice, stepTimes } from "../fixed/step_times.ts";
import { type PartsField, type StageRule, stageTimes, takeStep, type VectorField } from "../runge_kutta.ts";
import type { RungeKutta } from "../tableaus.ts";

/** Traces a vector field as a function of time and state. */
function traceField(f: VectorField, y0: Tensor): TracedFunction {
  return new TracedFunction(f, { shape: [], dtype: y0.dtype }, y0);
}

/** Sums of gradients of tensors. `undefined` is zero. */
export type GradientSums = readonly (Tensor | undefined)[];

/** Adds gradients to sums. */
export function addGradients(sums: GradientSums, gradients: GradientSums): GradientSums {
  return gradients.map((gradient, i) => gradient && sums[i] ? sums[i].add(gradient) : sums[i] ?? gradient);
}

/** The adjoint at the first time, and the gradients of the constants. */
export interface AdjointSolution {
  readonly a: Tensor;
  readonly sums: GradientSums;
}

/**
 * Solves an equation whose gradient is computed by a second solve, backwards in time.
 *
 * @param solve Solves with a vector field.
 * @param outputs The tensors of the solution that have a gradient.
 * @param backwards Solves backwards, from the traced field, the solution, the cotangents of the outputs, and the constants of the
 * field whose gradients are needed.
 * @param isOfSteps Whether `backwards` returns the gradient of the discrete solution, instead of that of the equation.
 */
export function solveWithAdjoint<T>(
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
  // A recorder outside of a transformation, as in grad(vmap(solve)), sees the steps of all examples instead of the adjoint.
  if (withoutRecording(isRecording)) return solve(f);
  const field = traceField(f, y0);
  const forwards = () => solve((t, y) => field.call(t, y));
  const solution = withoutRecording(() => tidy(forwards));
  const inputs = [y0, ...field.constants];
  record(inputs, outputs(solution), (cotangents, wanted) => {
    // The backward reconstruction starts from values that are not outputs. A second gradient would miss their dependence on the
    // inputs, so it differentiates through the steps instead.
    if (isOfSteps && isRecording()) {
      return gradientsThrough(() => outputs(forwards()), inputs, wanted, cotangents);
    }
    const constants = field.constants.filter((_, i) => wanted[i + 1]);
    const { a, sums } = backwards(field, solution, cotangents, constants);
    return [a, ...field.constants.map((x) => sums[constants.indexOf(x)])];
  });
  return solution;
}

/** Gradients of inputs by recomputing a function of them, so that they are recorded. Each input has one gradient. */
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

/** Arguments of a solve of the adjoint equation: the field, the states at the output times, their cotangents, and the constants. */
type AdjointArguments = [
  field: TracedFunction,
  states: Tensor,
  cotangents: readonly (Tensor | undefined)[],
  constants: readonly Tensor[],
];

/** Whether a tensor, or the values of its examples, are watched. */
function isWatchedWithin(x: Tensor): boolean {
  const trace = traceOf([x]);
  if (isWatched(x) || !(trace instanceof Transformation)) return isWatched(x);
  return beneath(trace, () => trace.allParts(x).some(isWatchedWithin));
}

/**
 * Solves the adjoint equation with an adaptive method. The errors of the gradients of constants are not controlled.
 *
 * @throws {Error} If a second gradient is requested: this solve is not recorded.
 */
export function solveBackwardsAdaptively(
  tableau: AdaptiveMethod,
  times: Float64Array,
  options: AdaptiveOptions,
  ...[field, states, [ofStates], constants]: AdjointArguments
): AdjointSolution {
  const cotangent = ofStates!;
  if ([states, cotangent, ...constants].some(isWatchedWithin)) {
    throw new Error(
      `odeint: a second gradient is requested, which the adjoint "continuous" of ${tableau.name} does not support; use the ` +
        'adjoint "direct", or a fixed-step method, such as rk4',
    );
  }
  // Inside jit, each call chooses its steps.
  const [a, ...sums] = inEachCall(
    [states, cotangent, ...field.closedOver],
    ([states, cotangent, ...closedOver]) => {
      const augmented: PartsField = (t, [y, a]) => {
        const pulled = field.pull([t, y], a.neg(), 1, constants, closedOver);
        const { output, gradient = y.zerosLike(), ofConstants } = pulled;
        return [output, gradient, ...constants.map((x, i) => ofConstants[i] ?? x.zerosLike())];
      };
      let parts = [cotangent.select(0, -1), ...constants.map((x) => x.zerosLike())];
      for (let i = times.length - 1; i > 0; i--) {
        const interval = [times[i], times[i - 1]] as const;
        const from = [states.select(0, i), ...parts];
        const [, adjoint, ...added] = solveParts(tableau, augmented, from, interval, options, 2);
        parts = [adjoint.add(cotangent.select(0, i - 1)), ...added];
      }
      return parts;
    },
  );
  return { a, sums };
}

/** Solves the adjoint equation with fixed steps. */
export function solveBackwardsInSteps(
  tableau: RungeKutta,
  times: Float64Array,
  { compile, ...choice }: StepChoice & { readonly compile?: boolean },
  ...[field, states, [ofStates], constants]: AdjointArguments
): AdjointSolution {
  const cotangent = ofStates!;
  const { dtype } = states;
  // Solve from each output time back to the previous one. At an output time the state is reset to the solution, and the cotangent
  // of the output is added to the adjoint.
  const intervals = Array.from({ length: times.length - 1 }, (_, i) => {
    const later = times.length - 1 - i;
    return { later, grid: stepTimes(Float64Array.of(times[later], times[later - 1]), choice) };
  });
  const starts = intervals.flatMap(({ grid }) => [...grid.subarray(0, -1)]);
  const lengths = intervals.flatMap(({ grid }) => [...grid.subarray(1)].map((end, i) => end - grid[i]));
  const outputs = intervals.flatMap(({ later, grid }) =>
    [...grid.subarray(1)].map((_, i) => i === 0 ? later : -1)
  );
  const vector = (values: number[]) => tensor(Float64Array.from(values), { dtype });

  const last = states.select(0, -1);
  const many = times.length > 2;
  // Row 0 is zero, for steps that do not start at an output time.
  const at = tensor(outputs.map((later) => later + 1), { dtype: "int32" });
  const rowsOf = (x: Tensor) => concatenate([x.slice(0, 0, 1).zerosLike(), x]).take(at);
  const rows = {
    t: vector(starts),
    dt: vector(lengths),
    resets: many
      ? [{
        isAtOutput: tensor(outputs.map((later) => later >= 0)),
        state: rowsOf(states),
        gradient: rowsOf(cotangent),
      }]
      : [],
  };
  const body = (carry: { y: Tensor; a: Tensor }, { t, dt, resets: [reset] }: typeof rows) => {
    const state = reset ? reset.isAtOutput.where(reset.state, carry.y) : carry.y;
    const adjoint = reset ? carry.a.add(reset.gradient) : carry.a;
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
    memory: "constant",
    gradients: ({ a }, { resets }) => [a, ...resets.map(({ gradient }) => gradient)],
    // Keep products, so that gradients of matrices are summed over samples and steps at once.
    keepsProducts: true,
  });
  const result = loop.run(initial, starts.length);
  return { a: result.carry.a.add(cotangent.select(0, 0)), sums: result.sums };
}
