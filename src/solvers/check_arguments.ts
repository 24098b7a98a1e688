/** Checks of the options, steps and vector fields of a solve. */
import { formatShape, ShapeError } from "../device/shape.ts";
import { hostTimes } from "../tensor/host.ts";
import { checkTensor } from "../tensor/checks.ts";
import type { Tensor } from "../tensor/tensor.ts";
import type { ErrorNormFunction } from "./adaptive/step_control.ts";
import type { AdaptiveOptions, Steps } from "./adaptive/steps.ts";
import { checkFinite, checkStepSize, shiftTimes, type StepChoice } from "./fixed/step_times.ts";
import { nameOf } from "./methods.ts";
import type { SolveDefaults } from "./defaults.ts";
import type { AdaptiveSteps, SolveOptions } from "./solve_options.ts";
import { checkController, defaultController, type ErrorController, sizeOnly } from "./control/controller.ts";
import { packTolerance, type Tolerances } from "./control/tolerances.ts";
import { checkSlope, type PackedState } from "./packed_state.ts";
import type { Tree } from "../tensor/tree.ts";
import { solveTimes } from "./time_gradients.ts";
import type { VectorField } from "./runge_kutta.ts";

/** @throws {RangeError} If the steps were found for a different solve. */
export function checkSteps(
  { method: searched, interval, origin: from, accepted }: AdaptiveSteps,
  method: string,
  y0: Tensor,
  times: Float64Array,
  origin: number,
): Steps {
  if (nameOf(searched) !== method) {
    throw new RangeError(
      `odeint: steps were found for method ${nameOf(searched)}, but the method of this solve is ${method}`,
    );
  }
  const ends = [times[0], times[times.length - 1]];
  if (interval.some((time, i) => time !== ends[i])) {
    throw new RangeError(
      `odeint: the given steps go from t = ${interval.join(" to ")}, expected ${ends.join(" to ")}`,
    );
  }
  if (from !== origin) {
    throw new RangeError(
      `odeint: steps have the time origin ${from}, this solve has ${origin}; find the steps with the same vector field`,
    );
  }
  if (accepted.norm === "sample" && accepted.lists.length !== y0.shape[0]) {
    throw new RangeError(
      `odeint: steps contains ${accepted.lists.length} samples, expected ${
        y0.shape[0]
      }, the first axis of the state`,
    );
  }
  return accepted;
}

/** A vector field that throws if its result has a different shape or type than the state. */
export function checkField(f: VectorField): VectorField {
  return (time, y) => {
    const slope = f(time, y);
    checkTensor("odeint: the result of the vector field", slope);
    checkSlope(slope, y);
    return slope;
  };
}

/** @throws {RangeError | ShapeError} If an option is out of range, or a state without axes has `norm: "sample"`. */
export function checkAdaptiveOptions(
  options: SolveOptions,
  state: StateLayout,
  origin: number,
  defaults: SolveDefaults,
): AdaptiveOptions {
  const { maxSteps = 100_000, stepSize, norm = "batch" } = options;
  const controller = errorControllerOf(options);
  const jumpTimes = options.jumpTimes ?? controller.jumpTimes;
  if (norm !== "batch" && norm !== "sample" && typeof norm !== "function") {
    throw new RangeError(
      `odeint: norm "${norm}" is unknown; use "batch", "sample", or a function of the error`,
    );
  }
  if (norm === "sample" && state.y0.rank === 0) {
    throw new ShapeError(
      'odeint: norm "sample" needs a state with an axis for the samples, got one of no axes',
    );
  }
  if (!(Number.isInteger(maxSteps) && maxSteps >= 1)) {
    throw new RangeError(`odeint: maxSteps is ${maxSteps}, expected a whole number of at least 1`);
  }
  if (stepSize !== undefined) checkStepSize(stepSize);
  const jumps = jumpTimes && solveTimes(jumpTimes, "odeint", "jumpTimes");
  if (jumps) checkFinite(jumps.host, "jumpTimes");
  return {
    ...checkTolerances(options, defaults, state),
    maxSteps,
    stepSize,
    jumps: jumps && shiftTimes(jumps.host, origin),
    stops: controller.stepTimes && shiftTimes(controller.stepTimes, origin),
    watchedJumps: jumps?.watched,
    origin,
    ...typeof norm === "function" ? { norm: "batch", measure: packNorm(norm, state) } : { norm },
    controller,
  };
}

/** A norm of packed states that throws if its result is not a scalar. */
export function packNorm(norm: ErrorNormFunction, { unpack }: StateLayout): (error: Tensor) => Tensor {
  return (error) => {
    const size = norm(unpack(error));
    checkTensor("odeint: the result of the option norm", size);
    if (size.rank === 0) return size;
    throw new ShapeError(
      `odeint: the option norm returned ${
        formatShape(size.shape)
      }, expected a scalar (); for steps of each sample, use ` +
        'norm: "sample", or vmap',
    );
  };
}

/** The layout of a state, as tolerances and norms need it. */
export type StateLayout = Pick<PackedState<Tree>, "y0" | "leaves" | "locate" | "unpack">;

/** The controller of a search for steps. */
function errorControllerOf({ controller }: SolveOptions): ErrorController {
  checkController(controller);
  if (controller?.kind === "error") return controller;
  return controller?.stepSize === undefined ? defaultController : sizeOnly(controller.stepSize);
}

/** Steps that do not depend on errors, of a controller or of the options `stepSize` and `grid`. Grid points are relative to the origin. */
export function stepChoiceOf({ controller, ...options }: SolveOptions, origin: number): StepChoice {
  const { stepSize, grid } = controller?.kind === "fixed" ? controller : options;
  return { stepSize, grid: grid && shiftTimes(hostTimes(grid, "odeint: grid"), origin) };
}

/** @throws {RangeError | ShapeError | TypeError} As {@linkcode packTolerance}. */
export function checkTolerances(
  { rtol, atol }: SolveOptions,
  defaults: SolveDefaults,
  state: StateLayout,
): Tolerances {
  return {
    rtol: packTolerance("rtol", rtol ?? defaults.rtol, state),
    atol: packTolerance("atol", atol ?? defaults.atol, state),
  };
}

/** @throws {RangeError} If a coupling is not above 0 and at most 1. */
export function checkCoupling(coupling: number | undefined): void {
  if (coupling !== undefined && !(coupling > 0 && coupling <= 1)) {
    throw new RangeError(`odeint: coupling is ${coupling}, expected a number above 0 and up to 1`);
  }
}
