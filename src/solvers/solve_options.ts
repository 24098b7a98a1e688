/** Options of a solve. */
import type { ScanOptions } from "../compile/loop/scan.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { namesOf } from "../device/options.ts";
import type { SolveStatistics } from "./adaptive/adaptive.ts";
import type { Steps } from "./adaptive/steps.ts";
import type { ErrorNorm, ErrorNormFunction } from "./adaptive/step_control.ts";
import type { StepController } from "./control/controller.ts";
import type { Tolerance } from "./control/tolerances.ts";
import type { MethodChoice } from "./methods.ts";

/** The method that computes the gradient of a solve. */
export type Adjoint = "direct" | "checkpoint" | "continuous" | "reversible";

/** Options of a solve of a differential equation. */
export interface SolveOptions {
  /**
   * The method: a name or a user-defined tableau. `"dopri5"` by default, as in torchdiffeq and torchcde; models default to
   * `"rk4"`.
   *
   * - Fixed steps: `euler`, `midpoint`, `heun2`, `heun3`, `ralston`, `rk4` (the 3/8 rule), `rk4_classic` and
   *   `reversible_heun`; the reversible form of any explicit Runge-Kutta method, such as `reversible_rk4` (McCallum and
   *   Foster, 2024); a {@linkcode ButcherTableau}.
   * - Multistep: `explicit_adams` and, on the CPU, `implicit_adams`. The `stepSize` must divide the interval.
   * - Adaptive steps: `fehlberg2`, `adaptive_heun`, `bosh3`, `dopri5`, `tsit5`, `dopri8` and an
   *   {@linkcode EmbeddedTableau}. A GPU needs `steps` that were found before.
   * - Adaptive steps for stiff equations: `implicit_euler`, `kvaerno3` and `kvaerno5`. They use the Jacobian of each sample,
   *   which is a row of a state with two or more axes. Samples must be independent. For samples of more than 64 values, a Krylov
   *   method solves the linear equations from products with the Jacobian, without a matrix.
   *
   * An option that the method does not use is rejected.
   */
  method?: MethodChoice;
  /**
   * Step size of the `method`, in units of time. By default one step leads from each output time to the next. For an adaptive
   * method it is the first step size, which is otherwise estimated.
   */
  stepSize?: number;
  /**
   * End times of the steps of a fixed-step method, instead of a step size. The first and the last of `t` are added. They are constants:
   * requesting their gradient throws an error.
   */
  grid?: Tensor | ArrayLike<number>;
  /**
   * Relative tolerance. 1e-7 by default, as in torchdiffeq; 1e-4 along a control and in models, as in torchcde. The error of an
   * adaptive step is at most `atol + rtol |y|`. The corrections of `implicit_adams` stop at this error. A number, a vector or
   * tensor that broadcasts against the state, or a tree with a tolerance for each tensor of the state.
   */
  rtol?: Tolerance;
  /** Absolute tolerance, as `rtol`. 1e-9 by default; 1e-6 along a control and in models. */
  atol?: Tolerance;
  /**
   * The norm of the error of an adaptive step: the elements over which the root mean square is taken, or a function. `"batch"`
   * (default): all elements. The entire batch then takes the same steps, as in torchdiffeq. `"sample"`: the elements of each sample,
   * which is a position along the first axis of the state. Each sample then takes its own steps; the search for them is compiled,
   * and the solution of a sample does not depend on the others. The vector field receives one time per sample, `(batch, 1, ...)`,
   * which broadcasts against the state; for a state of several tensors, against the tensor with the most axes. The steps of the
   * continuous adjoint are always those of the batch.
   *
   * A function gets the error in units of the tolerances, with the structure and shapes of the state, and returns a scalar. The batch
   * takes the same steps; `vmap` of a solve gives each example separate steps. Elements that the function leaves out have no error
   * control. The continuous adjoint applies the function to the state and to the adjoint, and takes the maximum.
   */
  norm?: ErrorNorm | ErrorNormFunction;
  /** The steps of an adaptive method, from `findOdeintSteps` or `findCdeintSteps`. */
  steps?: AdaptiveSteps;
  /**
   * Chooses the step sizes: `constantStepSize` or `stepTo` for every method, `integralController`, `piController` or
   * `pidController` for adaptive methods. By default the steps of `stepSize` and `grid`, or the integral controller of
   * torchdiffeq.
   */
  controller?: StepController;
  /**
   * Maximum number of steps that an adaptive method tries, per sample with `norm: "sample"`.
   *
   * @default {100000}
   */
  maxSteps?: number;
  /**
   * Times at which the vector field may jump. An adaptive method ends a step at each of them. Add the output times if `bosh3`, or
   * `dopri8` with tight tolerances, must be accurate at them: states interpolated within their steps are less accurate than
   * states at the ends of steps. First-order gradients flow to the times of a vector: a later jump moves the state by the
   * difference of the slopes before and after the jump.
   */
  jumpTimes?: Tensor | ArrayLike<number>;
  /** `rtol` of the backward solve of the continuous adjoint. By default `rtol`. */
  adjointRtol?: Tolerance;
  /** `atol` of the backward solve of the continuous adjoint. By default `atol`. */
  adjointAtol?: Tolerance;
  /**
   * Coupling of the two states of a reversible form, above 0 and at most 1. By default 0.999, and closer to 1 for more than 4000
   * steps: the backward reconstruction multiplies rounding errors by `coupling ** -steps`.
   */
  coupling?: number;
  /** An object that receives the cost of the solve. */
  statistics?: SolveStatistics;
  /**
   * `"direct"` (default): the exact gradient of the discrete solution. One state per step is kept.
   * `"checkpoint"`: the same numbers. Memory grows with the square root of the number of steps, because intermediate states are
   * recomputed.
   * `"continuous"`: the adjoint equation, solved backwards. Memory is independent of the number of steps, and the gradient has the
   * error of the solver. An adaptive method then controls the errors of state and adjoint, but not those of the gradients of
   * parameters (Kidger et al., "Hey, that's not an ODE", 2021).
   * `"reversible"`: the exact gradient of the discrete solution. States are reconstructed instead of kept, so that memory is
   * independent of the number of steps. For methods whose names begin with `reversible_`.
   */
  adjoint?: Adjoint;
  /**
   * Whether to check for infinite and NaN states. The first such state is reported with its time, step and sample as a
   * `DivergenceError`. The check keeps the states of all steps. Names of the axes after the first, of the state or of each of its
   * tensors, add the position of the element to the report.
   *
   * @default {false}
   */
  check?: boolean | readonly string[];
  /**
   * Whether the solve is compiled. If false, each operation of each step runs separately.
   *
   * @default {true}
   */
  compile?: boolean;
  /**
   * Executor of a compiled solve: see {@linkcode ScanOptions.executor}. The backward solve of the continuous adjoint chooses its
   * executor itself.
   */
  executor?: ScanOptions["executor"];
}

export const solveOptionNames = namesOf<SolveOptions>()(
  "method? stepSize? grid? rtol? atol? norm? steps? controller? maxSteps? jumpTimes? adjointRtol?",
  "adjointAtol? coupling? statistics? adjoint? check? compile? executor?",
);

/** The steps of an adaptive solve. */
export interface AdaptiveSteps {
  /** The method of the search. */
  readonly method: MethodChoice;
  /** The first and the last time. */
  readonly interval: readonly [number, number];
  /** The origin of the times in {@linkcode accepted}. */
  readonly origin: number;
  /**
   * Start and end of each accepted step, per sample or for the whole batch.
   *
   * @internal
   */
  readonly accepted: Steps;
}
