/** Times that are months or quarters, and lengths of time in calendar months. */

const monthNames = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/** Notations of months and quarters: 1949-01, 1949/01, 1949M01, 1991 Jul, Jul 1991, 1970 Q1, 1970-Q1 and Q1 1970. */
const notations: readonly RegExp[] = [
  /^(?<year>\d{4})(?:[-/]|M)(?<month>0[1-9]|1[0-2])$/i,
  /^(?<year>\d{4})[ -](?<name>[a-z]{3})[a-z]*\.?$/i,
  /^(?<name>[a-z]{3})[a-z]*\.?[ -](?<year>\d{4})$/i,
  /^(?<year>\d{4})[ -]?Q(?<quarter>[1-4])$/i,
  /^Q(?<quarter>[1-4])[ -]?(?<year>\d{4})$/i,
];

/**
 * Parses a month, or the first month of a quarter. Returns the number of months since January 1970, or NaN for
 * any other text.
 */
export function monthOf(text: string): number {
  for (const notation of notations) {
    const { year, month, name, quarter } = notation.exec(text)?.groups ?? {};
    if (year === undefined) continue;
    const monthIndex = month
      ? +month - 1
      : quarter
      ? 3 * (+quarter - 1)
      : monthNames.indexOf(name.toLowerCase());
    if (monthIndex >= 0) return 12 * (+year - 1970) + monthIndex;
  }
  return NaN;
}

/** Last whole month that `Date` can represent, in months since January 1970. */
export const latestMonth = 12 * (275_760 - 1970);

/** Days that a month counts as, so that the same day has the same fraction in all months. */
const monthDays = 31;

/** Seconds of a day. */
const daySeconds = 86_400;

/**
 * Formats a number of months since January 1970 as `1949-01`. The fraction is (day - 1) / 31, as in
 * {@linkcode monthsOf}: it adds the day, and its time unless that is 00:00. A day that the month lacks is its
 * last day.
 */
export function formatMonth(months: number): string {
  const text = new Date(1000 * secondsOfMonths(months)).toISOString().replace(/T00:00:00.000Z$/, "");
  return text.endsWith("-01") ? text.slice(0, -3) : text.replace(/(:00)?\.000Z$/, "");
}

/** Seconds from January 1970 to a number of months. A day that the month lacks is its last day. */
export function secondsOfMonths(months: number): number {
  const month = Math.floor(months + 1e-9);
  // Rounding errors of the fraction are far below a millisecond.
  const inMonth = Math.round(1000 * monthDays * daySeconds * Math.max(0, months - month)) / 1000;
  const day = Math.min(Math.floor(inMonth / daySeconds), daysOf(month) - 1);
  return Date.UTC(1970, month, 1 + day) / 1000 + inMonth % daySeconds;
}

/** Number of days of a month, which is counted from January 1970. */
export function daysOf(month: number): number {
  return new Date(Date.UTC(1970, month + 1, 0)).getUTCDate();
}

/** A date as a month since January 1970, the day of the month from 1, and the seconds since midnight. */
interface MonthDate {
  readonly month: number;
  readonly day: number;
  readonly rest: number;
}

/** Splits seconds since 1970, in local time, into month, day and time. */
export function monthDateOf(seconds: number): MonthDate {
  const date = new Date(1000 * seconds);
  const month = 12 * (date.getUTCFullYear() - 1970) + date.getUTCMonth();
  const day = date.getUTCDate();
  return { month, day, rest: seconds - Date.UTC(1970, month, day) / 1000 };
}

/**
 * Day of the month on which all of some dates fall: 31 if each date is the last day of its month, or the day that
 * all months have, or that shorter months replace with their last day. Undefined if there is no such day.
 */
export function commonMonthDay(seconds: ArrayLike<number>): number | undefined {
  const dates = Array.from(seconds, monthDateOf);
  if (dates.every(({ month, day }) => day === daysOf(month))) return monthDays;
  const latest = Math.max(...dates.map(({ day }) => day));
  return dates.every((date) => isOn(date, latest)) ? latest : undefined;
}

/** Whether a date, in seconds since 1970, is on a day of the month, or on the last day of a shorter month. */
export function isOnMonthDay(seconds: number, monthDay: number): boolean {
  return isOn(monthDateOf(seconds), monthDay);
}

function isOn({ month, day }: MonthDate, monthDay: number): boolean {
  return day === Math.min(monthDay, daysOf(month));
}

/**
 * Converts a date to months since January 1970, with the fraction (day - 1) / 31 and the time: the same day of two
 * months differs by a whole number.
 *
 * @param seconds Seconds since 1970, in local time.
 * @param monthDay Day of the month of a series: the last day of a shorter month counts as this day.
 */
export function monthsOf(seconds: number, monthDay?: number): number {
  const date = monthDateOf(seconds);
  const day = monthDay !== undefined && isOn(date, monthDay) ? monthDay : date.day;
  return date.month + (day - 1 + date.rest / daySeconds) / monthDays;
}

/**
 * Converts a date to months since January 1970 as runs without a calendar in their record do: the fraction is the
 * elapsed share of the month.
 *
 * @param seconds Seconds since 1970.
 */
export function monthsSince1970(seconds: number): number {
  const { month, day, rest } = monthDateOf(seconds);
  return month + (day - 1 + rest / daySeconds) / daysOf(month);
}

/** Converts months of {@linkcode monthsSince1970} to those of {@linkcode monthsOf}. */
export function fromMonthShares(months: number): number {
  const month = Math.floor(months + 1e-6);
  return month + Math.max(0, Math.round((months - month) * daysOf(month))) / monthDays;
}

/** Numbers of months of a step, with the lengths in days that it may have. */
const monthSteps = [[1, 28, 31], [3, 90, 92], [6, 181, 184], [12, 365, 366]] as const;

/**
 * Number of calendar months of a step: 1 for a step of 28 to 31 days, 3 for 90 to 92 days, 6 for 181 to 184 days,
 * 12 for 365 or 366 days. Undefined for any other step.
 *
 * @param gap Step in seconds.
 */
export function calendarMonths(gap: number): number | undefined {
  const days = gap / daySeconds;
  return monthSteps.find(([_, shortest, longest]) => days >= shortest && days <= longest)?.[0];
}
