/** Errors, times and limits shared by the readers of data files. */
import { formatDate } from "../charts/format.ts";
import { formatMonth, latestMonth, monthOf } from "./months.ts";
import {
  DataError,
  type ErrorCode,
  type ErrorDetails,
  type ErrorText,
  OptionError,
  type OptionWriter,
  WeftError,
} from "../device/errors.ts";
import { diskOf, whyUnread } from "../files/disk.ts";

/** Largest number of bytes of a compressed file. A longer text does not fit into a string. */
export const maxBytes = 2 ** 29 - 24;

/** Details of an error about a line or row. */
export interface FormatErrorDetails extends Omit<ErrorDetails, "row"> {
  /**
   * Kind of the error.
   *
   * @default {"invalid-row"}
   */
  readonly code?: ErrorCode;
  /**
   * `"row"` for files without lines.
   *
   * @default {"line"}
   */
  readonly unit?: "line" | "row";
}

/** A data file that does not follow its format. */
export class DataFormatError extends DataError {
  /** `"DataFormatError"`. */
  override name = "DataFormatError";

  /**
   * Makes an error about a line or row. The message begins with the file and the line or row.
   *
   * @param row Number of the line or row, from 1.
   */
  constructor(
    /** Name of the file. */
    readonly file: string,
    row: number,
    text: ErrorText,
    { code = "invalid-row", unit = "line", ...details }: FormatErrorDetails = {},
  ) {
    const problem = (write: OptionWriter) => typeof text === "string" ? text : text(write);
    super(code, (write) => `${file}, ${unit} ${row}: ${problem(write)}`, { ...details, row });
  }
}

/** Quotes a text of a file for a message. Shortens texts of more than 80 characters to their first 60. */
export function quoted(text: string): string {
  return `"${text.length > 80 ? `${text.slice(0, 60)}...` : text}"`;
}

/**
 * Reads the bytes of a file.
 *
 * @param expected Description of the expected file, for the message.
 * @throws {Error} If the file cannot be read. The message contains the path.
 */
export async function readBytes(path: string, expected: string): Promise<Uint8Array<ArrayBuffer>> {
  try {
    return await diskOf(path).read(path);
  } catch (error) {
    throw new WeftError("unreadable-file", `${path}: ${whyUnread(error)}; expected ${expected}`, {
      expected,
    });
  }
}

/**
 * Decodes a text in UTF-8.
 *
 * @param file Name of the file, for messages.
 * @param start Number of the first line, from 1.
 * @throws {DataFormatError} If the text is not UTF-8. The message contains the first invalid line.
 */
export function decodeUtf8(bytes: Uint8Array, file: string, start = 1): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    const [line, text] = firstDamagedLine(bytes);
    throw new DataFormatError(
      file,
      start - 1 + line,
      `not UTF-8: "${text}"`,
      {
        code: "damaged-file",
        option: "encoding",
        expected: "utf-8",
        fixes: [
          (write) =>
            `save the file in the encoding UTF-8, or set ${write("encoding")} to the file's encoding`,
        ],
      },
    );
  }
}

/** Number and beginning of the first line that is not UTF-8. Invalid bytes become U+FFFD. */
function firstDamagedLine(bytes: Uint8Array): [line: number, text: string] {
  let [line, text] = [0, ""];
  for (text of linesOf(bytes)) {
    line++;
    if (text.includes("\uFFFD")) break;
  }
  return [line, text.trim().slice(0, 40)];
}

/** Decodes a text in UTF-8 line by line. Invalid bytes become U+FFFD. */
export function* linesOf(bytes: Uint8Array): Generator<string> {
  const decoder = new TextDecoder();
  for (let start = 0; start <= bytes.length;) {
    const newline = bytes.indexOf(10, start);
    const end = newline < 0 ? bytes.length : newline;
    yield decoder.decode(bytes.subarray(start, end));
    start = end + 1;
  }
}

/** Largest absolute value allowed in files, slightly below the maximum of float32. */
export const maxValue = 3.4e38;

/**
 * Rejects duplicate column names.
 *
 * @throws {DataFormatError} With the duplicate name.
 */
export function requireDistinct(columns: readonly string[], file: string): void {
  const seen = new Set<string>();
  const twice = columns.find((name) => seen.size === seen.add(name).size);
  if (twice === undefined) return;
  throw new DataFormatError(file, 1, `two columns are called ${quoted(twice)}`, {
    code: "conflicting-columns",
    column: twice,
    fixes: ["rename one, or remove it"],
  });
}

/**
 * Parses a number in decimal notation, such as `-2`, `.5` or `1.5e-3`. Returns NaN for any other text, such
 * as `0x1F`, `Infinity` or an empty one.
 */
export function numberOf(text: string): number {
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : NaN;
}

