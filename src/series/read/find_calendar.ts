/** Recognises the calendar of dates: months on a day of the month, open days and hours, or local days. */
import { localOf } from "../../data/format.ts";
import { calendarMonths, commonMonthDay } from "../../data/months.ts";
import type { SeriesSet } from "../../data/series.ts";
import { daySeconds, type RecordedCalendar, weekdayOf, writtenLocal } from "../record/calendar.ts";
import { parseCalendar } from "../record/calendar_notation.ts";
import { openCells, recordCells, unusable } from "./open_cells.ts";
import { gapsOf } from "./spans.ts";
import { median } from "../math/median.ts";

/** Kind and calendar of the times of a record. */
export interface TimeCalendar {
  readonly kind: SeriesSet["times"];
  readonly calendar?: RecordedCalendar;
}

/**
 * Returns a line about the calendar of a record with dates.
 *
 * @param option The option `calendar`.
 */
export function describeCalendar({ kind, calendar }: TimeCalendar, option = "auto"): string[] {
  if (!calendar) return [];
  const { name, zone = "UTC", monthDay } = calendar;
  const day = monthDay === undefined
    ? "on the day of the last observation"
    : monthDay === 31
    ? "on the last day"
    : `on day ${monthDay}`;
  const steps = kind === "month"
    ? `months ${day}`
    : name === undefined
    ? `local time of ${zone}`
    : `${name}${option === "auto" ? ", recognised" : ""}; other times have no steps`;
  return [`calendar: ${steps}`];
}

/** Minimum step of months, in seconds: 27 days and a half, since clocks may be put forward in February. */
const leastMonth = 27.5 * daySeconds;

/**
 * Finds the calendar of a set with dates.
 *
 * @param option Calendar in the notation of the option `calendar`.
 * @throws {OptionError} If the calendar does not fit the series.
 */
export function findCalendar(set: SeriesSet, option = "auto"): TimeCalendar {
  const requested = parseCalendar(option)!;
  if (set.times !== "date") {
    if (typeof requested !== "string") {
      throw unusable(option, `these times are ${set.times}s`, "give times as dates");
    }
    return { kind: set.times };
  }
  const observed = observedTimes(set);
  const zone = zoneOf(observed, set.zone);
  const local = localTimes(observed, zone);
  const timeOfDay = onlyTimeOfDay(local);
  const common = { ...(zone ? { zone } : {}), ...(timeOfDay === undefined ? {} : { timeOfDay }) };
  const months = monthCalendar(set, local, timeOfDay);
  if (months) {
    if (typeof requested !== "string") throw unusable(option, "the steps are months", "leave it out");
    return { kind: "month", calendar: { ...common, ...months } };
  }
  const cells = requested === "none" ? undefined : openCells(local, requested, option);
  if (cells) return { kind: "date", calendar: { ...common, ...recordCells(cells) } };
  return hasLocalSteps(observed, local, zone) ? { kind: "date", calendar: common } : { kind: "date" };
}

/** Times of the rows of each series that have a value to forecast. */
function observedTimes({ series, channels, kinds }: SeriesSet): Float64Array[] {
  const width = channels.length;
  const targetChannels = [...channels.keys()].filter((c) => (kinds?.[c].role ?? "observed") === "observed");
  return series.map(({ times, values }) =>
    times.filter((_, row) => targetChannels.some((channel) => !Number.isNaN(values[row * width + channel])))
  );
}

/** The given zone, or undefined for UTC: the one with fewer different times of the day. */
function zoneOf(observed: readonly Float64Array[], zone: string | undefined): string | undefined {
  if (zone === undefined || zone === "UTC") return undefined;
  const [inZone, inUtc] = [localTimes(observed, zone), observed].map((all) =>
    new Set(all.flatMap((times) => Array.from(times, (time) => weekdayOf(time).time))).size
  );
  return inZone <= inUtc ? zone : undefined;
}

/** Local times. Of the times that clocks skipped, those at the time of the day of more rows. */
function localTimes(observed: readonly Float64Array[], zone: string | undefined): Float64Array[] {
  if (zone === undefined) return [...observed];
  const counts = new Map<number, number>();
  const timeOf = (local: number) => weekdayOf(local).time;
  for (const times of observed) {
    for (const time of times) {
      const of = timeOf(localOf(time, zone));
      counts.set(of, (counts.get(of) ?? 0) + 1);
    }
  }
  const countOf = (local: number) => counts.get(timeOf(local)) ?? 0;
  return observed.map((times) =>
    times.map((time) => {
      const shown = countOf(localOf(time, zone));
      return writtenLocal(time, zone, (local) => countOf(local) > shown);
    })
  );
}

/** Seconds since midnight of all times, if they are equal. */
function onlyTimeOfDay(local: readonly Float64Array[]): number | undefined {
  const first = local.find(({ length }) => length > 0)?.[0];
  if (first === undefined) return undefined;
  const { time } = weekdayOf(first);
  return local.every((times) => times.every((one) => weekdayOf(one).time === time)) ? time : undefined;
}

/** Whether all gaps are multiples of the shortest gap. */
function areMultiples(gaps: readonly number[]): boolean {
  const least = gaps.reduce((least, gap) => Math.min(least, gap), Infinity);
  return gaps.every((gap) => Math.abs(gap / least - Math.round(gap / least)) < 1e-6);
}

/** Days of the month of series whose steps are months. */
function monthCalendar(
  { series }: SeriesSet,
  local: readonly Float64Array[],
  timeOfDay: number | undefined,
): Pick<RecordedCalendar, "monthDay" | "monthDays"> | undefined {
  const gaps = gapsOf(local);
  if (gaps.length === 0 || gaps.some((gap) => gap < leastMonth)) return undefined;
  const days = local.map((times) => times.length > 0 ? commonMonthDay(times) : undefined);
  if (timeOfDay === undefined || days.some((day, i) => day === undefined && local[i].length > 0)) {
    const isMonth = calendarMonths(median(gaps));
    return isMonth && !areMultiples(gaps) ? {} : undefined;
  }
  const counts = Map.groupBy(days.filter((day) => day !== undefined), (day) => day);
  const monthDay = [...counts].reduce((most, one) => one[1].length > most[1].length ? one : most)[0];
  const others = series.flatMap(({ name }, i) =>
    days[i] === undefined || days[i] === monthDay ? [] : [[name, days[i]] as const]
  );
  return { monthDay, ...(others.length > 0 ? { monthDays: Object.fromEntries(others) } : {}) };
}

/**
 * Whether steps are equal in local time, and not between instants: steps of days, or of hours that clocks that
 * change lengthen and shorten.
 */
function hasLocalSteps(
  observed: readonly Float64Array[],
  local: readonly Float64Array[],
  zone: string | undefined,
): boolean {
  if (zone === undefined) return false;
  const gaps = gapsOf(local);
  if (gaps.length === 0 || gaps.some((gap) => gap <= 0)) return false;
  if (onlyTimeOfDay(local) !== undefined) return true;
  return areMultiples(gaps) && !areMultiples(gapsOf(observed));
}
