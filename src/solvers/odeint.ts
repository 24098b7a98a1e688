import type { ScanOptions } from "../compile/scan.ts";
import { hostTimes } from "../tensor/host.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { count, searchSteps, solveAdaptively, type SolveStatistics } from "./adaptive.ts";
import { searchLater, type Steps } from "./adaptive_search.ts";
import {
  memoryAhead,
  solveBackwardsAdaptively,
  solveBackwardsInSteps,
  solveWithContinuousAdjoint,
} from "./adjoint.ts";
import {
  adaptiveOptions,
  checkCoupling,
  checkField,
  checkState,
  checkSteps,
  checkTolerances,
} from "./checks.ts";
import { solveOnGrid } from "./fixed_steps.ts";
import { checkOutputTimes } from "./grid.ts";
import { isAdaptive, isImplicit, isMultistep, isReversible, methodNamed, solvedTo } from "./methods.ts";
import { rk4 } from "./rk4.ts";
import type { ErrorNorm, StepController } from "./step_control.ts";
import type { VectorField } from "./tableau.ts";

/** How the gradient of a solve is computed. */
export type Adjoint = "direct" | "checkpoint" | "continuous" | "reversible";

/** How a differential equation is solved. */
export interface SolveOptions {
  /**
   * `"rk4"` (the 3/8 rule) by default. Of fixed steps: `euler`, `midpoint`, `heun2`, `heun3`, `ralston`, `rk4`,
   * `rk4_classic` and `reversible_heun`; the reversible form of any explicit Runge-Kutta method, `reversible_rk4` say
   * (McCallum and Foster, 2024); `explicit_adams` and, on the CPU, `implicit_adams`, for a `stepSize` that divides the
   * interval. With steps as long as the tolerances allow: `fehlberg2`, `adaptive_heun`, `bosh3`, `dopri5`, `tsit5` and
   * `dopri8`, on a GPU with `steps` that were found before; and, on the CPU, for stiff equations `kvaerno3` and `kvaerno5`, which solve for each sample, a row of a state of
   * two or more axes, with its Jacobian: for small states, of samples that do not depend on one another.
   */
  method?: string;
  /**
   * The length of a step, in units of time; without it one step leads from each output time to the next. For an adaptive
   * method that of the first step, which it finds by itself otherwise.
   */
  stepSize?: number;
  /** Times at which a method of fixed steps steps, instead of a step size; the first and the last of `t` are added. */
  grid?: ArrayLike<number>;
  /**
   * An adaptive method's steps have an error of `atol + rtol |y|` at most, and the corrections of `implicit_adams` stop
   * there; 1e-4 by default.
   */
  rtol?: number;
  /** 1e-6 by default. */
  atol?: number;
  /**
   * Of which elements an adaptive method's error is the root mean square. `"batch"` (the default): of all, so that the entire
   * batch takes the same steps, which are torchdiffeq's. `"sample"`: of each sample on its own (a position along the state's
   * first axis), which takes steps of its own; the search for them is compiled, and a sample's solution does not depend on the
   * others. The vector field is then given a time for each, `(batch, 1, ...)`, which broadcasts against the state. The
   * continuous adjoint's own steps stay those of the batch.
   */
  norm?: ErrorNorm;
  /** The steps of an adaptive method, found before: with {@linkcode odeintSteps} or {@linkcode cdeintSteps}. */
  steps?: AdaptiveSteps;
  /** How an adaptive method's next step follows from the errors of the last ones; torchdiffeq's integral controller. */
  controller?: StepController;
  /** Steps that an adaptive method tries at most (for each sample that takes its own), 10,000 by default. */
  maxSteps?: number;
  /** Times at which the vector field may jump: an adaptive method ends a step at each. */
  jumpTimes?: ArrayLike<number>;
  /** `rtol` of the continuous adjoint's own solve: the same by default. */
  adjointRtol?: number;
  /** `atol` of the continuous adjoint's own solve: the same by default. */
  adjointAtol?: number;
  /**
   * How the two states of a method's reversible form hold together, between 0 and 1, 1 included. By default 0.999, and nearer
   * to 1 for more than 4000 steps: where they are undone, rounding errors grow by `coupling ** -steps`.
   */
  coupling?: number;
  /** Takes up what the solve has cost. */
  statistics?: SolveStatistics;
  /**
   * `"direct"` (the default): the exact gradient of the discrete solution; the state is kept once a step.
   * `"checkpoint"`: the same numbers; the state is kept every so many steps, memory grows with their square root.
   * `"continuous"`: the adjoint equation solved backwards; memory does not grow, and the gradient has the solver's error.
   * An adaptive method looks at the errors of state and adjoint then, and not at those of the parameters' gradients (Kidger
   * et al., "Hey, that's not an ODE", 2021).
   * `"reversible"`: the exact gradient of the discrete solution; states are reconstructed instead of kept, so that memory does
   * not grow. For the methods whose names begin with `reversible_`.
   */
  adjoint?: Adjoint;
  /**
   * Whether to look for states that are infinite or NaN, `false` by default. The first is reported with its time, step and
   * sample, as a {@linkcode DivergenceError}; it takes keeping all states. With names for the state's axes after the first
   * the report says by them where in the sample it is.
   */
  check?: boolean | readonly string[];
  /** Whether the solve is compiled, `true` by default; otherwise every operation of every step runs by itself. */
  compile?: boolean;
  /**
   * What runs a compiled solve: see {@linkcode ScanOptions.executor}. The continuous adjoint's own solve chooses for itself.
   */
  executor?: ScanOptions["executor"];
}

