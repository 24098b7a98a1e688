/** Errors, times and limits that readers of data files share. */

/** Largest number of bytes in a compressed file: a longer text would be no string. */
export const maxBytes = 2 ** 29 - 24;

/** A data file that does not hold what its format asks for. */
export class DataFormatError extends Error {
  /** `"DataFormatError"`. */
  override name = "DataFormatError";

  /** An error about a line, whose message begins with the file and the line. */
  constructor(
    /** Name of the file. */
    readonly file: string,
    /** Number of the line, from 1. */
    readonly line: number,
    message: string,
  ) {
    // Messages quote from files, which may hold control characters.
    super(`${file}, line ${line}: ${message.replaceAll(/\p{Cc}/gu, "\uFFFD")}`);
  }
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
    const problem = error instanceof Deno.errors.NotFound
      ? "no such file"
      : `cannot be read (${error instanceof Error ? error.message : error})`;
    throw new Error(`${path}: ${problem}; expected ${expected}`);
  }
}

/**
 * The text of a file in UTF-8.
 *
 * @param file Name of the file, for messages.
 * @throws {DataFormatError} With the first line that is not UTF-8.
 */
export function decodeUtf8(bytes: Uint8Array, file: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    const [line, text] = firstDamagedLine(bytes);
    throw new DataFormatError(file, line, `not UTF-8: "${text}"; save the file in the encoding UTF-8`);
  }
}

/** The number of the first line that is not UTF-8, and its beginning with U+FFFD for each fault. */
function firstDamagedLine(bytes: Uint8Array): [line: number, text: string] {
  for (let line = 1, start = 0;; line++) {
    const found = bytes.indexOf(10, start);
    const end = found < 0 ? bytes.length : found;
    const text = new TextDecoder().decode(bytes.subarray(start, end));
    if (text.includes("\uFFFD") || found < 0) return [line, text.trim().slice(0, 40)];
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
  const twice = columns.find((name, i) => columns.indexOf(name) < i);
  if (twice === undefined) return;
  throw new DataFormatError(file, 1, `two columns are called "${twice}": rename one, or take it out`);
}

/** A number in decimal notation, as `-2`, `.5` or `1.5e-3`; NaN for anything else, as `0x1F`, `Infinity` or nothing. */
export function numberOf(text: string): number {
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : NaN;
}

/** Notation of times. */
export type TimeKind = "number" | "date";

const hyphenated = /^(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(Z|[+-]\d\d:\d\d)?)?$/;
const eightDigits = /^((?:19|20)\d\d)(\d\d)(\d\d)$/;

/**
 * Notation of the times of one column: dates if one of them is written with hyphens, as `2024-05-31`, or if all are eight
 * digits that make a day of the years 1900 to 2099, as `20240531`; numbers otherwise.
 */
export function timeKindOf(texts: readonly string[]): TimeKind {
  if (texts.some((text) => hyphenated.test(text))) return "date";
  const areDays = texts.length > 0 &&
    texts.every((text) => eightDigits.test(text) && !Number.isNaN(timeOf(text, "date")));
  return areDays ? "date" : "number";
}

/**
 * A time as a number, a date as seconds since 1970; NaN if the text is of another kind. A date without a zone is taken as
 * UTC, so that every machine reads the same.
 *
 * @param text For example `2.5`, or `2004-10-01`, `20041001`, `2004-10-01 18:00:00`, `2004-10-01T18:00:00+01:00`.
 */
export function timeOf(text: string, kind: TimeKind): number {
  if (kind === "number") return numberOf(text);
  const [, day, time, zone = "Z"] = hyphenated.exec(text.replace(eightDigits, "$1-$2-$3")) ?? [];
  if (day === undefined) return NaN;
  const midnight = Date.parse(`${day}T00:00:00Z`);
  // Deno takes the 31st of February for a day in March.
  if (Number.isNaN(midnight) || new Date(midnight).toISOString().slice(0, 10) !== day) return NaN;
  return time === undefined ? midnight / 1000 : Date.parse(`${day}T${time}${zone}`) / 1000;
}
