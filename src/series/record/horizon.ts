/** Horizon of forecasts: a number of steps, or a time. */
import { OptionError } from "../../device/errors.ts";
import { formatSteps } from "../../charts/format.ts";
import type { TimeKind } from "../../data/format.ts";
import { openSeconds, type RecordedCalendar } from "./calendar.ts";
import { isWithin } from "../../train/bounds.ts";

/** Length of a forecast: a number of steps, at least 1, or a time such as `"36h"` for series with dates. */
export type Horizon = number | string;

/** Valid horizons, for messages. */
export const horizonForms = "whole number of at least 1, or a time such as 90min, 36h, 2d, 18 months or 1y";

/** Days of a year and of a month on average. */
const [yearDays, monthDays] = [365.25, 365.25 / 12];

/** Seconds per unit of a horizon. */
const unitSeconds: Readonly<Record<string, number>> = {
  s: 1,
  second: 1,
  min: 60,
  minute: 60,
  h: 3600,
  hour: 3600,
  d: 86_400,
  day: 86_400,
  w: 604_800,
  week: 604_800,
  mo: 86_400 * monthDays,
  month: 86_400 * monthDays,
  quarter: 3 * 86_400 * monthDays,
  y: 86_400 * yearDays,
  year: 86_400 * yearDays,
};

/** Whether a value is a valid horizon. */
export function isHorizon(value: unknown): value is Horizon {
  return isWithin(value, { from: 1, whole: true }) || typeof value === "string" && secondsOf(value) > 0;
}

/**
 * Parses a time with its unit. Returns seconds, or NaN for any other text. In a calendar with open hours, a day has the
 * hours of an open day, and a week, a month or a year the hours of its open days.
 */
function secondsOf(text: string, calendar: RecordedCalendar = {}): number {
  const [, count, unit = ""] = /^(\d{1,9}(?:\.\d{1,9})?) ?([a-z]+)$/.exec(text) ?? [];
  const singular = unit.length > 1 ? unit.replace(/s$/, "") : unit;
  if (!Object.hasOwn(unitSeconds, singular)) return NaN;
  const seconds = Number(count) * unitSeconds[singular];
  const { open, equalDays = 7 } = calendar;
  if (!open || unitSeconds[singular] < unitSeconds.day) return seconds;
  return seconds * openSeconds(calendar) / unitSeconds.week *
    (unitSeconds[singular] === unitSeconds.day ? 7 / equalDays : 1);
}

/**
 * Number of steps of a horizon.
 *
 * @param gap Time step: seconds if the times are dates, months if they are months.
 * @throws {OptionError} If the horizon is a time and the series have no dates, or if it is shorter than a step.
 */
export function stepsOf(
  horizon: Horizon,
  gap: number,
  times: TimeKind,
  calendar?: RecordedCalendar,
): number {
  if (typeof horizon === "number") return horizon;
  if (times === "number") {
    throw new OptionError(
      "invalid-option",
      (write) => `${write("horizon")} ${horizon} needs dates, and these times are numbers`,
      { option: "horizon", expected: "a number of steps", fixes: ["give a number of steps"] },
    );
  }
  const step = times === "month" ? gap * unitSeconds.month : gap;
  const steps = Math.round(secondsOf(horizon, calendar) / step);
  if (steps >= 1) return steps;
  const length = formatSteps(1, gap, times);
  throw new OptionError(
    "invalid-option",
    (write) => `${write("horizon")} ${horizon} is shorter than a step of ${length}`,
    { option: "horizon", expected: `at least ${length}`, fixes: ["give a longer one"] },
  );
}
