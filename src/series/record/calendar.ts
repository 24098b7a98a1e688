/**
 * Times of series in steps of a calendar. Closed days and hours take no time: in a calendar of weekdays, Monday is one
 * day after Friday.
 */
import {
  describeTime,
  formatTime,
  instantOf,
  latestDate,
  latestTime,
  localOf,
  plural,
  type TimeKind,
} from "../../data/format.ts";
import {
  commonMonthDay,
  formatMonth,
  fromMonthShares,
  isOnMonthDay,
  monthsOf,
  monthsSince1970,
} from "../../data/months.ts";
import type { Series, SeriesSet } from "../../data/series.ts";
import { DataError } from "../../device/errors.ts";

/**
 * Calendar of dates. Times of a calendar are local: months since January 1970 with the fraction (day - 1) / 31, or
 * open seconds since 1970.
 */
export interface RecordedCalendar {
  /** Notation of the open hours, such as `weekdays hours 9-17`. */
  readonly name?: string;
  /** Time zone of the calendar; UTC by default. */
  readonly zone?: string;
  /**
   * Open hours of a week, in seconds since Monday 00:00: intervals that ascend and do not overlap. By default, all hours
   * are open.
   */
  readonly open?: readonly (readonly [from: number, to: number])[];
  /** Number of open days of a week, if all of them have equally many open hours. */
  readonly equalDays?: number;
  /** Seconds since midnight of all observations, if they are equal. */
  readonly timeOfDay?: number;
  /** Day of the month of most series. Shorter months replace the day with their last one. */
  readonly monthDay?: number;
  /** Day of the month of each series with another one, by its name. */
  readonly monthDays?: Readonly<Record<string, number>>;
}

/** Seconds of a day and of a week. */
export const [daySeconds, weekSeconds] = [86_400, 604_800];

/** Seconds from a Monday at 00:00 to 1 January 1970. */
const sinceMonday = 3 * daySeconds;

/** Tolerance of times for rounding errors, in seconds. */
const rounding = 1e-3;

/** Weekday of local time, from 0 for Monday, and seconds since its start. */
export function weekdayOf(local: number): { readonly weekday: number; readonly time: number } {
  const inWeek = positionIn(weekSeconds, local + sinceMonday);
  const weekday = Math.floor(inWeek / daySeconds);
  return { weekday, time: inWeek - weekday * daySeconds };
}

/** Number of the day of local time since 1970. */
export function dayOf(local: number): number {
  return Math.floor(local / daySeconds);
}

/** Number of the week of a day since 1970. Weeks begin on Monday. */
export function weekOf(day: number): number {
  return Math.floor((day + 3) / 7);
}

function positionIn(period: number, time: number): number {
  return time - period * Math.floor(time / period);
}

/**
 * Local time of an instant. Both are in seconds since 1970. Where clocks were put forward, the written time may be
 * one that was skipped: `isExpected` decides.
 *
 * @param isExpected Whether the series have observations at a local time.
 */
export function writtenLocal(
  instant: number,
  zone: string | undefined,
  isExpected: (local: number) => boolean,
): number {
  const local = localOf(instant, zone);
  const skipped = local - 3600;
  if (zone === undefined || instantOf(skipped, zone) !== instant || isExpected(local)) return local;
  return isExpected(skipped) ? skipped : local;
}

/** Seconds of the open hours of a week; of the whole week without open hours. */
export function openSeconds({ open }: Pick<RecordedCalendar, "open">): number {
  return open ? open.reduce((sum, [from, to]) => sum + to - from, 0) : weekSeconds;
}

/** Converts local time to open seconds since 1970. NaN outside of the open hours. */
function openTimeOf(local: number, calendar: RecordedCalendar): number {
  if (!calendar.open) return local;
  const week = Math.floor((local + sinceMonday) / weekSeconds);
  const inWeek = local + sinceMonday - week * weekSeconds;
  let before = 0;
  for (const [from, to] of calendar.open) {
    if (inWeek >= from && inWeek < to) return week * openSeconds(calendar) + before + inWeek - from;
    before += to - from;
  }
  return NaN;
}

/** Converts open seconds since 1970 to local time. */
function localOfOpenTime(time: number, calendar: RecordedCalendar): number {
  if (!calendar.open) return time;
  const total = openSeconds(calendar);
  const week = Math.floor((time + rounding) / total);
  const inWeek = time - week * total;
  let [before, local] = [0, 0];
  for (const [from, to] of calendar.open) {
    if (before > inWeek + rounding) break;
    local = from + Math.max(0, inWeek - before);
    before += to - from;
  }
  return week * weekSeconds + local - sinceMonday;
}

/** Converts an instant in seconds since 1970 to a time of a calendar of days or hours. */
function calendarTimeOf(instant: number, calendar: RecordedCalendar): number {
  const { zone, open, timeOfDay } = calendar;
  const isExpected = (local: number) =>
    timeOfDay !== undefined
      ? positionIn(daySeconds, local) === timeOfDay
      : open === undefined || !Number.isNaN(openTimeOf(local, calendar));
  return openTimeOf(writtenLocal(instant, zone, isExpected), calendar);
}

