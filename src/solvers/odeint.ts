import { checkFunction } from "../tensor/checks.ts";
import { checkOptions } from "../device/options.ts";
import { hostTimes } from "../tensor/host.ts";
import type { Tensor } from "../tensor/tensor.ts";
import type { Tree } from "../tensor/tree.ts";
import {
  findSteps,
  recordStatistics,
  runSearchAsync,
  solveAdaptively,
  type Solved,
  type Wanted,
} from "./adaptive/adaptive.ts";
import type { AdaptiveOptions } from "./adaptive/steps.ts";
import { sameSteps, stepsOnGrid } from "./adaptive/steps_on_grid.ts";
import { solveBackwardsAdaptively, solveBackwardsInSteps, solveWithAdjoint } from "./adjoints/adjoint.ts";
import {
  checkAdaptiveOptions,
  checkCoupling,
  checkField,
  checkSteps,
  checkTolerances,
  type StateLayout,
  stepChoiceOf,
} from "./check_arguments.ts";
import { packTolerance } from "./control/tolerances.ts";
import { odeDefaults, type SolveDefaults } from "./defaults.ts";
import { solveFixedSteps } from "./fixed/fixed_steps.ts";
import { checkOutputTimes, shiftTimes, stepTimes } from "./fixed/step_times.ts";
import { hasDenseOutput, isAdaptive, type MethodChoice, methodOf, withStageTolerances } from "./methods.ts";
import { checkOptionUse } from "./option_use.ts";
import { type PackedState, packField, packState } from "./packed_state.ts";
import { rk4 } from "./methods/rk4.ts";
import { type AdaptiveSteps, type Adjoint, solveOptionNames, type SolveOptions } from "./solve_options.ts";
import type { ErrorNorm } from "./adaptive/step_control.ts";
import type { VectorField } from "./runge_kutta.ts";
import { type SolveTimes, solveTimes, withTimeGradients } from "./time_gradients.ts";
import { checkTimeResolution, originOf, usesTime } from "./time_origin.ts";

const adjoints: readonly Adjoint[] = ["direct", "checkpoint", "continuous", "reversible"];

/**
 * Solves dy/dt = f(t, y), as torchdiffeq's `odeint`.
 *
 * Times are kept in float64, so that step sizes are exact. The `t` that the vector field receives has the type of the state.
 * If float32 cannot distinguish the times of the steps, such as Unix seconds, a vector field that uses `t` is rejected:
 * subtract the first time.
 *
 * @example
 * ```ts
 * import { odeint, tensor } from "@weft/weft";
 *
 * const y = odeint((_t, y) => y.neg(), tensor([1]), [0, 1], { method: "rk4", stepSize: 0.1 });
 * console.log(await y.data()); // 1 and exp(-1)
 * ```
 *
 * @example A state of several tensors
 * ```ts
 * import { odeint, tensor } from "@weft/weft";
 *
 * // An oscillator: the solution has the structure of the state, with the times as first axis.
 * const start = { position: tensor([1, 0]), velocity: tensor([0, 1]) };
 * const { position, velocity } = odeint(
 *   (_t, { position, velocity }) => ({ position: velocity, velocity: position.neg() }),
 *   start,
 *   [0, 0.5, 1],
 *   { method: "dopri5" },
 * );
 * console.log(position.shape, velocity.shape); // [3, 2] and [3, 2]
 * ```
 *
 * @param f The vector field. `t` is a scalar tensor. The result has the structure and shapes of `y`.
 * @param y0 The state at the first time: a float32 or float64 tensor of any shape, or plain objects and arrays of
 * such tensors of one type. Several tensors are solved as if they were concatenated: an adaptive method takes the root mean
 * square of its error over all of them. If they share a first axis, it is the axis of the samples.
 * @param t Output times, at least two, increasing or decreasing. If they are a tensor, first-order gradients flow to the times;
 * the gradients are those of the exact solution at the computed states.
 * @returns `(length(t), ...y0.shape)`, for each tensor of a tree. States within steps are interpolated: linearly, or, for
 * adaptive methods, by a polynomial of degree four. Implicit methods end a step at each output time instead.
 * @param options By default the method of torchdiffeq, `"dopri5"` with `rtol` 1e-7 and `atol` 1e-9.
 * @throws {OptionError} If the method or another option excludes an option, such as a `stepSize` without a method.
 * @throws {RangeError} If the method is unknown, a step size or tolerance is not positive, times are not monotone, or an
 * adaptive solve needs more than `maxSteps` steps: the message contains the time that the solve reached.
 * @throws {ShapeError | TypeError} If the result of the vector field has another structure, shape or type than the state.
 */
