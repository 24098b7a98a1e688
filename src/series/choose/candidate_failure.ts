/** Reasons why a candidate of a comparison has no score. */
import { DataError, OptionError } from "../../device/errors.ts";
import { DivergenceError } from "../../solvers/divergence.ts";
import { NonFiniteLossError } from "../../train/loop.ts";

/** Reason of a candidate that the last resort ended: a multiple of the budget in real time. */
export const outOfTime = "ended after ten times the budget; the choice depends on the speed of this machine";

/**
 * Reason why a candidate that failed with an error has no score: it cannot read the data, it cannot use an
 * option, or its values became infinite. Undefined for other errors, which end the comparison.
 */
export function failureOf(error: unknown): string | undefined {
  if (error instanceof DataError || error instanceof OptionError) {
    const { message, fix } = error;
    return `left out: ${fix === undefined ? message : message.slice(0, -`; ${fix}`.length)}`;
  }
  const hasDiverged = error instanceof NonFiniteLossError || error instanceof DivergenceError;
  return hasDiverged ? `diverged: ${error.message}` : undefined;
}
