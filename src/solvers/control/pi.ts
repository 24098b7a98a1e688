import { checkOptions, namesOf } from "../../device/options.ts";
import {
  type ErrorController,
  errorController,
  type ErrorControllerCoefficients,
  type ErrorControllerOptions,
  limitNames,
} from "./controller.ts";

/** Options of a {@linkcode piController}. */
export type PIControllerOptions = ErrorControllerOptions & Omit<ErrorControllerCoefficients, "dCoeff">;

export const piNames = namesOf<PIControllerOptions>()(limitNames, "pCoeff? iCoeff?");

/**
 * A PI controller, for moderately stiff equations: it rejects fewer steps than the integral controller. It is a
 * {@linkcode pidController} with `pCoeff` 0.4 and `iCoeff` 0.3 by default.
 *
 * @throws {OptionError} For an unknown option.
 * @throws {RangeError} If a number is out of range.
 */
export function piController(options: PIControllerOptions = {}): ErrorController {
  checkOptions("piController", options, piNames);
  return errorController("piController", options, { pCoeff: 0.4, iCoeff: 0.3 });
}
