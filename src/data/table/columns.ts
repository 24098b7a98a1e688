/** Columns of a table while its rows are read: texts, values and times. */
import type { ErrorText } from "../../device/errors.ts";
import {
  type DataFormatError,
  type FormatErrorDetails,
  formatTime,
  isEightDigitDay,
  isSixDigitMonth,
  isWrittenDate,
  latestDate,
  latestTime,
  listed,
  maxValue,
  numberOf,
  quoted,
  sixDigitMonth,
  type TimeKind,
  timeOf,
  type TimeUnit,
} from "../format.ts";
import { monthOf } from "../months.ts";
import { type Growing, growing } from "./growing.ts";
import { type Cell, EscapedText, FileDate, type MissingRule, textOf } from "./options.ts";

/** Makes an error about a row. */
export type RowError = (row: number, text: ErrorText, details?: FormatErrorDetails) => DataFormatError;

/** Details of an error about a cell. */
function cellDetails(column: string, expected: string, ...fixes: ErrorText[]): FormatErrorDetails {
  return { code: "invalid-cell", column, expected, fixes };
}

/** A column of texts. Each distinct text is stored once. */
export interface TextColumn {
  /** Index of each row's text; -1 for a missing text. */
  codes(): Int32Array;
  /** The distinct texts. */
  readonly texts: readonly string[];
  /** Adds the cell of the next row. */
  add(cell: Cell, row: number): void;
}

/** Text that a spreadsheet interprets as a formula, or an error value of one. */
const formula = /^=|^#(REF|VALUE|DIV\/0|NAME|NUM|NULL)[!?]$/;

/** Copies a text. A substring would keep the whole original string in memory. */
function ownText(text: string): string {
  return text.length < 13 ? text : new TextDecoder().decode(new TextEncoder().encode(text));
}

/**
 * Rejects a name or category given as a number too large to be exact: its last digits were lost when the file
 * was read.
 */
function requireExact(cell: Cell, name: string, row: number, fail: RowError): void {
  if (typeof cell !== "number" || !(Math.abs(cell) > Number.MAX_SAFE_INTEGER)) return;
  const number = `a number up to ${Number.MAX_SAFE_INTEGER}`;
  throw fail(
    row,
    `expected a text in column ${quoted(name)}, or ${number} (larger numbers lose digits), got ${cell}`,
    cellDetails(name, `a text, or ${number}`, "in JSON, write it in quotes"),
  );
}

/**
 * Makes a column of texts, such as the names of series.
 *
 * @param name Name of the column, for messages.
 */
export function textColumn(name: string, fail: RowError): TextColumn {
  const codes = growing(Int32Array);
  const texts: string[] = [];
  const known = new Map<string, number>();
  return {
    texts,
    codes: codes.view,
    add(cell, row) {
      requireExact(cell, name, row, fail);
      const text = textOf(cell);
      if (text === "") return codes.push(-1);
      let code = known.get(text);
      if (code === undefined) {
        if (formula.test(text) && !(cell instanceof EscapedText)) {
          throw fail(
            row,
            `a formula in column ${quoted(name)}, ${quoted(text)}; expected its result`,
            cellDetails(name, "the result of the formula", "save the table with values in place of formulas"),
          );
        }
        code = texts.length;
        texts.push(ownText(text));
        known.set(texts[code], code);
      }
      codes.push(code);
    },
  };
}

/** A column of numbers or categories. */
export interface ValueColumn {
  /** Adds the cell of the next row. */
  add(cell: Cell, row: number): void;
  /** Returns the content of the column after the last row. */
  finish(): Values;
}

/** Content of a column of values. */
export type Values =
  | { readonly kind: "number"; readonly values: Float64Array }
  | { readonly kind: "category"; readonly codes: Int32Array; readonly categories: readonly string[] }
  | { readonly kind: "text"; readonly distinct: number };

/** Maximum number of categories of a column whose content is recognised automatically. */
const maxRecognised = 50;

/** Maximum number of categories of a column. */
export const maxCategories = 1000;

/** Text that looks like a number but is not valid, or contains control characters. */
const odd = /^[+\-\u2212\u2013.'=(]*\s*\p{Sc}?\s*\d|\p{Cc}|^[=']|^#[A-Z/0]+[!?]$|^[+-]?inf(inity)?$/iu;

