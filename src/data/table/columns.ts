/** Columns of a table while its rows are read: texts and values. */
import type { ErrorText } from "../../device/errors.ts";
import { growing } from "../../device/memory/growing.ts";
import {
  type DataFormatError,
  type FormatErrorDetails,
  listed,
  maxValue,
  numberOf,
  plural,
  quoted,
} from "../format.ts";
import {
  type Cell,
  EscapedText,
  type MissingRule,
  QuotedText,
  type TextNotation,
  textOf,
} from "./options.ts";

/** Makes an error about a row. */
export type RowError = (row: number, text: ErrorText, details?: FormatErrorDetails) => DataFormatError;

/** Details of an error about a cell. */
export function cellDetails(column: string, expected: string, ...fixes: ErrorText[]): FormatErrorDetails {
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
export function ownText(text: string): string {
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
  const codesByText = new Map<string, number>();
  return {
    texts,
    codes: codes.view,
    add(cell, row) {
      requireExact(cell, name, row, fail);
      const text = textOf(cell);
      if (text === "") return codes.push(-1);
      let code = codesByText.get(text);
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
        codesByText.set(texts[code], code);
      }
      codes.push(code);
    },
  };
}

/** Options of {@linkcode labelColumn}. */
interface LabelColumnOptions {
  /** Name of the column, for messages. */
  name: string;
  cells: CellReader;
  missing: MissingRule;
  /** Classes of an earlier table. */
  classes?: readonly string[];
}

/** Makes a column of classes. */
export function labelColumn(
  { name, cells, missing, classes = [] }: LabelColumnOptions,
  fail: RowError,
): TextColumn {
  const column = textColumn(name, fail);
  return {
    ...column,
    add(cell, row) {
      const text = textOf(cell);
      const isWord = missing.isWord(text) && !cells.isText(cell);
      if (text !== "" && (isWord || missing.isText(text)) && !classes.includes(text)) {
        throw fail(
          row,
          `expected a label, got ${quoted(text)}`,
          cellDetails(
            name,
            "a label",
            "fill in the label, or leave out series without a label",
            (write) => `if it is a class, write it in quotes, or set ${write("missing")} to ""`,
          ),
        );
      }
      column.add(cell, row);
    },
  };
}

