import { checkFunction } from "../tensor/checks.ts";
import { checkOptions } from "../device/options.ts";
import { hostTimes } from "../tensor/host.ts";
import type { Tensor } from "../tensor/tensor.ts";
import type { Tree } from "../tensor/tree.ts";
import { count, searchSteps, solveAdaptively } from "./adaptive/adaptive.ts";
import { type AdaptiveOptions, searchLater } from "./adaptive/adaptive_search.ts";
import {
  memoryAhead,
  solveBackwardsAdaptively,
  solveBackwardsInSteps,
  solveThereAndBack,
} from "./adjoints/adjoint.ts";
import {
  adaptiveOptions,
  checkCoupling,
  checkField,
  checkSteps,
  checkTolerances,
} from "./check_arguments.ts";
import { odeDefaults, type SolveDefaults } from "./defaults.ts";
import { solveOnGrid } from "./fixed/fixed_steps.ts";
import { checkOutputTimes, since, stepTimes } from "./fixed/step_times.ts";
import { hasCoarseMiddle, isAdaptive, type MethodChoice, methodOf, solvedTo } from "./methods.ts";
import { checkOptionUse } from "./option_use.ts";
import { type PackedState, packField, packState } from "./packed_state.ts";
import { rk4 } from "./methods/rk4.ts";
import { type AdaptiveSteps, type Adjoint, solveOptionNames, type SolveOptions } from "./solve_options.ts";
import type { ErrorNorm } from "./adaptive/step_control.ts";
import type { VectorField } from "./runge_kutta.ts";
import { checkTimesSeen, originOf, usesTime } from "./time_origin.ts";

const adjoints: readonly Adjoint[] = ["direct", "checkpoint", "continuous", "reversible"];

/**
 * Solves dy/dt = f(t, y), as torchdiffeq's `odeint`.
 *
 * Times are exact: they are kept in float64, and steps are differences of them. What the vector field is given as `t` has the
 * type of the state. A field that looks at it is refused where float32 cannot tell the steps' times apart, as with Unix
 * seconds: subtract the first time then.
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
 * @param t Times at which the state is wanted, all increasing or all decreasing; two at least.
 * @returns `(length(t), ...y0.shape)`, for each tensor of a tree. Between steps the states are interpolated, linearly or, for
 * adaptive methods, by a polynomial of degree four; implicit methods end a step at each time instead.
 * @param options Without a method the solve is torchdiffeq's: `"dopri5"` with `rtol` 1e-7 and `atol` 1e-9.
 * @throws {OptionError} If the method, or another option, makes an option meaningless, such as a `stepSize` without a method.
 * @throws {RangeError} On an unknown method, a step size or tolerance that is not positive, times in disorder, or more than
 * `maxSteps` steps: the message says how far they led.
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
  const times = hostTimes(t, "odeint: t");
  checkOutputTimes(times, "odeint");
  const state = packState(y0, "odeint", normOf(options));
  return solveSince(ofField(f, state, times, options), state, times, options, odeDefaults);
}

/** A vector field whose time is counted from an origin. */
export interface FieldSince {
  /** A time, in units of time. */
  readonly origin: number;
  /** The vector field; its time is that since the origin. */
  readonly f: VectorField;
  /** Whether the user's function looks at the time that it is given, `origin` included. */
  readonly usesTime: (norm: ErrorNorm) => boolean;
}

/** A vector field for a solve: where float32 does not hold the times, and the field does not look at them, from the first. */
function ofField<S extends Tree>(
  f: VectorField<S>,
  state: PackedState<S>,
  times: Float64Array,
  options: SolveOptions,
): FieldSince {
  const { y0 } = state;
  const field = packField(state, f);
  const far = originOf(times, y0.dtype);
  const origin = far !== 0 && usesTime(field, y0, normOf(options)) ? 0 : far;
  return { origin, f: field, usesTime: (norm) => origin === 0 && usesTime(field, y0, norm) };
}

/** Whether a vector field is given one time, or a time for each sample. */
export const normOf = ({ norm = "batch", steps }: SolveOptions): ErrorNorm => steps?.found.norm ?? norm;

/** Solves an equation whose vector field has an origin of its own; `t` and times of options are not counted from it. */
export function solveSince<S extends Tree>(
  field: FieldSince,
  state: PackedState<S>,
  t: Float64Array,
  options: SolveOptions,
  defaults: SolveDefaults,
): S {
  return state.unpack(solvePacked(field, state, t, options, defaults), 1);
}

