/** Errors, times and limits that readers of data files share. */
import { DataError } from "../files/data_error.ts";
import { whyUnread } from "../files/disk.ts";

/** Largest number of bytes in a compressed file: a longer text would be no string. */
export const maxBytes = 2 ** 29 - 24;

/** A data file that does not hold what its format asks for. */
export class DataFormatError extends DataError {
  /** `"DataFormatError"`. */
  override name = "DataFormatError";

  /** An error about a line, whose message begins with the file and the line. */
  constructor(
    /** Name of the file. */
    readonly file: string,
    /** Number of the line, from 1. */
    readonly line: number,
    message: string,
    /** `"row"` where the file has no lines. */
    unit: "line" | "row" = "line",
  ) {
    // Messages quote from files, which may hold control characters.
    super(`${file}, ${unit} ${line}: ${withShortQuotations(message).replaceAll(/\p{Cc}/gu, "\uFFFD")}`);
  }
}

/** A message whose quotations are not longer than a line. */
function withShortQuotations(message: string): string {
  return message.replaceAll(/"([^"]{60})[^"]{20,}"/g, '"$1..."');
}

/**
 * The bytes of a file.
 *
 * @param expected Description of the file, for the message.
 * @throws {Error} With the path, if it cannot be read.
 */
export async function readBytes(path: string, expected: string): Promise<Uint8Array<ArrayBuffer>> {
  try {
    return await Deno.readFile(path);
  } catch (error) {
    throw new Error(`${path}: ${whyUnread(error)}; expected ${expected}`);
  }
}

/**
 * The text of a file in UTF-8.
 *
 * @param file Name of the file, for messages.
 * @param start Number of the first line, from 1.
 * @throws {DataFormatError} With the first line that is not UTF-8.
 */
export function decodeUtf8(bytes: Uint8Array, file: string, start = 1): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    const [line, text] = firstDamagedLine(bytes);
    throw new DataFormatError(
      file,
      start - 1 + line,
      `not UTF-8: "${text}"; save the file in the encoding UTF-8, or name its own with the option encoding`,
    );
  }
}

/** The number of the first line that is not UTF-8, and its beginning with U+FFFD for each fault. */
function firstDamagedLine(bytes: Uint8Array): [line: number, text: string] {
  let [line, text] = [0, ""];
  for (text of linesOf(bytes)) {
    line++;
    if (text.includes("\uFFFD")) break;
  }
  return [line, text.trim().slice(0, 40)];
}

/** The lines of a text in UTF-8, one decoded at a time, with U+FFFD for each fault. */
export function* linesOf(bytes: Uint8Array): Generator<string> {
  const decoder = new TextDecoder();
  for (let start = 0; start <= bytes.length;) {
    const found = bytes.indexOf(10, start);
    const end = found < 0 ? bytes.length : found;
    yield decoder.decode(bytes.subarray(start, end));
    start = end + 1;
  }
}

/** Largest absolute value that files may hold: float32 ends a little above it. */
export const maxValue = 3.4e38;

/**
 * Refuses columns of one name.
 *
 * @throws {DataFormatError} With the name.
 */
export function requireDistinct(columns: readonly string[], file: string): void {
  const seen = new Set<string>();
  const twice = columns.find((name) => seen.size === seen.add(name).size);
  if (twice === undefined) return;
  throw new DataFormatError(file, 1, `two columns are called "${twice}": rename one, or take it out`);
}

/** A number in decimal notation, as `-2`, `.5` or `1.5e-3`; NaN for anything else, as `0x1F`, `Infinity` or nothing. */
export function numberOf(text: string): number {
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : NaN;
}

/** Notation of times. */
export type TimeKind = "number" | "date";

/** Notation of a column of times: epochs count from 1970 on, a date is in words, any other number is one. */
export type TimeUnit = "number" | "date" | "seconds" | "milliseconds" | "microseconds" | "nanoseconds";

/** Every notation. */
export const timeUnits: readonly TimeUnit[] = [
  "number",
  "date",
  "seconds",
  "milliseconds",
  "microseconds",
  "nanoseconds",
];

const hyphenated =
  /^(\d{4}-\d\d-\d\d)(?:[ T](\d\d):(\d\d)(?::(\d\d(?:[.,]\d+)?))?\s?(Z|UTC|[+-]\d\d(?::?\d\d)?)?)?$/;
const eightDigits = /^((?:19|20)\d\d)(\d\d)(\d\d)$/;

/** Whether a text is written as a date with hyphens, though there may be no such day. */
export function isHyphenated(text: string): boolean {
  return hyphenated.test(text);
}

/** Whether a number's eight digits make a day of the years 1900 to 2099. */
export function isEightDigitDay(value: number): boolean {
  return value >= 19000101 && value <= 20991231 && !Number.isNaN(timeOf(`${value}`, "date"));
}

/**
 * Notation of the times of one column: dates if one of them is written with hyphens, as `2024-05-31`, or if all are eight
 * digits that make a day of the years 1900 to 2099, as `20240531`; numbers otherwise.
 */
