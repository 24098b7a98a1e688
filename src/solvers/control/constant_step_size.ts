import { checkStepSize } from "../fixed/step_times.ts";
import type { FixedSteps } from "./controller.ts";

/**
 * Steps of a constant size. A shorter step leads to the last time. With an adaptive method, steps have no error control.
 *
 * @param stepSize Size of the steps, in units of time.
 * @throws {RangeError} If the size is not positive and finite.
 */
export function constantStepSize(stepSize: number): FixedSteps {
  checkStepSize(stepSize, "constantStepSize");
  return { kind: "fixed", stepSize };
}
