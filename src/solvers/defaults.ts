/** Defaults of solves, equal to those of torchdiffeq and torchcde, so that their numbers carry over. */

import type { MethodName } from "./methods.ts";

/** Default method and tolerances. */
export interface SolveDefaults {
  readonly method: MethodName;
  readonly rtol: number;
  readonly atol: number;
}

/** Defaults of torchdiffeq's `odeint`. */
export const odeDefaults: SolveDefaults = { method: "dopri5", rtol: 1e-7, atol: 1e-9 };

/** Defaults of torchcde's `cdeint`. */
export const cdeDefaults: SolveDefaults = { method: "dopri5", rtol: 1e-4, atol: 1e-6 };
