/** One step of an adaptive method. */
import type { ImplicitMethod } from "../implicit/implicit_step.ts";
import { explicitStages, type Step, type StepArguments, takeStep } from "../runge_kutta.ts";
import type { EmbeddedMethod } from "../tableaus.ts";

/** A method that chooses its step sizes. */
export type AdaptiveMethod = EmbeddedMethod | ImplicitMethod;

/** Takes one step. */
export function embeddedStep(method: AdaptiveMethod, ...given: StepArguments): Step {
  if (method.kind === "implicit") return method.step(...given);
  const [f, ...rest] = given;
  return takeStep(method, explicitStages(f), ...rest);
}
