/** Horizon of forecasts: a number of steps, or a time. */
import type { TimeKind } from "../data/format.ts";
import { isWithin } from "../train/bounds.ts";

/** Length of a forecast: a number of steps, at least 1, or a time such as `"36h"` for series with dates. */
export type Horizon = number | string;

/** Valid horizons, for messages. */
export const horizonForms = "whole number of at least 1, or a time such as 90min, 36h or 2d";

/** Seconds per unit of a horizon. */
const unitSeconds: Readonly<Record<string, number>> = { s: 1, min: 60, h: 3600, d: 86_400, w: 604_800 };

/** Whether a value is a valid horizon. */
export function isHorizon(value: unknown): value is Horizon {
  return isWithin(value, { from: 1, whole: true }) || typeof value === "string" && secondsOf(value) > 0;
}

/** Parses a time with its unit. Returns seconds, or NaN for any other text. */
function secondsOf(text: string): number {
  const [, count, unit] = /^(\d{1,9}(?:\.\d{1,9})?)(s|min|h|d|w)$/.exec(text) ?? [];
  return Number(count) * unitSeconds[unit];
}

/**
 * Number of steps of a horizon.
 *
 * @param gap Time step, in seconds if the times are dates.
 * @throws {Error} If the horizon is a time and the series have no dates, or if it is shorter than a step.
 */
export function stepsOf(horizon: Horizon, gap: number, times: TimeKind): number {
  if (typeof horizon === "number") return horizon;
  if (times !== "date") {
    throw new Error(`--horizon ${horizon} needs dates, and these times are numbers: give a number of steps`);
  }
  const steps = Math.round(secondsOf(horizon) / gap);
  if (steps >= 1) return steps;
  throw new Error(`--horizon ${horizon} is shorter than a step of ${gap} s: give a longer one`);
}
