/** The solver of a model. */
import { cdeDefaults } from "../solvers/defaults.ts";
import { type MethodChoice, methodOf } from "../solvers/methods.ts";
import { usesTolerances } from "../solvers/option_use.ts";
import type { SolveOptions } from "../solvers/solve_options.ts";

/** The method of a model whose options name none. */
export const modelMethod = "rk4";

/**
 * Options of a model's solve, with the method and the tolerances named: a model trains by the fixed steps of {@linkcode modelMethod},
 * where a solve on its own has the adaptive method of torchdiffeq.
 */
export function modelSolver<O extends SolveOptions>(solver: O): O & { method: MethodChoice } {
  const method = solver.method ?? solver.steps?.method ?? modelMethod;
  const { rtol = cdeDefaults.rtol, atol = cdeDefaults.atol } = solver;
  return { ...solver, method, ...(usesTolerances(methodOf(method)) ? { rtol, atol } : {}) };
}