/**
 * Parses a number with a decimal sign. Returns NaN if the text is not a number, or contains the other sign.
 */
function numberIn(text: string, decimal: "." | ","): number {
  if (decimal === ".") return numberOf(text);
  return text.includes(".") ? NaN : numberOf(text.replace(",", "."));
}

/** Fixes of a number with the wrong decimal sign. Empty for any other text. */
function signFixes(text: string): ErrorText[] {
  const sign = /[.,]/.exec(text)?.[0];
  const name = sign === "," ? "comma" : "point";
  const withComma = sign === "," ? text : text.replaceAll(/[.,]/g, (one) => one === "." ? "," : ".");
  const isThousands = /^[+-]?\d{1,3}(,\d{3})+(\.\d+)?$/.test(withComma);
  const isDecimal = /^[+-]?\d*,\d+$/.test(withComma);
  const fixes: ErrorText[] = isThousands ? [`if the ${name} separates thousands, remove it`] : [];
  if (isDecimal) {
    fixes.push((write) => `if the ${name} is the decimal sign, set ${write("decimal")} to ${sign}`);
  }
  return fixes;
}

/** Options of {@linkcode valueColumn}. */
interface ValueColumnOptions {
  /** Name of the column, for messages. */
  name: string;
  /** Content of the column; recognised by default. */
  kind?: "number" | "category";
  /** The allowed categories. */
  categories?: readonly string[];
  /** Decimal sign. */
  decimal: () => "." | ",";
  /** Texts of missing values. */
  missing: MissingRule;
}

/** Makes a column of numbers, or of categories if none of its texts looks like a number. */
export function valueColumn(options: ValueColumnOptions, fail: RowError): ValueColumn {
  const { name, kind, categories, decimal, missing } = options;
  const numbers = growing(Float64Array);
  const codes = growing(Int32Array);
  const known = new Map((categories ?? []).map((category, code) => [category, code]));
  let [rows, count] = [0, 0];
  /** The first row with a text, and the first row with a text that looks like a number. */
  let firstText: { row: number; text: string } | undefined;
  let firstOdd: typeof firstText;
  const number = (value: number, text: Cell, row: number) => {
    if (missing.isNumber(value)) return numbers.push(NaN);
    if (Math.abs(value) > maxValue) {
      const expected = `a number up to ${maxValue}`;
      throw fail(
        row,
        `expected ${expected} in column ${quoted(name)}, got ${quoted(textOf(text))}`,
        cellDetails(name, expected),
      );
    }
    numbers.push(value);
    count++;
  };
  const category = (text: string, cell: Cell, row: number) => {
    firstText ??= { row, text: ownText(text) };
    if (odd.test(text) && !(cell instanceof EscapedText)) firstOdd ??= { row, text: ownText(text) };
    let code = known.get(text);
    if (code === undefined && categories) {
      const expected = `one of ${listed(categories, 12)}`;
      throw fail(
        row,
        `expected ${expected} in column ${quoted(name)}, got ${quoted(text)}`,
        cellDetails(name, expected),
      );
    }
    if (code === undefined && known.size <= maxCategories) known.set(ownText(text), code = known.size);
    codes.fill(-1, row);
    codes.push(code ?? -1);
    numbers.push(NaN);
  };
  return {
    add(cell, row) {
      rows++;
      if (kind !== "category" && (typeof cell === "number" || typeof cell === "bigint")) {
        const value = Number(cell);
        return Number.isNaN(value) ? numbers.push(NaN) : number(value, cell, row);
      }
      const text = textOf(cell);
      if (missing.isText(text)) return numbers.push(NaN);
      if (kind === "category") {
        requireExact(cell, name, row, fail);
        return category(text, cell, row);
      }
      const value = numberIn(text, decimal());
      if (Number.isNaN(value)) category(text, cell, row);
      else number(value, text, row);
    },
    finish() {
      const isCategory = kind === "category" || firstText !== undefined && count === 0;
      const wrong = kind === "category" ? undefined : kind === "number" || count > 0 ? firstText : firstOdd;
      if (wrong) {
        const fixes = signFixes(wrong.text);
        if (fixes.length === 0 && kind !== "number") {
          fixes.push((write) => `use ${write("category")} or ${write("ignore")} ${quoted(name)}`);
        }
        const expected = "a number, or nothing if the value is missing";
        throw fail(
          wrong.row,
          `expected ${expected}, in column ${quoted(name)}, got ${quoted(wrong.text)}`,
          cellDetails(name, expected, ...fixes),
        );
      }
      if (!isCategory) return { kind: "number", values: numbers.view() };
      const limit = kind === "category" ? maxCategories : maxRecognised;
      if (known.size > limit) {
        if (kind !== "category") return { kind: "text", distinct: known.size };
        throw fail(0, `more than ${limit} categories in column ${quoted(name)}`, {
          code: "too-large",
          column: name,
          fixes: [(write) => `group some, or leave it out with ${write("ignore")}`],
        });
      }
      codes.fill(-1, rows);
      return { kind: "category", codes: codes.view(), categories: [...known.keys()] };
    },
  };
}

