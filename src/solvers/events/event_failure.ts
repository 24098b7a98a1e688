/** Failures of a search for events, with the reason that holds. */
import type { DType } from "../../device/dtype.ts";
import type { AdaptiveOptions } from "../adaptive/steps.ts";
import { NoProgressError } from "../divergence.ts";
import type { EventSteps } from "./event_lists.ts";

/** @throws {NoProgressError} If a sample has reached neither its last event nor the last time. */
export function requireEvents(
  { lists }: EventSteps,
  method: string,
  begin: number,
  { maxSteps, controller: { dtMin } }: Pick<AdaptiveOptions, "maxSteps" | "controller">,
  dtype: DType,
): void {
  const left = lists.findIndex(({ done }) => !done);
  if (left < 0) return;
  const { time, length, starts, rejected, stuck, finite, closest, crossed } = lists[left];
  const sample = lists.length > 1 ? ` of sample ${left}` : "";
  const events = crossed.filter((number) => number >= 0).length;
  const what = events > 0
    ? `odeintEvent: only ${events} events${sample} were found up to t = ${time}`
    : closest
    ? `odeintEvent: no event${sample} was found: the event function has the same sign at the ends of all steps up to t = ${time}, ` +
      `and is closest to zero at t = ${closest.t}, by ${closest.distance}`
    : `odeintEvent: no event${sample} was found, and the first step from t = ${begin} failed`;
  const steps = `${starts.length} steps and ${rejected} rejected ones`;
  const isLeast = dtMin !== undefined && length >= dtMin * (1 - 1e-6);
  const why = !stuck
    ? `${maxSteps} steps of ${method} from t = ${begin} reached t = ${time}, with ${steps}. Check the sign of the event function, or raise maxSteps, rtol or ` +
      "atol; two sign changes within one step are not seen: jumpTimes end steps at given times, and t1 ends the solve"
    : finite && isLeast
    ? `the error of a step of dtMin = ${dtMin} is too large after ${steps}; lower dtMin, or set forceDtMin`
    : finite
    ? `${method} cannot continue with a step of ${length} after ${steps}: rtol and atol are below the precision of ${dtype}, or events ` +
      "follow each other ever faster; raise the tolerances, or lower maxEvents"
    : `${method} cannot continue with a step of ${length} after ${steps}: the state is not finite there; t1 ends the solve before`;
  const reason = !stuck ? "maxSteps" : !finite ? "notFinite" : isLeast ? "dtMin" : "precision";
  throw new NoProgressError(`${what}. The solve stopped: ${why}`, reason);
}
