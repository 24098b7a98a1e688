/** Defaults of solves: those of torchdiffeq and torchcde, whose users and numbers carry over. */

import type { MethodName } from "./methods.ts";

/** The method and the tolerances of a solve whose options name none. */
export interface SolveDefaults {
  readonly method: MethodName;
  readonly rtol: number;
  readonly atol: number;
}

/** Defaults of torchdiffeq's `odeint`. */
export const odeDefaults: SolveDefaults = { method: "dopri5", rtol: 1e-7, atol: 1e-9 };

/** Defaults of torchcde's `cdeint`. */
export const cdeDefaults: SolveDefaults = { method: "dopri5", rtol: 1e-4, atol: 1e-6 };