/** Notation of times. A `"month"` is a number of calendar months since January 1970. */
export type TimeKind = "number" | "date" | "month";

/**
 * Notation of a column of times. `"date"` is a written date; `"month"` is a written month or quarter, such as
 * `1949-01`, `1991 Jul` or `1970 Q1`; the units of time are epochs, counted from 1970;
 * `"number"` is any other number.
 */
export type TimeUnit =
  | "number"
  | "date"
  | "month"
  | "seconds"
  | "milliseconds"
  | "microseconds"
  | "nanoseconds";

/** All notations of times. */
export const timeUnits: readonly TimeUnit[] = [
  "number",
  "date",
  "month",
  "seconds",
  "milliseconds",
  "microseconds",
  "nanoseconds",
];

const writtenDate =
  /^(?:(\d{4})-(\d\d)-(\d\d)|(\d{4})\/(\d\d?)\/(\d\d?))(?:[ T](\d\d):(\d\d)(?::(\d\d(?:[.,]\d+)?))?\s?(Z|UTC|[+-]\d\d(?::?\d\d)?)?)?$/;
const eightDigits = /^((?:19|20)\d\d)(\d\d)(\d\d)$/;

/** Whether a text has the form of a date with hyphens or slashes, the year first. Does not check that the day exists. */
export function isWrittenDate(text: string): boolean {
  return writtenDate.test(text);
}

/** Whether a number has six digits that form a month from 1900 to 2099, such as 201801. */
export function isSixDigitMonth(value: number): boolean {
  return Number.isInteger(value) && value >= 190001 && value <= 209912 && !Number.isNaN(sixDigitMonth(value));
}

/** Months since January 1970 of a number such as 201801; NaN if its last two digits are no month. */
export function sixDigitMonth(value: number): number {
  const month = value % 100;
  return month >= 1 && month <= 12 ? 12 * (Math.floor(value / 100) - 1970) + month - 1 : NaN;
}

/** Whether a number has eight digits that form a day from 1900 to 2099. */
export function isEightDigitDay(value: number): boolean {
  return value >= 19000101 && value <= 20991231 && !Number.isNaN(timeOf(`${value}`, "date"));
}

/**
 * Returns the notation of the times of a column. The times are dates if one of them is written as
 * `2024-05-31` or `2024/05/31`, or if all of them are eight digits that form a day from 1900 to 2099, as in `20240531`.
 * Otherwise they are numbers.
 */
export function timeKindOf(texts: readonly string[]): TimeKind {
  if (texts.some(isWrittenDate)) return "date";
  return texts.length > 0 && texts.every((text) => isEightDigitDay(numberOf(text))) ? "date" : "number";
}

/**
 * Parses a time: a number, or a date as seconds since 1970. Returns NaN if the text has another notation. A
 * date without a zone is UTC by default, so that the result does not depend on the machine. If clocks are set
 * back, an ambiguous time is the earlier of the two times. If they are set forward, a skipped time counts as
 * one hour later.
 *
 * @param text For example `2.5`, or `2004-10-01`, `2004/10/01`, `20041001`, `2004-10-01 18:00:00` or
 * `2004-10-01T18:00:00+01:00`. `24:00` is the midnight at the end of the day (ISO 8601).
 * @param zone Time zone of dates without a zone, such as `Europe/Berlin`.
 */
export function timeOf(text: string, kind: TimeKind, zone = "UTC"): number {
  if (kind === "number") return numberOf(text);
  if (kind === "month") return monthOf(text);
  const match = writtenDate.exec(text) ?? writtenDate.exec(text.replace(eightDigits, "$1-$2-$3"));
  if (!match) return NaN;
  const [, y, mo, d, slashY, slashMo, slashD, hours = "0", minutes = "0", seconds = "0", offset] = match;
  const day = y ? `${y}-${mo}-${d}` : `${slashY}-${slashMo.padStart(2, "0")}-${slashD.padStart(2, "0")}`;
  const [h, m, s] = [+hours, +minutes, +seconds.replace(",", ".")];
  if (h > 23 && (h > 24 || m > 0 || s > 0) || m > 59 || s >= 60) return NaN;
  const local = midnightOf(day) + 3600 * h + 60 * m + s;
  if (offset === undefined) return instantOf(local, zone);
  if (offset === "Z" || offset === "UTC") return local;
  const sign = offset[0] === "-" ? -1 : 1;
  return local - sign * (3600 * +offset.slice(1, 3) + 60 * +(offset.slice(3).replace(":", "") || 0));
}

/** Formats a time: a number, a date in ISO 8601, or a month such as `1949-01`. */
export function formatTime(time: number, kind: TimeKind): string {
  if (kind === "month") return formatMonth(time);
  return kind === "date"
    ? new Date(Math.round(1000 * time)).toISOString().replace(".000Z", "Z")
    : `${Number(time.toPrecision(15))}`;
}

