/**
 * Solvers of ordinary, controlled and stochastic differential equations.
 *
 * @example
 * ```ts
 * import { odeint } from "@weft/weft/solvers";
 * import { tensor } from "@weft/weft";
 *
 * const decay = odeint((_t, y) => y.neg(), tensor([1]), [0, 1], { method: "rk4", stepSize: 0.1 });
 * console.log(`${decay}`);
 * ```
 *
 * @module
 */
export type { VectorField } from "./runge_kutta.ts";
export type { ButcherTableau, EmbeddedTableau, RungeKutta } from "./tableaus.ts";
export { findOdeintSteps, odeint } from "./odeint.ts";
export { type SaveSolveOptions, type Solution, solve } from "./solve.ts";
export { solveResults } from "./adaptive/adaptive.ts";
export type { SaveAt } from "./save_options.ts";
export type { DenseSolution, DenseTimes } from "./dense_solution.ts";
export type { AdaptiveSteps, Adjoint, SolveOptions } from "./solve_options.ts";
export type {
  AdamsMethodName,
  AdaptiveMethodName,
  FixedMethodName,
  ImplicitMethodName,
  MethodChoice,
  MethodName,
  ReversibleMethodName,
} from "./methods.ts";
export type { ErrorNorm, ErrorNormFunction } from "./adaptive/step_control.ts";
export type {
  ErrorController,
  ErrorControllerCoefficients,
  ErrorControllerOptions,
  FixedSteps,
  StepController,
} from "./control/controller.ts";
export { constantStepSize } from "./control/constant_step_size.ts";
export { integralController } from "./control/integral.ts";
export { piController, type PIControllerOptions } from "./control/pi.ts";
export { pidController, type PIDControllerOptions } from "./control/pid.ts";
export { stepTo } from "./control/step_to.ts";
export type { Tolerance } from "./control/tolerances.ts";
export type { SolveStatistics } from "./adaptive/adaptive.ts";
export {
  type EventDirection,
  type EventFunction,
  type EventOptions,
  type EventResult,
  odeintEvent,
} from "./odeint_event.ts";
export { cdeint, type CdeSolveOptions, type ControlledEquation, findCdeintSteps } from "./cdeint.ts";
export { type SdeAdjoint, sdeint, type SdeOptions } from "./stochastic/sdeint.ts";
export type { SdeMethodName, SdeNoise } from "./stochastic/sde_methods.ts";
export { brownianIncrements, type BrownianOptions } from "./stochastic/brownian.ts";
export { DivergenceError, type FailureReason, NoProgressError } from "./divergence.ts";