/** A column of times in one notation. */
export interface TimeColumn {
  /** Adds the cell of the next row. */
  add(cell: Cell, row: number): void;
  /** Returns the times after the last row. Called once. */
  finish(): Times;
}

/** Content of a column of times. */
export interface Times {
  /** Times: dates in seconds since 1970, or plain numbers. */
  readonly values: Float64Array;
  readonly kind: TimeKind;
  readonly unit: TimeUnit;
  /** Whether the column has integers that were recognised as epochs because of their size. */
  readonly isRecognised: boolean;
  /** Whether the times of two rows differ in the file, although they are equal in float64. */
  areRounded(row: number, other: number): boolean;
}

/** Units per second of each epoch notation. Numbers are epochs if all of them are from 2001 to 2100. */
const perSecond: Partial<Record<TimeUnit, number>> = {
  seconds: 1,
  milliseconds: 1e3,
  microseconds: 1e6,
  nanoseconds: 1e9,
};
const [epoch2001, epoch2100] = [1e9, 4102444800];

/** Notations of the cells of a column of times: a number, a written date, a written month or quarter. */
const [numeric, written, calendar] = [0, 1, 2];

/** Notation of the cells in a column of times, by the unit of the times. */
function notationOf(unit: TimeUnit): number {
  return unit === "date" ? written : unit === "month" ? calendar : numeric;
}

/**
 * Makes a column of times. Times are dates if one has hyphens or slashes, or if all are eight digits that form a
 * day from 1900 to 2099. They are months if one is written as a month or a quarter, or if all are six digits that
 * form a month from 1900 to 2099. They are epochs if all are integers
 * and, read as epochs, lie between 2001 and 2100. All other times are numbers.
 *
 * @param unit Notation of the times, if it is given.
 * @param numericTimes Notation of numeric times in an earlier table. Epochs in another unit are rejected.
 * @param zone Time zone of dates without a zone.
 */
