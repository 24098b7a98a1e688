/** Options of a solve. */
import type { ScanOptions } from "../compile/loop/scan.ts";
import type { OptionNames } from "../device/options.ts";
import type { SolveStatistics } from "./adaptive/adaptive.ts";
import type { Steps } from "./adaptive/adaptive_search.ts";
import type { ErrorNorm, StepController } from "./adaptive/step_control.ts";
import type { MethodChoice } from "./methods.ts";

/** A way of computing the gradient of a solve. */
export type Adjoint = "direct" | "checkpoint" | "continuous" | "reversible";

/** Options of a solve of a differential equation. */
export interface SolveOptions {
  /**
   * `"dopri5"` by default, as in torchdiffeq and torchcde; models take `"rk4"`. Of fixed steps: `euler`, `midpoint`, `heun2`,
   * `heun3`, `ralston`, `rk4` (the 3/8 rule), `rk4_classic` and `reversible_heun`; the reversible form of any explicit Runge-Kutta method, `reversible_rk4` say
   * (McCallum and Foster, 2024); `explicit_adams` and, on the CPU, `implicit_adams`, for a `stepSize` that divides the
   * interval. With steps as long as the tolerances allow: `fehlberg2`, `adaptive_heun`, `bosh3`, `dopri5`, `tsit5` and
   * `dopri8`, on a GPU with `steps` that were found before; and, on the CPU, for stiff equations `kvaerno3` and `kvaerno5`,
   * which solve for each sample, a row of a state of two or more axes, with its Jacobian: for small states, of samples that
   * do not depend on one another. Or a tableau of your own: a {@linkcode ButcherTableau} for fixed steps, an
   * {@linkcode EmbeddedTableau} for steps as long as the tolerances allow.
   *
   * An option that the method has no use for is refused.
   */
  method?: MethodChoice;
  /**
   * The length of a step of the `method`, in units of time; without it one step leads from each output time to the next. For an
   * adaptive method that of the first step, which it finds by itself otherwise.
   */
  stepSize?: number;
  /** Times at which a method of fixed steps steps, instead of a step size; the first and the last of `t` are added. */
  grid?: ArrayLike<number>;
  /**
   * Relative tolerance: 1e-7 by default, as in torchdiffeq; along a control and in models 1e-4, as in torchcde. The error of an adaptive method's step is `atol + rtol |y|` at most, and the
   * corrections of `implicit_adams` stop there.
   */
  rtol?: number;
  /** Absolute tolerance: 1e-9 by default; along a control and in models 1e-6. */
  atol?: number;
  /**
   * The elements over which the root mean square of an adaptive method's error is taken. `"batch"` (the default): all, so that
   * the entire batch takes the same steps, which are torchdiffeq's. `"sample"`: those of each sample on its own (a position
   * along the state's first axis), which takes steps of its own; the search for them is compiled, and a sample's solution
   * does not depend on the others. The vector field is then given a time for each, `(batch, 1, ...)`, which broadcasts
   * against the state; with a state of several tensors, against the one with the most axes. The continuous adjoint's own steps stay those of the batch.
   */
  norm?: ErrorNorm;
  /** The steps of an adaptive method, found before: with `findOdeintSteps` or `findCdeintSteps`. */
  steps?: AdaptiveSteps;
  /** Controller of an adaptive method's next step from the errors of the last ones; torchdiffeq's integral one by default. */
  controller?: StepController;
  /**
   * Largest number of steps that an adaptive method tries (for each sample that takes its own).
   *
   * @default {10000}
   */
  maxSteps?: number;
  /**
   * Times at which the vector field may jump: an adaptive method ends a step at each. Output times too where `bosh3`, or `dopri8`
   * with tight tolerances, is to be exact to them, which the states that are interpolated within its steps are not.
   */
  jumpTimes?: ArrayLike<number>;
  /** `rtol` of the continuous adjoint's own solve: the same by default. */
  adjointRtol?: number;
  /** `atol` of the continuous adjoint's own solve: the same by default. */
  adjointAtol?: number;
  /**
   * Coupling of the two states of a method's reversible form, above 0 and up to 1. By default 0.999, and nearer
   * to 1 for more than 4000 steps: where they are undone, rounding errors grow by `coupling ** -steps`.
   */
  coupling?: number;
  /** An object that is given the cost of the solve. */
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
   * Whether to look for states that are infinite or NaN, `false` by default. The first is reported with its
   * time, step and sample, as a `DivergenceError`; it takes keeping all states. With names for the axes after
   * the first, of the state or of each of its tensors, the report says by them where in the sample it is.
   *
   * @default {false}
   */
  check?: boolean | readonly string[];
  /**
   * Whether the solve is compiled, `true` by default; otherwise every operation of every step runs by itself.
   *
   * @default {true}
   */
  compile?: boolean;
  /**
   * Executor of a compiled solve: see {@linkcode ScanOptions.executor}. The continuous adjoint's own solve chooses for itself.
   */
  executor?: ScanOptions["executor"];
}

export const solveOptionNames: OptionNames<SolveOptions> = {
  method: "optional",
  stepSize: "optional",
  grid: "optional",
  rtol: "optional",
  atol: "optional",
  norm: "optional",
  steps: "optional",
  controller: "optional",
  maxSteps: "optional",
  jumpTimes: "optional",
  adjointRtol: "optional",
  adjointAtol: "optional",
  coupling: "optional",
  statistics: "optional",
  adjoint: "optional",
  check: "optional",
  compile: "optional",
  executor: "optional",
};

/** The steps of an adaptive solve. */
export interface AdaptiveSteps {
  /** The method that they were found with. */
  readonly method: MethodChoice;
  /** The first and the last time. */
  readonly interval: readonly [number, number];
  /** The time that {@linkcode found} counts from. */
  readonly origin: number;
  /**
   * Start and end of each step, of each sample or of all.
   *
   * @internal
   */
  readonly found: Steps;
}