export function odeint<S extends Tree>(
  f: VectorField<S>,
  y0: S,
  t: Tensor | ArrayLike<number>,
  options: SolveOptions = {},
): S {
  checkFunction("odeint", "f", f);
  checkOptions("odeint", options, solveOptionNames);
  const times = solveTimes(t, "odeint");
  checkOutputTimes(times.host, "odeint");
  const state = packState(y0, "odeint", normOf(options));
  return solveTree(shiftField(f, state, times.host, options), state, times, options, odeDefaults);
}

/** A vector field of packed states, with times relative to an origin. */
export interface ShiftedField {
  /** The origin, in units of time. */
  readonly origin: number;
  /** The vector field. Its `t` is the time since the origin. */
  readonly f: VectorField;
  /** Whether the result of the user's function depends on its time, which includes the origin. */
  readonly usesTime: (norm: ErrorNorm) => boolean;
}

/**
 * Shifts a vector field. If float32 cannot hold the times and the field does not use them, the origin is the first time; otherwise
 * it is 0.
 */
export function shiftField<S extends Tree>(
  f: VectorField<S>,
  state: PackedState<S>,
  times: Float64Array,
  options: SolveOptions,
): ShiftedField {
  const { y0 } = state;
  const field = packField(state, f);
  const first = originOf(times, y0.dtype);
  const origin = first !== 0 && usesTime(field, y0, normOf(options)) ? 0 : first;
  return { origin, f: field, usesTime: (norm) => origin === 0 && usesTime(field, y0, norm) };
}

/** The norm, which decides whether a vector field receives one time, or one per sample. */
export const normOf = ({ norm = "batch", steps }: SolveOptions): ErrorNorm =>
  steps?.accepted.norm ?? (typeof norm === "function" ? "batch" : norm);

/** Solves an equation with a shifted vector field. `t` and the times of options are not shifted. */
export function solveTree<S extends Tree>(
  field: ShiftedField,
  state: PackedState<S>,
  t: SolveTimes,
  options: SolveOptions,
  defaults: SolveDefaults,
): S {
  return state.unpack(solveTimed(field, state, t, options, defaults).y, 1);
}

/** As {@linkcode solveTree}, but returns packed states `(length(t), ...y0.shape)`, and what else is wanted. */
export function solveTimed(
  field: ShiftedField,
  state: StateLayout,
  t: SolveTimes,
  options: SolveOptions,
  defaults: SolveDefaults,
  wanted?: Wanted,
): Solved {
  const solve = (y0: Tensor) => solvePacked(field, { ...state, y0 }, t.host, options, defaults, wanted);
  if (!t.watched) return solve(state.y0);
  const times = shiftTimes(t.host, field.origin);
  const ownTimes = normOf(options) === "sample";
  let solved!: Solved;
  const y = withTimeGradients(
    field.f,
    state.y0,
    times,
    t.watched,
    ownTimes,
    (y0) => (solved = solve(y0)).y,
  );
  return { ...solved, y };
}

