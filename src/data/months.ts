/** Times that are months or quarters, and lengths of time in calendar months. */

const monthNames = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/** Notations of months and quarters: 1949-01, 1949M01, 1991 Jul, Jul 1991, 1970 Q1, 1970-Q1 and Q1 1970. */
const notations: readonly RegExp[] = [
  /^(?<year>\d{4})(?:-|M)(?<month>0[1-9]|1[0-2])$/i,
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
    const place = month ? +month - 1 : quarter ? 3 * (+quarter - 1) : monthNames.indexOf(name.toLowerCase());
    if (place >= 0) return 12 * (+year - 1970) + place;
  }
  return NaN;
}

/** Last whole month that `Date` can represent, in months since January 1970. */
export const latestMonth = 12 * (275_760 - 1970);

/** Formats a number of months since January 1970 as `1949-01`. A fraction of a month adds the day. */
export function formatMonth(months: number): string {
  const [month, day] = dayOf(months);
  const text = new Date(Date.UTC(1970, month, day)).toISOString();
  return day === 1 ? text.slice(0, -17) : text.slice(0, -14);
}

/** Month since January 1970, and day of the month from 1. */
function dayOf(months: number): [month: number, day: number] {
  const month = Math.floor(months + 1e-6);
  return [month, 1 + Math.max(0, Math.round((months - month) * daysOf(month)))];
}

/** Number of days of a month, which is counted from January 1970. */
function daysOf(month: number): number {
  return new Date(Date.UTC(1970, month + 1, 0)).getUTCDate();
}

/**
 * Converts a date to months since January 1970. The fraction is the elapsed share of the month, so that one
 * step from any day leads to the same day of the next month, or nearly so in a month of another length.
 *
 * @param seconds Seconds since 1970.
 */
export function monthsSince1970(seconds: number): number {
  const date = new Date(1000 * seconds);
  const month = 12 * (date.getUTCFullYear() - 1970) + date.getUTCMonth();
  return month + (1000 * seconds - Date.UTC(1970, month, 1)) / (86_400_000 * daysOf(month));
}

/**
 * Number of calendar months of a step: 1 for a step of 28 to 31 days, 3 for 90 to 92 days, 12 for 365 or 366
 * days. Undefined for any other step.
 *
 * @param gap Step in seconds.
 */
export function calendarMonths(gap: number): number | undefined {
  const days = gap / 86_400;
  if (days >= 28 && days <= 31) return 1;
  if (days >= 90 && days <= 92) return 3;
  return days >= 365 && days <= 366 ? 12 : undefined;
}