/** Kind and calendar of the times of a record. */
interface RecordedTime {
  readonly kind: TimeKind;
  readonly calendar?: RecordedCalendar;
}

/**
 * Seconds since 1970 of a time of a record with dates. Times of other records stay: numbers, or months.
 */
export function instantOfTime(time: number, { kind, calendar }: RecordedTime): number {
  return kind === "date" && calendar ? instantOf(localOfOpenTime(time, calendar), calendar.zone) : time;
}

/** Local time, in seconds since 1970, of a time of a record with dates; UTC without a calendar. */
export function localOfTime(time: number, { calendar }: RecordedTime): number {
  return calendar ? localOfOpenTime(time, calendar) : time;
}

/** Formats a time of a record as a table has it: a number, a date in ISO 8601, or a month or day. */
export function formatRecordedTime(time: number, recorded: RecordedTime): string {
  const { kind, calendar } = recorded;
  if (kind === "month") return formatMonth(calendar ? time : fromMonthShares(time));
  return formatTime(instantOfTime(time, recorded), kind);
}

/** Formats a time of a record for people. */
export function describeRecordedTime(time: number, recorded: RecordedTime): string {
  return recorded.kind === "month"
    ? formatRecordedTime(time, recorded)
    : describeTime(instantOfTime(time, recorded), recorded.kind);
}

/**
 * Formats the time `duration` after a time of a record. In months, the day of the month stays, or is the last day of
 * a shorter month.
 */
export function formatTimeAfter(start: number, duration: number, recorded: RecordedTime): string {
  return recorded.kind === "month" && !recorded.calendar
    ? formatMonth(fromMonthShares(start) + duration)
    : formatRecordedTime(start + duration, recorded);
}

/** Latest time of a record that can be written. */
export function latestRecordedTime({ kind, calendar }: RecordedTime): number {
  return kind === "date" && calendar
    ? (latestDate - weekSeconds) / weekSeconds * openSeconds(calendar)
    : latestTime(kind);
}

/**
 * Converts the dates of a set to the times of a record: calendar months, or seconds of a calendar. Other times stay.
 * Leaves out rows outside of the calendar, with a notice.
 *
 * @throws {DataError} If no row of a series is within the calendar.
 */
export function inRecordedTimes(set: SeriesSet, { kind, calendar }: RecordedTime): SeriesSet {
  if (set.times !== "date") return set;
  if (kind === "month") return inMonths(set, calendar);
  return kind === "date" && calendar ? inCalendar(set, calendar) : set;
}

function inMonths(set: SeriesSet, calendar: RecordedCalendar | undefined): SeriesSet {
  const timesOf = ({ name, times }: Series) => {
    if (!calendar) return times.map(monthsSince1970);
    const { zone, timeOfDay } = calendar;
    const local = times.map((time) =>
      writtenLocal(time, zone, (local) => positionIn(daySeconds, local) === timeOfDay)
    );
    const recorded = calendar.monthDays?.[name] ?? calendar.monthDay;
    const day = recorded === undefined || local.every((time) => isOnMonthDay(time, recorded))
      ? recorded
      : commonMonthDay(local);
    return local.map((time) => monthsOf(time, day));
  };
  return { ...set, times: "month", series: set.series.map((one) => ({ ...one, times: timesOf(one) })) };
}

function inCalendar(set: SeriesSet, calendar: RecordedCalendar): SeriesSet {
  const width = set.channels.length;
  let [left, first] = [0, Infinity];
  const series = set.series.map((one) => {
    const times = one.times.map((time) => calendarTimeOf(time, calendar));
    let last = -Infinity;
    const kept = Array.from(times.keys()).filter((row) => {
      // Clocks that are put back show an hour twice. The calendar has this hour once.
      const isKept = times[row] > last;
      if (isKept) last = times[row];
      return isKept;
    });
    if (kept.length === times.length) return { ...one, times };
    const out = one.times.find((_, row) => Number.isNaN(times[row])) ?? one.times[0];
    if (kept.length === 0 && times.length > 0) {
      const expected = `times of the calendar ${calendar.name ?? "of the run"}`;
      throw new DataError(
        "invalid-observation",
        `${set.name}: series "${one.name}" has no row within the calendar ${calendar.name}, got ${
          describeTime(out, "date")
        } (UTC)`,
        { expected, fixes: ["leave such rows out, or train with another calendar"] },
      );
    }
    left += times.length - kept.length;
    first = Math.min(first, out);
    return {
      ...one,
      times: Float64Array.from(kept, (row) => times[row]),
      values: Float64Array.from(
        { length: kept.length * width },
        (_, i) => one.values[kept[Math.floor(i / width)] * width + i % width],
      ),
    };
  });
  const notices = left === 0 ? [] : [
    `${plural(left, "row")} outside of the calendar ${
      calendar.name ?? "of local days"
    } left out, the first at ${describeTime(first, "date")} (UTC)`,
  ];
  return { ...set, series, notices: [...set.notices ?? [], ...notices] };
}
