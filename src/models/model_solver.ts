/** Solver defaults of models. */
import { cdeDefaults } from "../solvers/defaults.ts";
import { type MethodChoice, methodOf } from "../solvers/methods.ts";
import { usesTolerances } from "../solvers/option_use.ts";
import type { SolveOptions } from "../solvers/solve_options.ts";

/** The default method of models. */
export const modelMethod = "rk4";

/**
 * Sets the default method and tolerances of a model's solve. Models train with the fixed-step method
 * {@linkcode modelMethod}, whereas direct calls of a solver default to torchdiffeq's adaptive method.
 */
export function modelSolver<O extends SolveOptions>(solver: O): O & { method: MethodChoice } {
  const method = solver.method ?? solver.steps?.method ?? modelMethod;
  const { rtol = cdeDefaults.rtol, atol = cdeDefaults.atol } = solver;
  return { ...solver, method, ...(usesTolerances(methodOf(method), solver) ? { rtol, atol } : {}) };
}
