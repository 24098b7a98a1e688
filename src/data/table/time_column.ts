/** Column of times of a table while its rows are read. */
import { type Growing, growing } from "../../device/memory/growing.ts";
import {
  formatTime,
  isEightDigitDay,
  isSixDigitMonth,
  isWrittenDate,
  latestDate,
  latestTime,
  quoted,
  sixDigitMonth,
  type TimeKind,
  timeOf,
  type TimeUnit,
} from "../format.ts";
import { monthOf } from "../months.ts";
import { cellDetails, type CellReader, ownText, type RowError, signFixes } from "./columns.ts";
import { type Cell, FileDate, textOf } from "./options.ts";

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
    cells: CellReader;
  },
  fail: RowError,
): TimeColumn {
  const { name, zone, cells } = options;
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
      const number = cells.number(text);
      if (Math.abs(number) === Infinity) {
        wrong ??= { row, text: ownText(text) };
        return push(number, numeric);
      }
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

/** Form of a numeric time. A column of times of one form is read as a column of each of them. */
export function numericForm(time: number): string {
  const isInteger = Number.isInteger(time);
  return `${isInteger} ${isEightDigitDay(time)} ${isSixDigitMonth(time)} ${epochOf(Float64Array.of(time))}`;
}

/** Finds a unit that gives all values a date from 2001 to 2100. Undefined if no unit fits. */
function epochOf(values: Float64Array): TimeUnit | undefined {
  return (Object.keys(perSecond) as TimeUnit[]).find((unit) => {
    const scale = perSecond[unit]!;
    return values.every((value) => value >= epoch2001 * scale && value <= epoch2100 * scale);
  });
}