export function timeColumn(
  options: {
    name: string;
    unit?: TimeUnit;
    numericTimes?: TimeUnit;
    zone?: string;
    decimal: () => "." | ",";
  },
  fail: RowError,
): TimeColumn {
  const { name, zone, decimal } = options;
  const values = growing(Float64Array);
  const notations = growing(Uint8Array);
  /** Differences of integers in the file from their values in float64, from the first such difference on. */
  let roundings: Growing<Float64Array> | undefined;
  let [dates, months, days, sixDigits] = [0, 0, 0, 0];
  let wrong: { row: number; text: string } | undefined;
  const push = (value: number, notation: number) => {
    values.push(value);
    notations.push(notation);
    if (notation === numeric && isEightDigitDay(value)) days++;
    if (notation === numeric && isSixDigitMonth(value)) sixDigits++;
  };
  const pushInteger = (integer: bigint, row: number) => {
    const value = Number(integer);
    const rounding = Number(integer - BigInt(value));
    if (rounding !== 0) roundings ??= growing(Float64Array);
    roundings?.fill(0, row);
    roundings?.push(rounding);
    push(value, numeric);
  };
  return {
    add(cell, row) {
      if (typeof cell === "number") return push(cell, numeric);
      if (typeof cell === "bigint") return pushInteger(cell, row);
      if (cell instanceof FileDate) {
        dates++;
        return push(cell.in(zone), written);
      }
      const text = textOf(cell);
      const number = numberIn(text, decimal());
      if (Math.abs(number) > Number.MAX_SAFE_INTEGER && /^[+-]?\d+$/.test(text)) {
        return pushInteger(BigInt(text.replace("+", "")), row);
      }
      if (!Number.isNaN(number)) return push(number, numeric);
      const date = timeOf(text, "date", zone);
      const month = Number.isNaN(date) ? monthOf(text) : NaN;
      if (!Number.isNaN(month)) {
        months++;
        return push(month, calendar);
      }
      if (Number.isNaN(date)) wrong ??= { row, text: ownText(text) };
      if (!Number.isNaN(date) || isWrittenDate(text)) dates++;
      push(date, written);
    },
    finish() {
      const all = values.view();
      const flags = notations.view();
      const isDates = dates > 0 || days === all.length;
      const isMonths = months > 0 || sixDigits === all.length && options.numericTimes === undefined;
      const epoch = isDates ? undefined : epochOf(all);
      const recognised = all.every(Number.isInteger) ? epoch : undefined;
      const unit = options.unit ??
        (isDates ? "date" : isMonths ? "month" : options.numericTimes ?? recognised ?? "number");
      const scale = perSecond[unit];
      if (!options.unit && scale && epoch && epoch !== unit) {
        throw fail(
          0,
          `expected ${unit} since 1970 as time, as in the earlier table, got "${all[0]}" in column ${
            quoted(name)
          }, which is in ${epoch}`,
          {
            ...cellDetails(
              name,
              `${unit} since 1970`,
              (write) => `use ${write("timeUnit")} ${epoch}`,
            ),
            option: "timeUnit",
          },
        );
      }
      const most = scale ? latestDate * scale : latestTime(unit as TimeKind);
      const isNotation = (row: number) =>
        Math.abs(all[row]) <= most &&
        (flags[row] === notationOf(unit) || unit === "date" && isEightDigitDay(all[row]) ||
          unit === "month" && isSixDigitMonth(all[row]));
      for (let row = 0; row < all.length; row++) {
        if (!isNotation(row)) {
          const text = wrong?.row === row
            ? wrong.text
            : formatTime(all[row], (["number", "date", "month"] as const)[flags[row]]);
          const expected = unit === "date"
            ? "a date as time, as in other rows (2024-05-31 18:00)"
            : unit === "month"
            ? "a month or a quarter as time, as in other rows (2024-05 or 2024 Q2)"
            : unit === "number"
            ? "a number or a date as time"
            : `${unit} since 1970 as time`;
          const fixes = unit === "date" ? [] : signFixes(text);
          if (fixes.length === 0 && unit === "number" && flags[row] !== numeric) {
            fixes.push("write dates as 2024-05-31 18:00");
          }
          throw fail(
            row,
            `expected ${expected}, got ${quoted(text)} in column ${quoted(name)}`,
            cellDetails(name, expected, ...fixes),
          );
        }
        if (scale) all[row] /= scale;
        else if (unit === "date" && flags[row] === numeric) all[row] = timeOf(`${all[row]}`, "date", zone);
        else if (unit === "month" && flags[row] === numeric) all[row] = sixDigitMonth(all[row]);
      }
      return {
        values: all,
        kind: scale ? "date" : unit as TimeKind,
        unit,
        isRecognised: !options.unit && unit === recognised,
        areRounded(row, other) {
          const roundingOf = (row: number) => roundings?.view()[row] ?? 0;
          return all[row] === all[other] && roundingOf(row) !== roundingOf(other);
        },
      };
    },
  };
}

/** Finds a unit that gives all values a date from 2001 to 2100. Undefined if no unit fits. */
function epochOf(values: Float64Array): TimeUnit | undefined {
  return (Object.keys(perSecond) as TimeUnit[]).find((unit) => {
    const scale = perSecond[unit]!;
    return values.every((value) => value >= epoch2001 * scale && value <= epoch2100 * scale);
  });
}
