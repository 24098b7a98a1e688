/** Tables of delimited text, such as comma-separated values (RFC 4180). */
import { DataFormatError, type FormatErrorDetails, numberOf, quoted } from "../format.ts";
import { maxRowBytes } from "./bytes.ts";
import { unescapeFormula } from "./formula.ts";
import {
  type Cell,
  delimiters,
  EscapedText,
  QuotedText,
  type RowSink,
  type TableOptions,
  textOf,
} from "./options.ts";
import type { TextBlock } from "./text.ts";

/** Notation of fields and numbers. */
interface Dialect {
  /** Character between fields. */
  readonly delimiter: string;
  /** Decimal sign. */
  readonly decimal: "." | ",";
}

/** Maximum number of rows used to recognise the dialect. */
const sampledRows = 1000;

/**
 * Recognises the dialect of a text. The delimiter is the one that is most frequent in the first row, outside
 * quotes. The decimal sign is a comma if the delimiter is not a comma, some fields are numbers with a comma,
 * and no field is a number with a point.
 */
export function dialectOf(text: string, options: Pick<TableOptions, "delimiter" | "decimal">): Dialect {
  const lines = text.split("\n", sampledRows);
  const announced = /^sep=([^"])\r?$/i.exec(lines[0])?.[1];
  const header = lines.find((line) => line.trim() !== "" && !/^sep=.\r?$/i.test(line)) ?? "";
  const bare = header.replaceAll(/"[^"]*"/g, "");
  const count = (delimiter: string) => bare.split(delimiter).length;
  const delimiter = options.delimiter ?? announced ??
    delimiters.reduce((a, b) => count(b) > count(a) ? b : a);
  if (options.decimal || delimiter === ",") return { delimiter, decimal: options.decimal ?? "." };
  const fields = lines.flatMap((line) => line.split(delimiter)).map((field) =>
    field.replaceAll('"', "").trim()
  );
  const hasComma = fields.some((field) => /^[+-]?\d*,\d+$/.test(field));
  const hasPoint = fields.some((field) => field.includes(".") && !Number.isNaN(numberOf(field)));
  return { delimiter, decimal: hasComma && !hasPoint ? "," : "." };
}

/** Reads rows of delimited text and passes them to a sink. The first row contains the column names. */
export class DelimitedRows {
  private width = 0;
  /** Whether a single quote has occurred in the file. A single quote marks an escaped formula. */
  private mayEscape = false;
  /** Lines of a row with an open quote, and the number of the first line. */
  private open: string[] = [];
  private openLine = 0;
  private openLength = 0;

  /** Makes a reader for a file in a dialect. */
  constructor(
    private readonly dialect: Dialect,
    private readonly sink: RowSink,
    private readonly file: string,
  ) {}

  /** Reads a block of whole lines. */
  block({ text, line }: TextBlock): void {
    const lines = text.split("\n");
    if (text.endsWith("\n")) lines.pop();
    const hasQuotes = text.includes('"');
    this.mayEscape ||= text.includes("'");
    for (const row of lines) {
      if (this.open.length === 0 && !(hasQuotes && row.includes('"'))) this.row(this.split(row), row, line);
      else this.addOpen(row, line);
      line++;
    }
  }

  /** Checks the end of the file: no open quotes, at least one row. */
  end(): void {
    if (this.open.length > 0) this.failQuote();
    if (this.width === 0) {
      this.fail(1, "no row: expected the names of the columns, and then rows", { code: "empty-table" });
    }
  }

  /** Whether a field of a line begins with a quote. */
  private opensField(text: string): boolean {
    return text.startsWith('"') ||
      text.split(this.dialect.delimiter).some((field) => field.trimStart().startsWith('"'));
  }

  /** Adds a line to a row that spans several lines. The row ends when all quotes are closed. */
  private addOpen(text: string, line: number): void {
    if (this.open.length === 0) this.openLine = line;
    if (this.open.length === 0 && !this.opensField(text)) this.quotedFields(text, line);
    const isWhole = text.split('"').length % 2 === (this.open.length === 0 ? 1 : 0);
    this.open.push(text);
    this.openLength += text.length + 1;
    if (this.openLength > maxRowBytes) this.failQuote();
    if (!isWhole) return;
    const row = this.open.join("\n");
    this.open = [];
    this.openLength = 0;
    this.row(this.quotedFields(row, this.openLine), row, this.openLine);
  }

  /** Splits a row without quotes. The built-in split takes ten times as long on some engines. */
  private split(row: string): string[] {
    const { delimiter } = this.dialect;
    const fields: string[] = [];
    for (let at = 0;;) {
      const next = row.indexOf(delimiter, at);
      if (next < 0) {
        fields.push(row.slice(at));
        return fields;
      }
      fields.push(row.slice(at, next));
      at = next + 1;
    }
  }

  private row(fields: Cell[], row: string, line: number): void {
    if (fields.length === 1 && row.trim() === "") return;
    if (this.width === 0) {
      if (/^sep=.\r?$/i.test(row)) return;
      this.width = fields.length;
      this.sink.header(fields.map((field) => unescapeFormula(textOf(field)) ?? textOf(field)));
      return;
    }
    if (fields.length !== this.width) {
      this.fail(
        line,
        `${fields.length} fields, expected ${this.width} as in the first row: a row that is cut short, or a ` +
          `${JSON.stringify(this.dialect.delimiter)} in a field without quotes`,
        { expected: `${this.width} fields` },
      );
    }
    this.sink.row(this.mayEscape ? fields.map(unescaped) : fields, line);
  }

  /** Splits a row with quotes, which may span several lines. */
  private quotedFields(row: string, line: number): Cell[] {
    const { delimiter } = this.dialect;
    const fields: Cell[] = [];
    for (let at = 0;;) {
      while (row[at] === " ") at++;
      let stop: number;
      if (row[at] === '"') {
        let close = row.indexOf('"', at + 1);
        while (row[close + 1] === '"') close = row.indexOf('"', close + 2);
        if (close < 0) this.failQuote(line);
        fields.push(new QuotedText(row.slice(at + 1, close).replaceAll('""', '"')));
        stop = row.indexOf(delimiter, close);
        if (stop < 0) stop = row.length;
        const behind = row.slice(close + 1, stop).trim();
        if (behind !== "") {
          this.fail(
            line,
            `${quoted(behind)} after the closing quote of field ${fields.length}`,
            { fixes: ["write a quote in a quoted field twice"] },
          );
        }
      } else {
        stop = row.indexOf(delimiter, at);
        if (stop < 0) stop = row.length;
        const field = row.slice(at, stop);
        fields.push(field);
        if (field.includes('"')) {
          this.fail(
            line,
            `a quote in field ${fields.length}, which does not begin with one`,
            { fixes: ["enclose the field in quotes, and double the quotes inside it"] },
          );
        }
      }
      if (stop === row.length) return fields;
      at = stop + 1;
    }
  }

  private failQuote(line = this.openLine): never {
    return this.fail(line, "a quote that is opened in this row is never closed");
  }

  private fail(line: number, message: string, details?: FormatErrorDetails): never {
    throw new DataFormatError(this.file, line, message, details);
  }
}

/** The cell of a field. Removes the escaping of texts that look like formulas. */
function unescaped(field: Cell): Cell {
  const escaped = textOf(field);
  if (!escaped.startsWith("'")) return field;
  const text = unescapeFormula(escaped);
  return text === undefined ? field : new EscapedText(text);
}
