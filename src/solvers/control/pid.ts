import { checkOptions, namesOf } from "../../device/options.ts";
import {
  type ErrorController,
  errorController,
  type ErrorControllerCoefficients,
  type ErrorControllerOptions,
} from "./controller.ts";
import { piNames } from "./pi.ts";

/** Options of a {@linkcode pidController}. */
export type PIDControllerOptions = ErrorControllerOptions & ErrorControllerCoefficients;

const optionNames = namesOf<PIDControllerOptions>()(piNames, "dCoeff?");

/**
 * A PID controller. The step size is multiplied by `safety * r0^(-(p + i + d) / k) * r1^((p + 2 d) / k) * r2^(-d / k)`. Here, r0 is
 * the error of this step divided by the tolerance, r1 and r2 are those of the two accepted steps before, k is the order of the
 * method, and p, i, d are the coefficients. (Soderlind, "Digital filters in adaptive time-stepping", 2003.) After a rejected step
 * the controller is integral.
 *
 * @param options As of Diffrax's `PIDController`: the default coefficients p = 0, i = 1, d = 0 are the integral controller.
 * @throws {OptionError} For an unknown option.
 * @throws {RangeError} If a number is out of range.
 */
export function pidController(options: PIDControllerOptions = {}): ErrorController {
  checkOptions("pidController", options, optionNames);
  return errorController("pidController", options);
}
