/** Options for reading a table, and the interface between the readers of files and the columns. */

import { namesOf } from "../../device/options.ts";
import { instantOf, numberOf, type TimeUnit } from "../format.ts";
import type { SeriesSet } from "../series.ts";

/** Encodings of text tables. */
export const encodings: readonly NonNullable<TableOptions["encoding"]>[] = [
  "utf-8",
  "utf-16le",
  "utf-16be",
  "windows-1252",
];

/** Delimiters between the fields of a row. */
export const delimiters: readonly NonNullable<TableOptions["delimiter"]>[] = [",", ";", "\t", "|"];

/** Contents of a row. */
export const layouts: readonly NonNullable<TableOptions["layout"]>[] = ["observations", "rows"];

/** Rules for observations of one series with the same time and different values. */
export const duplicateRules: readonly NonNullable<TableOptions["duplicates"]>[] = [
  "refuse",
  "mean",
  "first",
  "last",
];

/**
 * Options that describe a table. Missing options are recognised from the table, or have a default. All values
 * are JSON.
 */
export interface TableOptions {
  /**
   * Column with the names of the series: `"series"`. Without this column the table is a single series, named
   * after its file.
   */
  series?: string;
  /** Column of the times: `"time"`. */
  time?: string;
  /** Columns of the targets: `"label"` for classification. */
  target?: readonly string[];
  /** Column with the group of a series. */
  group?: string;
  /** Columns with one value for a whole series. */
  static?: readonly string[];
  /** Columns that are known ahead of time. */
  known?: readonly string[];
  /** Columns of categories. Needed if all categories look like numbers, or if there are many. */
  category?: readonly string[];
  /** Columns that are not read. */
  ignore?: readonly string[];
  /** Whether a row is a time, and every other column is a series. */
  wide?: boolean;
  /** Content of a row: one observation (the default), or a whole series, such as in the UCR archive's `.tsv`. */
  layout?: "observations" | "rows";
  /** Notation of the times. */
  timeUnit?: TimeUnit;
  /** Time zone of dates without a zone, such as `"Europe/Berlin"`: `"UTC"`. */
  zone?: string;
  /** Rule for observations of one series with the same time and different values: `"refuse"`. */
  duplicates?: "refuse" | "mean" | "first" | "last";
  /**
   * Texts of missing values, in addition to the defaults. A number matches its value in any notation. With an empty
   * text the list replaces the defaults: `[""]` leaves only empty cells missing.
   */
  missing?: readonly string[];
  /** Encoding of a text table: UTF-8, or UTF-16 if the first bytes show it. */
  encoding?: "utf-8" | "utf-16le" | "utf-16be" | "windows-1252";
  /** Delimiter between the fields of a row. */
  delimiter?: "," | ";" | "\t" | "|";
  /** Decimal sign of the numbers. */
  decimal?: "." | ",";
  /** SQL query for the table of a SQLite file. */
  query?: string;
  /**
   * Largest size in MiB that a compressed file may unpack to: 100 times its size, at least 128 MiB and at most
   * 2 GiB.
   */
  maxUnpacked?: number;
}

export const tableOptionNames = namesOf<TableOptions>()(
  "series? time? target? group? static? known? category? ignore? wide? layout? timeUnit? zone?",
  "duplicates? missing? encoding? delimiter? decimal? query? maxUnpacked?",
);

/** Options of a program that reads a table. */
export interface ReadOptions {
  /**
   * How the targets are read: as the class of a series (the default), as numeric targets of a series, as
   * channels to forecast, or not at all.
   */
  targets?: "classes" | "numbers" | "channels" | "none";
  /**
   * Content of columns in an earlier table, by name, as in {@linkcode SeriesSet.columns}. The content of
   * other columns is recognised. If `columns` is given, the table may lack columns of the option `ignore`.
   */
  columns?: SeriesSet["columns"];
  /**
   * Notation of numeric times in an earlier table; recognised by default. Epochs in another unit are
   * rejected.
   */
  numericTimes?: TimeUnit;
  /** Classes of an earlier table. They are classes even if they are written like a missing value. */
  classes?: readonly string[];
}

/** Without `targets`, which {@linkcode readSeries} requires. */
export const readOptionNames = namesOf<Omit<ReadOptions, "targets">>()("columns? numericTimes? classes?");

/** A date from a file format with a type for dates. */
export class FileDate {
  /** Whether the date has no time zone. */
  isLocal = false;

  /** Makes a date from milliseconds since 1970 in UTC. */
  constructor(readonly milliseconds: number, private readonly seconds = milliseconds / 1000) {}

  /** Seconds since 1970. @param zone Time zone of a date without a zone. */
  in(zone?: string): number {
    return this.isLocal ? instantOf(this.seconds, zone) : this.seconds;
  }
}

/** A text in quotes. It may be a number, but not a word for a missing value. */
export class QuotedText {
  /** The text without quotes. */
  constructor(readonly text: string) {}
}

/** A text that was escaped in its file, hence neither a formula nor a number. */
export class EscapedText extends QuotedText {}

/** A cell of a table. A text may also be a number in decimal notation. */
export type Cell = string | number | bigint | boolean | FileDate | QuotedText | null | undefined;

/** Notation of the cells of a text table. */
export interface TextNotation {
  readonly decimal: "." | ",";
  /** Whether the decimal sign is recognised, in a table that may have thousands separators. */
  readonly isUncertain: boolean;
}

/** Receives a table row by row. */
export interface RowSink {
  /** Receives the names of the columns before the first row, and again when later rows add columns. */
  header(names: readonly string[]): void;
  /**
   * Receives a row.
   *
   * @param cells Cells in the order of the names. The caller may reuse the array.
   * @param line Number of the line, or of the row if the file has no lines, from 1.
   */
  row(cells: readonly Cell[], line: number): void;
}

/** Words for missing values by default, in lower case. */
const defaultWords = ["?", "nan", "na", "n/a", "#n/a", "<na>", "nat", "null", "none"];

/** Recognises missing values. */
export interface MissingRule {
  /** Whether a text is empty, or one of the option `missing`. Ignores case. */
  isText(text: string): boolean;
  /** Whether a text is a word for a missing value by default. Such a word in quotes is a text. Ignores case. */
  isWord(text: string): boolean;
  /** Whether a number is a missing value. */
  isNumber(value: number): boolean;
}

/** The rule for the default words and the texts of the option `missing`. */
export function missingRule({ missing = [] }: Pick<TableOptions, "missing">): MissingRule {
  const texts = new Set(missing.map((text) => text.toLowerCase()));
  const words = new Set(texts.has("") ? [] : defaultWords);
  const numbers = new Set(missing.map(numberOf).filter((value) => !Number.isNaN(value)));
  const longest = Math.max(...[...texts, ...defaultWords].map(({ length }) => length));
  const isIn = (set: ReadonlySet<string>, text: string) =>
    text.length <= longest && set.has(text.toLowerCase());
  return {
    isText: (text) => text === "" || isIn(texts, text),
    isWord: (text) => isIn(words, text),
    isNumber: (value) => numbers.has(value),
  };
}

/** The text of a cell without surrounding blanks; empty for a missing cell. */
export function textOf(cell: Cell): string {
  if (typeof cell === "string") return cell.trim();
  if (cell === null || cell === undefined) return "";
  if (cell instanceof EscapedText) return cell.text;
  if (cell instanceof QuotedText) return cell.text.trim();
  return cell instanceof FileDate ? new Date(cell.milliseconds).toISOString() : String(cell);
}
