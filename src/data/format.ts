/** What readers of data files share. */

/** The most that a compressed file may hold: a longer text would be no string. */
export const mostBytes = 2 ** 29 - 24;

/** A data file that does not hold what its format asks for. */
export class DataFormatError extends Error {
  override name = "DataFormatError";

  constructor(readonly file: string, readonly line: number, message: string) {
    super(`${file}, line ${line}: ${message}`);
  }
}

/**
 * A time as a number, or as a date, which becomes seconds since 1970; NaN if it is neither. A date without a zone is
 * taken as UTC, so that every machine reads the same.
 *
 * @param text For example `2.5`, `2004-10-01`, `2004-10-01 18:00:00`, `2004-10-01T18:00:00+01:00`.
 */
export function secondsOf(text: string): number {
  if (text === "") return NaN;
  const number = Number(text);
  if (Number.isFinite(number)) return number;
  const parts = /^(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(Z|[+-]\d\d:\d\d)?)?$/.exec(text);
  if (!parts) return NaN;
  const [, day, time, zone = "Z"] = parts;
  return Date.parse(time === undefined ? day : `${day}T${time}${zone}`) / 1000;
}