/** As {@linkcode solveTimed}, without gradients for times. */
export function solvePacked(
  { origin, f, usesTime }: ShiftedField,
  state: StateLayout,
  t: Float64Array,
  options: SolveOptions,
  defaults: SolveDefaults,
  wanted: Wanted = {},
): Solved {
  const chosen = options.method ?? options.steps?.method;
  const { method, isDefault } = { method: chosen ?? defaults.method, isDefault: chosen === undefined };
  const { y0, locate } = state;
  const { adjoint = "direct", compile, check = false, statistics } = options;
  const tableau = methodOf(method);
  const { kind, name } = tableau;
  checkOptionUse(tableau, options, isDefault);
  if (!adjoints.includes(adjoint)) {
    throw new RangeError(`odeint: adjoint "${adjoint}" is unknown; use one of ${adjoints.join(", ")}`);
  }
  const checked = checkField(f);
  if (adjoint === "reversible" && kind !== "reversible") {
    const hasForm = !isDefault && typeof method === "string" &&
      (kind === "explicit" || kind === "embedded");
    throw new RangeError(
      `odeint: the steps of ${name}${
        isDefault ? ", the default method," : ""
      } cannot be undone, as the reversible adjoint needs; use the method "reversible_${
        hasForm ? name : "rk4"
      }", or the adjoint "direct"`,
    );
  }
  const times = shiftTimes(t, origin);
  const choice = stepChoiceOf(options, origin);
  const scanOptions = {
    compile,
    executor: options.executor,
    checkpoint: adjoint === "checkpoint",
    memory: adjoint === "continuous" || adjoint === "reversible" ? "constant" as const : undefined,
    check,
  };
  if (isAdaptive(tableau)) {
    checkTimeResolution(t, y0.dtype, () => usesTime(normOf(options)));
    const adaptive = stopAtOutputTimes(
      method,
      wanted.rows ? [...times, ...wanted.rows.all] : times,
      checkAdaptiveOptions(options, state, origin, defaults),
    );
    const isFixed = options.controller?.kind === "fixed";
    const steps = options.steps
      ? checkSteps(options.steps, name, y0, t, origin)
      : isFixed
      ? stepsOnGrid(tableau, y0, times, choice, adaptive)
      : undefined;
    const solver = withStageTolerances(tableau, adaptive);
    const solve = (field: VectorField) =>
      solveAdaptively(solver, field, y0, times, { ...adaptive, ...scanOptions, statistics }, steps, wanted);
    if (adjoint !== "continuous") return solve(checked);
    const refused = wanted.keepsSteps
      ? "save.steps and save.dense"
      : wanted.rows
      ? "times of each sample"
      : wanted.throws === false
      ? "throw: false"
      : undefined;
    if (refused) {
      throw new RangeError(
        `solve: the adjoint "continuous" of ${name} does not support ${refused}; use the adjoint "direct" or "checkpoint"`,
      );
    }
    const { adjointRtol, adjointAtol } = options;
    const backwards = {
      ...adaptive,
      ...(isFixed ? sameSteps(steps!, times) : {}),
      ...(adjointRtol === undefined ? {} : { rtol: packTolerance("adjointRtol", adjointRtol, state) }),
      ...(adjointAtol === undefined ? {} : { atol: packTolerance("adjointAtol", adjointAtol, state) }),
    };
    // The traced field has a single time for all samples.
    const isTraced = (steps ?? adaptive).norm === "batch";
    return solveWithAdjoint(
      checked,
      y0,
      (field) => solve(isTraced ? field : checked),
      ({ y }) => [y],
      (field, { y }, ...args) =>
        solveBackwardsAdaptively(
          withStageTolerances(tableau, backwards, 2),
          times,
          backwards,
          field,
          y,
          ...args,
        ),
    );
  }
  const { coupling } = options;
  checkCoupling(coupling);
  const tolerances = checkTolerances(options, defaults, state);
  const grid = stepTimes(times, choice);
  checkTimeResolution(shiftTimes(grid, -origin), y0.dtype, () => usesTime("batch"));
  const solve = (field: VectorField) =>
    solveFixedSteps(field, y0, times, grid, tableau, {
      origin,
      coupling,
      ...tolerances,
      ...scanOptions,
      locate,
      statistics,
      backwards: adjoint === "reversible",
    });
  if (adjoint !== "continuous") return { y: solve(checked) };
  // A multistep method needs past slopes, which the adjoint equation does not have.
  const backwards = tableau.kind === "adams" ? rk4 : tableau.kind === "reversible" ? tableau.base : tableau;
  const y = solveWithAdjoint(
    checked,
    y0,
    solve,
    (states) => [states],
    (...args) => solveBackwardsInSteps(backwards, times, { ...choice, compile }, ...args),
  );
  return { y };
}

