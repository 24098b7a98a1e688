import { checkOptions } from "../../device/options.ts";
import {
  type ErrorController,
  errorController,
  type ErrorControllerOptions,
  limitNames,
} from "./controller.ts";

/**
 * The integral controller of torchdiffeq, the default: the next step size is
 * `safety * size * error ** (-1 / order)`, with the error in units of the tolerance.
 *
 * @example
 * ```ts
 * import { integralController, odeint, tensor, type Tensor } from "@weft/weft";
 *
 * const decay = (_t: Tensor, y: Tensor) => y.neg();
 * const controller = integralController({ dtMax: 0.25, stepTimes: [0.3] });
 * console.log(`${odeint(decay, tensor([1]), [0, 1], { method: "dopri5", controller })}`);
 * ```
 *
 * @throws {OptionError} For an unknown option.
 * @throws {RangeError} If a number is out of range.
 */
export function integralController(options: ErrorControllerOptions = {}): ErrorController {
  checkOptions("integralController", options, limitNames);
  return errorController("integralController", options);
}
