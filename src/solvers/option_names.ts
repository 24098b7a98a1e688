/** Names of the options of solvers, for `checkOptions`. */
import type { OptionNames } from "../device/options.ts";
import type { CdeSolveOptions } from "./controlled.ts";
import type { EventOptions } from "./odeint_event.ts";
import type { SolveOptions } from "./solve_options.ts";
import type { StepController } from "./adaptive/step_control.ts";

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

export const cdeSolveOptionNames: OptionNames<CdeSolveOptions> = {
  ...solveOptionNames,
  stepsPerPiece: "optional",
};

export const eventOptionNames: OptionNames<EventOptions> = { ...solveOptionNames, reverseTime: "optional" };

export const controllerOptionNames: OptionNames<StepController> = {
  pcoeff: "optional",
  icoeff: "optional",
  dcoeff: "optional",
  safety: "optional",
  factormin: "optional",
  factormax: "optional",
};