/** Ends a step at each output time if the method has no dense output. */
function stopAtOutputTimes(
  method: MethodChoice,
  times: ArrayLike<number>,
  options: AdaptiveOptions,
): AdaptiveOptions {
  if (hasDenseOutput(method)) return options;
  return { ...options, jumps: [...Array.from(options.jumps ?? []), ...Array.from(times)] };
}

/**
 * Finds the steps of an adaptive method in advance. A GPU needs this, because its values must be awaited. A solve with the option
 * `steps` has the same gradient as a solve that finds its steps itself.
 *
 * @example
 * ```ts
 * import { findOdeintSteps, odeint, ones, type Tensor } from "@weft/weft";
 *
 * const f = (_t: Tensor, y: Tensor) => y.neg();
 * const y0 = ones([2, 3]);
 * const steps = await findOdeintSteps(f, y0, [0, 1], { method: "tsit5" });
 * console.log(odeint(f, y0, [0, 0.5, 1], { steps }));
 * ```
 *
 * @param t Output times. Only the first and the last matter, unless the method ends a step at each output time: an implicit
 * method, or a tableau without `middle`.
 * @param options The method must be adaptive; `"dopri5"` by default.
 * @throws {RangeError} As {@linkcode odeint}, and if the method is not adaptive.
 */
export async function findOdeintSteps<S extends Tree>(
  f: VectorField<S>,
  y0: S,
  t: Tensor | ArrayLike<number>,
  options: SolveOptions = {},
): Promise<AdaptiveSteps> {
  checkFunction("findOdeintSteps", "f", f);
  checkOptions("findOdeintSteps", options, solveOptionNames);
  const times = hostTimes(t, "findOdeintSteps: t");
  checkOutputTimes(times, "findOdeintSteps");
  const state = packState(y0, "findOdeintSteps", normOf(options));
  return await findPackedSteps(shiftField(f, state, times, options), state, times, options, odeDefaults);
}

/** The steps that {@linkcode solvePacked} would take. */
export async function findPackedSteps(
  { origin, f, usesTime }: ShiftedField,
  state: StateLayout,
  t: Float64Array,
  options: SolveOptions,
  defaults: SolveDefaults,
): Promise<AdaptiveSteps> {
  const { y0 } = state;
  const { method = defaults.method, compile, statistics, controller } = options;
  const tableau = methodOf(method);
  checkOptionUse(tableau, options);
  if (!isAdaptive(tableau)) {
    throw new RangeError(
      `findOdeintSteps: ${tableau.name} has fixed steps, which need not be found; use an adaptive method`,
    );
  }
  checkTimeResolution(t, y0.dtype, () => usesTime(normOf(options)));
  const times = shiftTimes(t, origin);
  const adaptive = stopAtOutputTimes(method, times, checkAdaptiveOptions(options, state, origin, defaults));
  const search = findSteps(withStageTolerances(tableau, adaptive), checkField(f), y0, times, {
    ...adaptive,
    compile,
  });
  const accepted = controller?.kind === "fixed"
    ? stepsOnGrid(tableau, y0, times, stepChoiceOf(options, origin), adaptive)
    : await runSearchAsync(search);
  recordStatistics(statistics, accepted);
  return { method, interval: [t[0], t[t.length - 1]], origin, accepted };
}
