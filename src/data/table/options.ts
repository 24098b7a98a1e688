/** Options of reading a table, and what its readers hand to the columns. */

import { isRecord } from "../../files/json.ts";
import { instantOf, numberOf, type TimeUnit, timeUnits } from "../format.ts";
import type { SeriesSet } from "../series.ts";

/** Encodings of text tables. */
export const encodings: readonly NonNullable<TableOptions["encoding"]>[] = [
  "utf-8",
  "utf-16le",
  "utf-16be",
  "windows-1252",
];

/** Characters between the fields of a row. */
export const delimiters: readonly NonNullable<TableOptions["delimiter"]>[] = [",", ";", "\t", "|"];

/** Rules for observations of one series at one time that differ. */
export const duplicateRules: readonly NonNullable<TableOptions["duplicates"]>[] = [
  "refuse",
  "mean",
  "first",
  "last",
];

/** Options of the user of a table; whatever is left out is recognised, or the default. All of it is JSON. */
export interface TableOptions {
  /** Column that names the series: `"series"`. A table without one is one series, named as its file. */
  series?: string;
  /** Column of the times: `"time"`. */
  time?: string;
  /** Columns that are to be learned: `"label"` where classes are. */
  target?: readonly string[];
  /** Column that names the group of a series. */
  group?: string;
  /** Columns with one value for a whole series. */
  static?: readonly string[];
  /** Columns that are known ahead of time. */
  known?: readonly string[];
  /** Columns of categories, though all of them look like numbers, or there are many. */
  category?: readonly string[];
  /** Columns that are not read. */
  ignore?: readonly string[];
  /** Whether a row is a time, and every other column a series. */
  wide?: boolean;
  /** Notation of the times. */
  timeUnit?: TimeUnit;
  /** Time zone of dates that name none, such as `"Europe/Berlin"`: `"UTC"`. */
  zone?: string;
  /** Treatment of observations of one series at one time that differ: `"refuse"`. */
  duplicates?: "refuse" | "mean" | "first" | "last";
  /** Texts that stand for a missing value, beside the usual ones; one that is a number stands for it however it is written. */
  missing?: readonly string[];
  /** Encoding of a text table: UTF-8, or UTF-16 where the file begins as such. */
  encoding?: "utf-8" | "utf-16le" | "utf-16be" | "windows-1252";
  /** Character between the fields of a row. */
  delimiter?: "," | ";" | "\t" | "|";
  /** Decimal sign of its numbers. */
  decimal?: "." | ",";
  /** Query that gives the table of a SQLite file. */
  query?: string;
}

/** Options of a program that reads a table. */
export interface ReadOptions {
  /**
   * Form in which the targets are read: as the class of a series (the default), as numbers that belong to it, as channels, which
   * a forecast continues, or not at all.
   */
  targets?: "classes" | "numbers" | "channels" | "none";
  /**
   * Contents of columns in an earlier table, by name, as {@linkcode SeriesSet.columns} tells. Others are recognised. After an
   * earlier table, columns that are to be ignored need not be there.
   */
  columns?: SeriesSet["columns"];
  /** Meaning of times that are numbers in an earlier table; recognised by default. Epochs in another unit are refused. */
  numericTimes?: TimeUnit;
}

/** A date of a file that has a type for them. */
export class FileDate {
  /** Whether it names no zone. */
  isLocal = false;

  /** A date, since 1970 in UTC. */
  constructor(readonly milliseconds: number, private readonly seconds = milliseconds / 1000) {}

  /** Seconds since 1970. @param zone Zone of a date that names none. */
  in(zone?: string): number {
    return this.isLocal ? instantOf(this.seconds, zone) : this.seconds;
  }
}

/** A text that was escaped in its file, and is neither a formula nor a number. */
export class EscapedText {
  /** The text as it was before. */
  constructor(readonly text: string) {}
}

/** A cell of a table; text may also be a number in decimal notation. */
export type Cell = string | number | bigint | boolean | FileDate | EscapedText | null | undefined;

/** Takes a table row by row. */
export interface RowSink {
  /** Names of the columns, before the first row; again where later rows have more. */
  header(names: readonly string[]): void;
  /**
   * A row.
   *
   * @param cells In the order of the names. The caller may use the array again.
   * @param line Number of the row's line, or of the row, from 1.
   */
  row(cells: readonly Cell[], line: number): void;
}

const texts = ["series", "time", "group", "zone", "query"];
const lists = ["target", "static", "known", "category", "ignore", "missing"];
const choices: Readonly<Record<string, readonly unknown[]>> = {
  wide: [true, false],
  timeUnit: timeUnits,
  duplicates: duplicateRules,
  encoding: encodings,
  delimiter: delimiters,
  decimal: [".", ","],
};

/** Names of the options of a table. */
export const tableOptionNames: readonly string[] = [...texts, ...lists, ...Object.keys(choices)];

/** Whether a value from a file is the options of a table. */
export function isTableOptions(value: unknown): value is TableOptions {
  const isText = (one: unknown) => typeof one === "string";
  return isRecord(value) &&
    Object.entries(value).every(([name, one]) =>
      texts.includes(name)
        ? isText(one)
        : lists.includes(name)
        ? Array.isArray(one) && one.every(isText)
        : Object.hasOwn(choices, name) && choices[name].includes(one)
    );
}

/** Texts that usually stand for a missing value, in lower case. */
const usual = ["", "?", "nan", "na", "n/a", "#n/a", "<na>", "nat", "null", "none"];

/** Texts that stand for a missing value. */
export interface MissingRule {
  /** Whether a text does, in any case. */
  isText(text: string): boolean;
  /** Whether a number does. */
  isNumber(value: number): boolean;
}

/** The rule for the usual texts and those of the option `missing`. */
export function missingRule({ missing = [] }: Pick<TableOptions, "missing">): MissingRule {
  const texts = new Set([...usual, ...missing.map((text) => text.toLowerCase())]);
  const numbers = new Set(missing.map(numberOf).filter((value) => !Number.isNaN(value)));
  const longest = Math.max(...[...texts].map(({ length }) => length));
  return {
    isText: (text) => text === "" || text.length <= longest && texts.has(text.toLowerCase()),
    isNumber: (value) => numbers.has(value),
  };
}

/** The text of a cell, without the blanks around it; of a missing one, nothing. */
export function textOf(cell: Cell): string {
  if (typeof cell === "string") return cell.trim();
  if (cell === null || cell === undefined) return "";
  if (cell instanceof EscapedText) return cell.text;
  return cell instanceof FileDate ? new Date(cell.milliseconds).toISOString() : String(cell);
}