/** The same, of packed states: `(length(t), ...y0.shape)`. */
export function solvePacked(
  { origin, f, usesTime }: FieldSince,
  { y0, locate }: Pick<PackedState<Tree>, "y0" | "locate">,
  t: Float64Array,
  options: SolveOptions,
  defaults: SolveDefaults,
): Tensor {
  const chosen = options.method ?? options.steps?.method;
  const { method, isDefault } = { method: chosen ?? defaults.method, isDefault: chosen === undefined };
  const { stepSize, adjoint = "direct", compile } = options;
  const { check = false, statistics } = options;
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
  if (adjoint !== "direct" && kind === "implicit") {
    throw new RangeError(`odeint: ${name} has no ${adjoint} adjoint; use "direct"`);
  }
  const times = since(t, origin);
  const scanOptions = {
    compile: kind === "implicit" ? false : compile,
    executor: options.executor,
    checkpoint: adjoint === "checkpoint",
    memory: adjoint === "continuous" || adjoint === "reversible" ? memoryAhead : undefined,
    check,
  };
  if (isAdaptive(tableau)) {
    checkTimesSeen(t, y0.dtype, () => usesTime(normOf(options)));
    const adaptive = withEnds(method, times, adaptiveOptions(options, y0, origin, defaults));
    const steps = options.steps && checkSteps(options.steps, name, y0, t, origin);
    const own = solvedTo(tableau, adaptive);
    const solve = (field: VectorField) =>
      solveAdaptively(own, field, y0, times, { ...adaptive, ...scanOptions, statistics }, steps);
    if (adjoint !== "continuous") return solve(checked);
    const { adjointRtol: rtol = adaptive.rtol, adjointAtol: atol = adaptive.atol } = options;
    const backwards = { ...adaptive, rtol, atol };
    // A field that has been traced has one time for all samples.
    const isTraced = (steps ?? adaptive).norm === "batch";
    return solveThereAndBack(
      checked,
      y0,
      (field) => solve(isTraced ? field : checked),
      (states) => [states],
      (...given) => solveBackwardsAdaptively(tableau, times, backwards, ...given),
    );
  }
  const { coupling } = options;
  checkCoupling(coupling);
  const tolerances = checkTolerances(options, defaults);
  const choice = { stepSize, grid: options.grid && since(options.grid, origin) };
  const grid = stepTimes(times, choice);
  checkTimesSeen(since(grid, -origin), y0.dtype, () => usesTime("batch"));
  const solve = (field: VectorField) =>
    solveOnGrid(field, y0, times, grid, tableau, {
      origin,
      coupling,
      ...tolerances,
      ...scanOptions,
      locate,
      statistics,
      backwards: adjoint === "reversible",
    });
  if (adjoint !== "continuous") return solve(checked);
  // The adjoint equation has no past slopes, which a multistep method would begin with.
  const backwards = tableau.kind === "adams" ? rk4 : tableau.kind === "reversible" ? tableau.base : tableau;
  return solveThereAndBack(
    checked,
    y0,
    solve,
    (states) => [states],
    (...given) => solveBackwardsInSteps(backwards, times, { ...choice, compile }, ...given),
  );
}

/** With a step that ends at each output time, where a method does not interpolate well enough. */
function withEnds(method: MethodChoice, times: Float64Array, options: AdaptiveOptions): AdaptiveOptions {
  if (!hasCoarseMiddle(method)) return options;
  return { ...options, jumps: [...Array.from(options.jumps ?? []), ...times] };
}

/**
 * Finds the steps of an adaptive method, for devices where that takes waiting: a GPU. The gradient of a solve with them is that
 * of a solve that finds them itself.
 *
 * @example
 * ```ts
 * import { odeint, findOdeintSteps, ones, type Tensor } from "@weft/weft";
 *
 * const f = (_t: Tensor, y: Tensor) => y.neg();
 * const y0 = ones([2, 3]);
 * const steps = await findOdeintSteps(f, y0, [0, 1], { method: "tsit5" });
 * console.log(odeint(f, y0, [0, 0.5, 1], { steps }));
 * ```
 *
 * @param t Of which the first and the last count; all of them for a method that ends a step at each output time: an implicit
 * one, or a tableau without a middle.
 * @param options The method is an adaptive one, `"dopri5"` by default.
 * @throws {RangeError} As {@linkcode odeint}; if the method is not adaptive.
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
  return await findStepsSince(ofField(f, state, times, options), state.y0, times, options, odeDefaults);
}

/** The steps that {@linkcode solveSince} would take. */
export async function findStepsSince(
  { origin, f, usesTime }: FieldSince,
  y0: Tensor,
  t: Float64Array,
  options: SolveOptions,
  defaults: SolveDefaults,
): Promise<AdaptiveSteps> {
  const { method = defaults.method, compile, statistics } = options;
  const tableau = methodOf(method);
  checkOptionUse(tableau, options);
  if (!isAdaptive(tableau)) {
    throw new RangeError(
      `findOdeintSteps: ${tableau.name} has fixed steps, which need not be found; use an adaptive method`,
    );
  }
  checkTimesSeen(t, y0.dtype, () => usesTime(normOf(options)));
  const times = since(t, origin);
  const adaptive = withEnds(method, times, adaptiveOptions(options, y0, origin, defaults));
  const search = searchSteps(solvedTo(tableau, adaptive), checkField(f), y0, times, { ...adaptive, compile });
  const { steps: found } = await searchLater(search);
  count(statistics, found);
  return { method, interval: [t[0], t[t.length - 1]], origin, found };
}
