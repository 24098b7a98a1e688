/** One step of an adaptive method. */
import { textOf } from "../../device/scalar/structure_text.ts";
import { treeLeaves } from "../../tensor/tree.ts";
import { type ImplicitMethod, implicitStep, stageConstants } from "../implicit/implicit_step.ts";
import { iterations } from "../implicit/newton.ts";
import {
  explicitStages,
  type Parts,
  type Step,
  type StepArguments,
  takeStep,
  weigh,
} from "../runge_kutta.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import type { EmbeddedMethod } from "../tableaus.ts";
import { type ErrorNorm, errorRatio, type ErrorScale } from "./step_control.ts";
import { columnShape } from "./steps.ts";

/** A method that chooses its step sizes. */
export type AdaptiveMethod = EmbeddedMethod | ImplicitMethod;

/** A method with the tensors that all steps of a solve share, and these tensors. */
export function withConstants(
  method: AdaptiveMethod,
  y: Tensor,
  norm: ErrorNorm,
): { readonly method: AdaptiveMethod; readonly tensors: readonly Tensor[] } {
  if (method.kind !== "implicit") return { method, tensors: [] };
  const constants = stageConstants(method, y, norm === "sample");
  return { method: { ...method, constants }, tensors: treeLeaves(constants) };
}

const keys = new WeakMap<AdaptiveMethod, string>();

/** A text for the keys of loops: methods with equal texts take equal steps. */
export function keyOf(method: AdaptiveMethod): string {
  let key = keys.get(method);
  if (key === undefined) keys.set(method, key = textOf(method));
  return key;
}

/** Takes one step. */
export function embeddedStep(method: AdaptiveMethod, ...args: StepArguments): Step {
  if (method.kind === "implicit") return implicitStep(method, ...args);
  const [f, ...rest] = args;
  return takeStep(method, explicitStages(f), ...rest);
}

/** Evaluations of the vector field in a step whose first slope is known. The Jacobian matrix counts as one evaluation. */
export function evaluationsOf({ kind, a }: AdaptiveMethod): number {
  return kind === "implicit" ? 1 + a.length * iterations : a.length;
}

/** Order of the error of a step. */
export function errorOrderOf(method: AdaptiveMethod): number {
  return method.kind === "implicit" ? method.errorOrder ?? method.order : method.order;
}

/**
 * The error of a step in units of the tolerances. NaN if a state is not finite. The error of a step whose equations were not solved
 * is so large that the step is repeated with less than half the size.
 *
 * @param y The state at the start of the step.
 * @param controlled Number of parts of the state, from the first, whose error is controlled.
 */
export function stepError(
  method: AdaptiveMethod,
  step: Step,
  y: Parts,
  dt: Tensor,
  tolerances: ErrorScale,
  norm: ErrorNorm,
  controlled: number = y.length,
): Tensor {
  const control = (parts: Parts) => parts.slice(0, controlled);
  const error = weigh(method.error, step.stages.map(control), dt);
  const ratio = errorRatio(error, control(y), control(step.y), tolerances, norm);
  const isSolved = norm === "sample" ? step.isSolved?.reshape(columnShape(y[0])) : step.isSolved?.all();
  return isSolved ? isSolved.where(ratio, ratio.maximum(2 ** errorOrderOf(method))) : ratio;
}