export function timeKindOf(texts: readonly string[]): TimeKind {
  if (texts.some(isHyphenated)) return "date";
  return texts.length > 0 && texts.every((text) => isEightDigitDay(numberOf(text))) ? "date" : "number";
}

/**
 * A time as a number, a date as seconds since 1970; NaN if the text is of another kind. A date without a zone is taken as
 * UTC by default, so that every machine reads the same. Where clocks are put back, the hour that is there twice is taken as
 * the first; where they are put forward, a time that is skipped is taken as an hour later.
 *
 * @param text For example `2.5`, or `2004-10-01`, `20041001`, `2004-10-01 18:00:00`, `2004-10-01T18:00:00+01:00`.
 * @param zone Time zone of dates that name none, as `Europe/Berlin`.
 */
export function timeOf(text: string, kind: TimeKind, zone = "UTC"): number {
  if (kind === "number") return numberOf(text);
  const match = hyphenated.exec(text) ?? hyphenated.exec(text.replace(eightDigits, "$1-$2-$3"));
  if (!match) return NaN;
  const [, day, hours = "0", minutes = "0", seconds = "0", offset] = match;
  const [h, m, s] = [+hours, +minutes, +seconds.replace(",", ".")];
  if (h > 23 || m > 59 || s >= 60) return NaN;
  const local = midnightOf(day) + 3600 * h + 60 * m + s;
  if (offset === undefined) return instantOf(local, zone);
  if (offset === "Z" || offset === "UTC") return local;
  const sign = offset[0] === "-" ? -1 : 1;
  return local - sign * (3600 * +offset.slice(1, 3) + 60 * +(offset.slice(3).replace(":", "") || 0));
}

const midnights = new Map<string, number>();

/** Seconds from 1970 to the beginning of a day, as `2024-05-31`, in UTC; NaN where there is none. */
function midnightOf(day: string): number {
  const known = midnights.get(day);
  if (known !== undefined) return known;
  const midnight = Date.parse(`${day}T00:00:00Z`);
  // Deno takes the 31st of February for a day in March.
  const isDay = !Number.isNaN(midnight) && new Date(midnight).toISOString().slice(0, 10) === day;
  if (midnights.size > 1e5) midnights.clear();
  midnights.set(day, isDay ? midnight / 1000 : NaN);
  return isDay ? midnight / 1000 : NaN;
}

/** Seconds since 1970 at which the clocks of a zone show what those in UTC show after other seconds since 1970. */
export function instantOf(local: number, zone = "UTC"): number {
  return zone === "UTC" ? local : local - zoneOffset(local, zone);
}

const offsets = new Map<string, Map<number, number>>();

/** Seconds that a zone's clocks are ahead of UTC when they show a time, which is given in seconds. */
function zoneOffset(local: number, zone: string): number {
  // Clocks are changed at full quarters of an hour.
  const quarter = Math.floor(local / 900);
  if (!offsets.has(zone)) offsets.set(zone, new Map());
  const known = offsets.get(zone)!;
  const found = known.get(quarter);
  if (found !== undefined || Number.isNaN(local)) return found ?? NaN;
  const text = new Date(quarter * 900_000).toISOString().slice(0, -1);
  const instant = Temporal.PlainDateTime.from(text).toZonedDateTime(zone).epochMilliseconds / 1000;
  if (known.size > 1e5) known.clear();
  known.set(quarter, quarter * 900 - instant);
  return quarter * 900 - instant;
}

/**
 * The second of two times at which the clocks of a zone show the same, as they are put back: its date with its offset.
 *
 * @param time Seconds since 1970.
 * @returns For example `2024-10-27T02:30:00+01:00`; undefined where the clocks show the time once.
 */
export function shownAgain(time: number, zone: string): string | undefined {
  const shown = Temporal.Instant.fromEpochMilliseconds(Math.round(1000 * time)).toZonedDateTimeISO(zone)
    .toPlainDateTime();
  const [first, second] = (["earlier", "later"] as const).map((disambiguation) =>
    shown.toZonedDateTime(zone, { disambiguation })
  );
  return first.equals(second) ? undefined : second.toString({ timeZoneName: "never" });
}

/**
 * Refuses a zone that there is not.
 *
 * @throws {RangeError} With examples of names.
 */
export function requireZone(zone: string): void {
  try {
    new Intl.DateTimeFormat("en", { timeZone: zone });
  } catch {
    throw new RangeError(`no time zone "${zone}"; expected a name as Europe/Berlin, America/New_York or UTC`);
  }
}

/** Seconds from 1970 to the last date that there is. */
export const latestDate = 8.64e12;

/** A number of things, in words: `1 row`, `2 rows`. */
export function plural(count: number, one: string): string {
  return `${count} ${one}${count === 1 || one === "series" ? "" : "s"}`;
}

/**
 * The first names of a list in quotes, for a message.
 *
 * @param max Number of names that are written out.
 */
export function listed(names: readonly string[], max = 5): string {
  const shown = names.slice(0, max).map((name) => `"${name}"`).join(", ");
  return names.length > max ? `${shown} and ${names.length - max} more` : shown;
}
