/** Steps of diagonally implicit Runge-Kutta methods, whose stages are solved one after another. */
import { vjp } from "../../autodiff/grad.ts";
import type { Reading } from "../../compile/loop/while_loop.ts";
import { formatShape, ShapeError, sizeOf } from "../../device/shape.ts";
import { scalar, tensor } from "../../tensor/creation.ts";
import { liftTogether } from "../../tensor/broadcast.ts";
import { concatenate } from "../../tensor/functions.ts";
import { derivativeOrder, withoutAnyRecording } from "../../tensor/primitive.ts";
import type { Tensor, TensorLike } from "../../tensor/tensor.ts";
import { treeLeaves, withLeaves } from "../../tensor/tree.ts";
import { type Basis, basisOf } from "./linear_systems.ts";
import { denseStages, type StageTolerances } from "./newton.ts";
import { krylovStages } from "./newton_krylov.ts";
import { type PackedTolerance, toleranceFor, type Tolerances } from "../control/tolerances.ts";
import {
  type Parts,
  type PartsField,
  type StageRule,
  type Step,
  type StepArguments,
  takeStep,
} from "../runge_kutta.ts";
import type { ImplicitTableau } from "../tableaus.ts";

/** An implicit tableau, and how its stages are solved. */
export interface ImplicitMethod<Name extends string = string> extends ImplicitTableau<Name> {
  /** The tolerances of the solve: the error of a stage is a small part of them. */
  readonly tolerances?: Tolerances;
  /**
   * Number of parts of the state, from the first, that depend on each other. All have the same shape. The slopes of the other parts
   * depend on these parts alone. Default: 1.
   */
  readonly coupled?: number;
  /** The result of {@linkcode stageConstants}, which all steps of a solve share. By default each step makes it. */
  readonly constants?: StageConstants;
}

/** Tensors that do not depend on the state: the tolerances of the stages, and the basis of the matrices. */
export interface StageConstants extends StageTolerances {
  /** Missing for states whose matrices would be too large. */
  readonly basis?: Basis;
}

/** Maximum number of values of a sample whose Jacobian is formed. For larger samples, a Krylov method solves the linear equations. */
const maxDenseValues = 64;

/** Default tolerances of stages. */
const tightest: Tolerances = { rtol: 1e-12, atol: 1e-14 };

/** Number of samples, and number of values per sample. A lone axis has the values of one sample, unless each sample has its steps. */
function samplesOf({ shape }: Tensor, hasOwnSteps: boolean): { samples: number; n: number } {
  return shape.length > 1 || hasOwnSteps
    ? { samples: shape[0], n: sizeOf(shape.slice(1)) }
    : { samples: 1, n: sizeOf(shape) };
}

/** The constants of the steps of a solve. @param y A state. */
export function stageConstants(
  { tolerances = tightest, coupled = 1 }: ImplicitMethod,
  y: Tensor,
  hasOwnSteps: boolean,
): StageConstants {
  const { samples, n } = samplesOf(y, hasOwnSteps);
  const allowed = (tolerance: PackedTolerance) => {
    const one = toleranceFor(tolerance, y);
    if (typeof one === "number") return one;
    return concatenate(Array.from({ length: coupled }, () => one.reshape([samples, n])), 1);
  };
  return {
    basis: coupled * n > maxDenseValues ? undefined : basisOf(coupled * n, y.dtype),
    rtol: allowed(tolerances.rtol),
    atol: allowed(tolerances.atol),
  };
}

/** One step. {@linkcode Step.isSolved} says whether the equations of the stages were solved. */
export function implicitStep(
  method: ImplicitMethod,
  ...[f, timeAt, dt, y, slope]: StepArguments
): Step {
  const { coupled = 1, ...tableau } = method;
  const [{ dtype, shape, size }] = y;
  const hasOwnSteps = isColumn(dt);
  const { samples, n } = samplesOf(y[0], hasOwnSteps);
  const join = (parts: Parts) =>
    concatenate(parts.slice(0, coupled).map((part) => part.reshape([samples, n])), 1);
  const split = (z: Tensor): Parts =>
    coupled === 1
      ? [z.reshape(shape)]
      : Array.from({ length: coupled }, (_, i) => z.slice(1, i * n, (i + 1) * n).reshape(shape));
  const field = (t: Tensor) => (z: Tensor) => join(f(t, [...split(z), ...y.slice(coupled)]));
  const length = typeof dt === "number" ? scalar(dt, dtype) : dt;
  const scale = (hasOwnSteps ? length.reshape([samples, 1]) : length).mul(tableau.diagonal);
  // As symbols, so that the body of a loop closes over these tensors alone, and not over their parts.
  const constants = method.constants ?? stageConstants(method, y[0], hasOwnSteps);
  const { basis, rtol, atol } = withLeaves(
    constants,
    liftTogether([y[0], ...treeLeaves(constants)]).slice(1),
  );
  // Each recording tape adds one order of gradients.
  const args = [field, timeAt(0), join(y), scale] as const;
  const solveStage = size === 0
    ? undefined
    : basis
    ? denseStages(...args, { rtol, atol, ...basis }, derivativeOrder())
    : krylovStages(...args, { rtol, atol }, derivativeOrder());
  let guess = join(slope);
  let isSolved: Tensor | undefined;
  const solve: StageRule = (_, t, explicitPart) => {
    if (solveStage) {
      const solution = solveStage(t, join(explicitPart), guess);
      guess = solution.slope;
      isSolved = isSolved?.and(solution.isSolved) ?? solution.isSolved;
    }
    const slopes = [...split(guess)];
    const move = (parts: Parts) => parts.map((part, i) => part.add(slopes[i].mul(dt).mul(tableau.diagonal)));
    if (y.length > coupled) {
      const state = [...move(explicitPart.slice(0, coupled)), ...explicitPart.slice(coupled)];
      slopes.push(...f(t, state).slice(coupled));
    }
    return { state: move(explicitPart), slope: slopes };
  };
  return { ...takeStep(tableau, solve, timeAt, dt, y, slope), isSolved };
}

/** Whether each sample has its step size. */
function isColumn(dt: TensorLike): boolean {
  return typeof dt !== "number" && dt.rank > 0;
}

/**
 * Checks that the samples of a state do not depend on each other, by the gradient of the slopes of the first sample. Explicit methods
 * need no check.
 *
 * @param t The first time.
 * @throws {ShapeError} If the slopes of the first sample depend on other samples.
 */
export function* checkIndependence(
  { kind, name }: { readonly kind: string; readonly name: string },
  f: PartsField,
  t: Tensor,
  [y, ...rest]: Parts,
  hasOwnSteps: boolean,
): Reading<void> {
  const { samples, n } = samplesOf(y, hasOwnSteps);
  if (kind !== "implicit" || samples < 2 || n === 0) return;
  const ones = tensor(Float64Array.from({ length: y.size }, (_, i) => i < n ? 1 : 0), {
    shape: y.shape,
    dtype: y.dtype,
  });
  const gradient = yield withoutAnyRecording(() => vjp(() => f(t, [y, ...rest])[0], y).pullback(ones));
  // NaN has other causes.
  const mixes = gradient &&
    Array.prototype.some.call(gradient, (value, i) => i % y.size >= n && Math.abs(value) > 0);
  if (!mixes) return;
  throw new ShapeError(
    `odeint: the samples along the first axis of the state ${
      formatShape(y.shape)
    } depend on each other, so ` +
      `${name} cannot solve for each separately; use a state with one axis, such as y.flatten()`,
  );
}