/** A column of numbers or categories. */
export interface ValueColumn {
  /** Adds the cell of the next row. */
  add(cell: Cell, row: number): void;
  /** Returns the content of the column after the last row. */
  finish(): Values;
  /** Remarks on missing values for the user of the table, after the last row. */
  notices(): string[];
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
export function numberIn(text: string, decimal: "." | ","): number {
  if (decimal === ".") return numberOf(text);
  return text.includes(".") ? NaN : numberOf(text.replace(",", "."));
}

/** Reads the cells of the current file. */
export interface CellReader {
  /** Whether the file marks a cell as a text: by quotes, or by its type. */
  isText(cell: Cell): boolean;
  /** A number of a text. NaN if the text is not a number. */
  number(text: string): number;
  /** Remarks on the notation for the user of the table, after the last row. */
  notices(): string[];
}

/** Makes a reader of cells. @param notation Notation of the current file; undefined if it has types. */
export function cellReader(notation: () => TextNotation | undefined): CellReader {
  /** The first number that may have a thousands separator, until a number has a decimal sign for certain. */
  let grouped: { text: string; decimal: "." | "," } | undefined;
  let isCertain = false;
  return {
    isText: (cell) => cell instanceof QuotedText || notation() === undefined && typeof cell === "string",
    number(text) {
      const { decimal = ".", isUncertain = false } = notation() ?? {};
      const value = numberIn(text, decimal);
      if (isUncertain && !isCertain && text.includes(decimal) && !Number.isNaN(value)) {
        if (/^[+-]?[1-9]\d{0,2}[.,]\d{3}$/.test(text)) grouped ??= { text: ownText(text), decimal };
        else isCertain = true;
      }
      return value;
    },
    notices() {
      if (!grouped || isCertain) return [];
      const { text, decimal } = grouped;
      const sign = decimal === "." ? "point" : "comma";
      return [
        `${quoted(text)} is read as ${numberIn(text, decimal)}, with a decimal ${sign}, and could be ` +
        `${
          text.replace(decimal, "")
        }: if the ${sign} separates thousands, remove it, otherwise set the option ` +
        `decimal to "${decimal}"`,
      ];
    },
  };
}

/** Fixes of a number with the wrong decimal sign. Empty for any other text. */
export function signFixes(text: string): ErrorText[] {
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
  cells: CellReader;
  /** Texts of missing values. */
  missing: MissingRule;
}

/** Makes a column of numbers, or of categories if none of its texts looks like a number. */
export function valueColumn(options: ValueColumnOptions, fail: RowError): ValueColumn {
  const { name, kind, categories, cells, missing } = options;
  const numbers = growing(Float64Array);
  const codes = growing(Int32Array);
  const codesByText = new Map((categories ?? []).map((category, code) => [category, code]));
  let [rows, count] = [0, 0];
  /** The first row with a text, and the first row with a text that looks like a number. */
  let firstText: { row: number; text: string } | undefined;
  let firstOdd: typeof firstText;
  /** The first words for missing values that are read as missing values, and as categories, with their numbers. */
  const words = { missing: { text: "", count: 0 }, category: { text: "", count: 0 } };
  const addWord = (word: { text: string; count: number }, text: string) => {
    if (word.count++ === 0) word.text = text;
  };
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
    if (missing.isWord(text)) addWord(words.category, text);
    else firstText ??= { row, text: ownText(text) };
    if (odd.test(text) && !(cell instanceof EscapedText)) firstOdd ??= { row, text: ownText(text) };
    let code = codesByText.get(text);
    if (code === undefined && categories) {
      const expected = `one of ${listed(categories, 12)}`;
      throw fail(
        row,
        `expected ${expected} in column ${quoted(name)}, got ${quoted(text)}`,
        cellDetails(name, expected),
      );
    }
    if (code === undefined && codesByText.size <= maxCategories) {
      codesByText.set(ownText(text), code = codesByText.size);
    }
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
      // A word in quotes is a category, but not in a column of numbers or of other categories.
      const isCategory = categories ? codesByText.has(text) : kind !== "number" && cells.isText(cell);
      if (missing.isWord(text) && !isCategory) {
        addWord(words.missing, text);
        return numbers.push(NaN);
      }
      if (kind === "category") {
        requireExact(cell, name, row, fail);
        return category(text, cell, row);
      }
      const value = cells.number(text);
      if (Number.isNaN(value)) category(text, cell, row);
      else number(value, text, row);
    },
    finish() {
      const hasTexts = firstText !== undefined || words.category.count > 0;
      const isCategory = kind === "category" || hasTexts && count === 0;
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
      if (codesByText.size > limit) {
        if (kind !== "category") return { kind: "text", distinct: codesByText.size };
        throw fail(0, `more than ${limit} categories in column ${quoted(name)}`, {
          code: "too-large",
          column: name,
          fixes: [(write) => `group some, or leave it out with ${write("ignore")}`],
        });
      }
      codes.fill(-1, rows);
      return { kind: "category", codes: codes.view(), categories: [...codesByText.keys()] };
    },
    notices() {
      const read = ({ text, count }: { text: string; count: number }, why: string) =>
        `column ${quoted(name)}: ${quoted(text)} is read as a missing value, in ${
          plural(count, "row")
        }${why}`;
      const isCategory = kind === "category" || count === 0 && firstText !== undefined;
      if (isCategory && words.missing.count > 0) {
        return [
          read(
            words.missing,
            categories ? "" : '; if it is a category, write it in quotes, or set the option missing to ""',
          ),
        ];
      }
      return !isCategory && count > 0 && words.category.count > 0
        ? [read(words.category, ", because the other values are numbers")]
        : [];
    },
  };
}
