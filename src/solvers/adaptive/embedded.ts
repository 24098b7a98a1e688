/** One step of an adaptive method. */
import { type ImplicitMethod, implicitStep } from "../implicit/implicit_step.ts";
import { iterations } from "../implicit/newton.ts";
import { explicitStages, type Step, type StepArguments, takeStep } from "../runge_kutta.ts";
import type { EmbeddedMethod } from "../tableaus.ts";

/** A method that chooses its step sizes. */
export type AdaptiveMethod = EmbeddedMethod | ImplicitMethod;

/** Takes one step. */
export function embeddedStep(method: AdaptiveMethod, ...given: StepArguments): Step {
  if (method.kind === "implicit") return implicitStep(method, ...given);
  const [f, ...rest] = given;
  return takeStep(method, explicitStages(f), ...rest);
}

/** Evaluations of the vector field in a step whose first slope is known. The Jacobian matrix counts as one evaluation. */
export function evaluationsOf({ kind, a }: AdaptiveMethod): number {
  return kind === "implicit" ? 1 + a.length * iterations : a.length;
}
