/** Checks of the options, steps and vector fields of a solve. */
import { ShapeError } from "../device/shape.ts";
import { checkTensor } from "../tensor/checks.ts";
import type { Tensor } from "../tensor/tensor.ts";
import type { AdaptiveOptions, Steps } from "./adaptive/steps.ts";
import { checkFinite, checkStepSize, shiftTimes } from "./fixed/step_times.ts";
import { nameOf } from "./methods.ts";
import type { SolveDefaults } from "./defaults.ts";
import type { AdaptiveSteps, SolveOptions } from "./solve_options.ts";
import { checkController, type Tolerances } from "./adaptive/step_control.ts";
import { checkSlope } from "./packed_state.ts";
import { solveTimes } from "./time_gradients.ts";
import type { VectorField } from "./runge_kutta.ts";

/** @throws {RangeError} If the steps were found for a different solve. */
export function checkSteps(
  { method: searched, interval, origin: from, found }: AdaptiveSteps,
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
  if (found.norm === "sample" && found.lists.length !== y0.shape[0]) {
    throw new RangeError(
      `odeint: steps contains ${found.lists.length} samples, expected ${
        y0.shape[0]
      }, the first axis of the state`,
    );
  }
  return found;
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
  y0: Tensor,
  origin: number,
  defaults: SolveDefaults,
): AdaptiveOptions {
  const { maxSteps = 10_000, stepSize, jumpTimes, norm = "batch" } = options;
  if (norm !== "batch" && norm !== "sample") {
    throw new RangeError(`odeint: norm "${norm}" is unknown; use "batch" or "sample"`);
  }
  if (norm === "sample" && y0.rank === 0) {
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
    ...checkTolerances(options, defaults),
    maxSteps,
    stepSize,
    jumps: jumps && shiftTimes(jumps.host, origin),
    watchedJumps: jumps?.watched,
    origin,
    norm,
    controller: checkController(options.controller),
  };
}

/** @throws {RangeError} If a tolerance is not a positive, finite number. */
export function checkTolerances(options: SolveOptions, defaults: SolveDefaults): Tolerances {
  const { rtol = defaults.rtol, atol = defaults.atol, adjointRtol, adjointAtol } = options;
  for (const [name, value] of Object.entries({ rtol, atol, adjointRtol, adjointAtol })) {
    if (value !== undefined && !(value > 0 && value < Infinity)) {
      throw new RangeError(`odeint: ${name} is ${value}, expected a positive, finite number`);
    }
  }
  return { rtol, atol };
}

/** @throws {RangeError} If a coupling is not above 0 and at most 1. */
export function checkCoupling(coupling: number | undefined): void {
  if (coupling !== undefined && !(coupling > 0 && coupling <= 1)) {
    throw new RangeError(`odeint: coupling is ${coupling}, expected a number above 0 and up to 1`);
  }
}