/** The steps of an adaptive solve. */
export interface AdaptiveSteps {
  /** The method that they were found with. */
  readonly method: string;
  /** The first and the last time. */
  readonly interval: readonly [number, number];
  /**
   * Where each begins and ends, of each sample or of all.
   *
   * @internal
   */
  readonly found: Steps;
}

const adjoints: readonly Adjoint[] = ["direct", "checkpoint", "continuous", "reversible"];

/**
 * Solves dy/dt = f(t, y), as torchdiffeq's `odeint`.
 *
 * @example
 * ```ts
 * import { odeint, tensor } from "@weft/weft";
 *
 * const y = odeint((_t, y) => y.neg(), tensor([1]), [0, 1], { method: "rk4", stepSize: 0.1 });
 * console.log(await y.data()); // 1 and exp(-1)
 * ```
 *
 * @param f The vector field; `t` is a tensor of no axes, the result has the shape of `y`.
 * @param y0 The state at the first time, any shape, float32 or float64.
 * @param t Times at which the state is wanted, all increasing or all decreasing; two at least.
 * @returns `(length(t), ...y0.shape)`; between steps the states are interpolated, linearly or, for adaptive methods, by a
 * polynomial of degree four.
 * @throws {RangeError} On an unknown method, a step size or tolerance that is not positive, times in disorder, or more than
 * `maxSteps` steps: the message says how far they led.
 * @throws {ShapeError | TypeError} If the vector field's result has another shape or type than the state.
 */