/** Formats a time for people: as {@linkcode formatTime}, but without seconds of 0 and a time of 00:00. */
export function describeTime(time: number, kind: TimeKind): string {
  return kind === "date" ? formatDate(time) : formatTime(time, kind);
}

const midnights = new Map<string, number>();

/** Seconds from 1970 to the start of a day such as `2024-05-31`, in UTC. NaN if the day does not exist. */
function midnightOf(day: string): number {
  const cached = midnights.get(day);
  if (cached !== undefined) return cached;
  const midnight = Date.parse(`${day}T00:00:00Z`);
  // Deno parses the 31st of February as a day in March.
  const isDay = !Number.isNaN(midnight) && new Date(midnight).toISOString().slice(0, 10) === day;
  if (midnights.size > 1e5) midnights.clear();
  midnights.set(day, isDay ? midnight / 1000 : NaN);
  return isDay ? midnight / 1000 : NaN;
}

/** Converts local time to UTC. Both are in seconds since 1970. */
export function instantOf(local: number, zone = "UTC"): number {
  return zone === "UTC" ? local : local - zoneOffset(local, zone);
}

/** Converts UTC to local time. Both are in seconds since 1970. */
export function localOf(instant: number, zone = "UTC"): number {
  if (zone === "UTC") return instant;
  // Offsets change at full quarters of an hour.
  const quarter = Math.floor(instant / 900);
  if (!localOffsets.has(zone)) localOffsets.set(zone, new Map());
  const offsetsOfZone = localOffsets.get(zone)!;
  const cached = offsetsOfZone.get(quarter);
  if (cached !== undefined || Number.isNaN(instant)) return instant + (cached ?? NaN);
  const { offsetNanoseconds } = Temporal.Instant.fromEpochMilliseconds(quarter * 900_000)
    .toZonedDateTimeISO(zone);
  if (offsetsOfZone.size > 1e5) offsetsOfZone.clear();
  offsetsOfZone.set(quarter, offsetNanoseconds / 1e9);
  return instant + offsetNanoseconds / 1e9;
}

const offsets = new Map<string, Map<number, number>>();
const localOffsets = new Map<string, Map<number, number>>();

/** Offset of a zone's local time from UTC, in seconds. `local` is in seconds since 1970. */
function zoneOffset(local: number, zone: string): number {
  // Offsets change at full quarters of an hour.
  const quarter = Math.floor(local / 900);
  if (!offsets.has(zone)) offsets.set(zone, new Map());
  const offsetsOfZone = offsets.get(zone)!;
  const cached = offsetsOfZone.get(quarter);
  if (cached !== undefined || Number.isNaN(local)) return cached ?? NaN;
  const text = new Date(quarter * 900_000).toISOString().slice(0, -1);
  const instant = Temporal.PlainDateTime.from(text).toZonedDateTime(zone).epochMilliseconds / 1000;
  if (offsetsOfZone.size > 1e5) offsetsOfZone.clear();
  offsetsOfZone.set(quarter, quarter * 900 - instant);
  return quarter * 900 - instant;
}

/**
 * When clocks are set back, they show some times twice. Returns the second occurrence of such a time, as a
 * date with its offset.
 *
 * @param time Seconds since 1970.
 * @returns For example `2024-10-27T02:30:00+01:00`. Undefined if the clocks show the time once.
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
 * Rejects an unknown time zone.
 *
 * @throws {OptionError} With examples of valid names.
 */
export function requireZone(zone: string): void {
  try {
    new Intl.DateTimeFormat("en", { timeZone: zone });
  } catch {
    const expected = "a name such as Europe/Berlin, America/New_York or UTC";
    throw new OptionError("invalid-option", `no time zone "${zone}"; expected ${expected}`, {
      option: "zone",
      expected,
    });
  }
}

/** Latest date that `Date` can represent, in seconds since 1970. */
export const latestDate = 8.64e12;

/** Latest time of a notation. */
export function latestTime(kind: TimeKind): number {
  return { number: Number.MAX_VALUE, date: latestDate, month: latestMonth }[kind];
}

/** A count with its noun in the singular or plural: `1 row`, `2 rows`. */
export function plural(count: number, one: string): string {
  return `${count} ${one}${count === 1 || one === "series" ? "" : "s"}`;
}

/**
 * The first names of a list in quotation marks, for a message.
 *
 * @param max Maximum number of names to list.
 */
export function listed(names: readonly string[], max = 5): string {
  const shown = names.slice(0, max).map(quoted).join(", ");
  return names.length > max ? `${shown} and ${names.length - max} more` : shown;
}
