/** Horizons of forecasts: a number of steps, or a time. */
import type { TimeKind } from "../data/format.ts";
import { isWithin } from "../train/bounds.ts";

/** Length of a forecast: a number of steps, at least 1, or a time such as `"36h"` for series with dates. */
export type Horizon = number | string;

/** Horizons in words. */
export const horizonForms = "whole number of at least 1, or a time such as 90min, 36h or 2d";

/** Seconds of each unit of a horizon in time. */
const unitSeconds: Readonly<Record<string, number>> = { s: 1, min: 60, h: 3600, d: 86_400, w: 604_800 };

/** Whether a value is a horizon. */
export function isHorizon(value: unknown): value is Horizon {
  return isWithin(value, { from: 1, whole: true }) || typeof value === "string" && secondsOf(value) > 0;
}

/** Seconds of a time with its unit; NaN of any other text. */
function secondsOf(text: string): number {
  const [, count, unit] = /^(\d{1,9}(?:\.\d{1,9})?)(s|min|h|d|w)$/.exec(text) ?? [];
  return Number(count) * unitSeconds[unit];
}

/**
 * Number of steps of a horizon.
 *
 * @param gap Length of a step, in seconds where times are dates.
 * @throws {Error} For a time where the series have none, or that is shorter than a step.
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