export function odeint(
  f: VectorField,
  y0: Tensor,
  t: Tensor | ArrayLike<number>,
  options: SolveOptions = {},
): Tensor {
  const { method = options.steps?.method ?? "rk4", stepSize, grid, adjoint = "direct", compile } = options;
  const { check = false, statistics } = options;
  const tableau = methodNamed(method);
  if (!adjoints.includes(adjoint)) {
    throw new RangeError(`odeint: adjoint "${adjoint}" is unknown; use one of ${adjoints.join(", ")}`);
  }
  const times = hostTimes(t, "odeint: t");
  checkOutputTimes(times, "odeint");
  checkState(y0, "odeint");
  const checked = checkField(f);
  if (adjoint === "reversible" && !isReversible(tableau)) {
    throw new RangeError(
      `odeint: the steps of ${method} cannot be undone, as the reversible adjoint needs; use the method "${
        isMultistep(tableau) || isImplicit(tableau) ? "reversible_rk4" : `reversible_${method}`
      }", or the adjoint "direct"`,
    );
  }
  if (adjoint !== "direct" && isImplicit(tableau)) {
    throw new RangeError(`odeint: ${method} has no ${adjoint} adjoint; use "direct"`);
  }
  const scanOptions = {
    compile: isImplicit(tableau) ? false : compile,
    executor: options.executor,
    checkpoint: adjoint === "checkpoint",
    memory: adjoint === "continuous" || adjoint === "reversible" ? memoryAhead : undefined,
    check,
  };
  if (isAdaptive(tableau)) {
    const adaptive = adaptiveOptions(options, y0);
    const steps = options.steps && checkSteps(options.steps, method, y0, times);
    const own = solvedTo(tableau, adaptive);
    const solve = (field: VectorField) =>
      solveAdaptively(own, field, y0, times, { ...adaptive, ...scanOptions, statistics }, steps);
    if (adjoint !== "continuous") return solve(checked);
    const { adjointRtol: rtol = adaptive.rtol, adjointAtol: atol = adaptive.atol } = options;
    const backwards = { ...adaptive, rtol, atol };
    // A field that has been traced has one time for all samples.
    const isTraced = (steps ?? adaptive).norm === "batch";
    return solveWithContinuousAdjoint(
      checked,
      y0,
      (field) => solve(isTraced ? field : checked),
      (...given) => solveBackwardsAdaptively(tableau, times, backwards, ...given),
    );
  }
  const { coupling } = options;
  checkCoupling(coupling);
  const tolerances = checkTolerances(options);
  const solve = (field: VectorField) =>
    solveOnGrid(field, y0, times, tableau, {
      stepSize,
      grid,
      coupling,
      ...tolerances,
      ...scanOptions,
      statistics,
      backwards: adjoint === "reversible",
    });
  if (adjoint !== "continuous") return solve(checked);
  // What a multistep method would need to begin with is not known at the end: the adjoint equation has no past.
  const backwards = isMultistep(tableau) ? rk4 : isReversible(tableau) ? tableau.base : tableau;
  return solveWithContinuousAdjoint(
    checked,
    y0,
    solve,
    (...given) => solveBackwardsInSteps(backwards, times, { stepSize, grid }, ...given),
  );
}

/**
 * Finds the steps of an adaptive method, for devices where that takes waiting: a GPU. The gradient of a solve with them is that
 * of a solve that finds them itself.
 *
 * @example
 * ```ts
 * import { odeint, odeintSteps, ones, type Tensor } from "@weft/weft";
 *
 * const f = (_t: Tensor, y: Tensor) => y.neg();
 * const y0 = ones([2, 3]);
 * const steps = await odeintSteps(f, y0, [0, 1], { method: "tsit5" });
 * console.log(odeint(f, y0, [0, 0.5, 1], { steps }));
 * ```
 *
 * @param t Of which the first and the last count.
 * @param options The method is an adaptive one, `"dopri5"` by default.
 * @throws {RangeError} As {@linkcode odeint}; if the method is not adaptive.
 */
export async function odeintSteps(
  f: VectorField,
  y0: Tensor,
  t: Tensor | ArrayLike<number>,
  options: SolveOptions = {},
): Promise<AdaptiveSteps> {
  const { method = "dopri5", compile, statistics } = options;
  const tableau = methodNamed(method);
  if (!isAdaptive(tableau)) {
    throw new RangeError(
      `odeintSteps: ${method} has fixed steps, which need not be found; use an adaptive method`,
    );
  }
  const times = hostTimes(t, "odeintSteps: t");
  checkOutputTimes(times, "odeintSteps");
  checkState(y0, "odeintSteps");
  const adaptive = adaptiveOptions(options, y0);
  const search = searchSteps(solvedTo(tableau, adaptive), checkField(f), y0, times, { ...adaptive, compile });
  const { steps: found } = await searchLater(search);
  count(statistics, found);
  return { method, interval: [times[0], times[times.length - 1]], found };
}
