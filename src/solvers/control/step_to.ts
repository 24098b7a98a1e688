import { hostTimes } from "../../tensor/host.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { checkFinite } from "../fixed/step_times.ts";
import type { FixedSteps } from "./controller.ts";

/**
 * Steps between given times. With an adaptive method, steps have no error control.
 *
 * @param stepTimes End times of the steps, in any order. The first and the last time of the solve are added. They
 * are constants, as the option `stepTimes` of an {@linkcode integralController}.
 * @throws {RangeError} If a time is infinite or NaN.
 * @throws {TypeError} If the times are not a vector, or a gradient with respect to them is requested.
 */
export function stepTo(stepTimes: Tensor | ArrayLike<number>): FixedSteps {
  const grid = hostTimes(stepTimes, "stepTo: stepTimes");
  checkFinite(grid, "stepTimes", "stepTo");
  return { kind: "fixed", grid };
}
