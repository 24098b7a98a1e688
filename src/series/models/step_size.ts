/** Steps of a solver between two observations. */
import { OptionError } from "../../device/errors.ts";

/**
 * Number of steps between two observations.
 *
 * @param stepSize Length of a step, as a fraction of the time between two observations.
 * @throws {OptionError} If a step is longer than the time between two observations.
 */
export function stepsPerGap(model: string, stepSize = 1): number {
  if (stepSize <= 1) return Math.ceil(1 / stepSize);
  throw new OptionError(
    "invalid-option",
    (write) =>
      `${model}: ${write("stepSize")} ${stepSize}, expected at most 1: a step ends at the next observation`,
    { option: "stepSize", expected: "at most 1" },
  );
}
