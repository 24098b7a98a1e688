/** Tables of delimited text, such as comma-separated values (RFC 4180). */
import { DataFormatError, numberOf } from "../format.ts";
import { maxRowBytes } from "./bytes.ts";
import { unescapeFormula } from "./formula.ts";
import { type Cell, delimiters, EscapedText, type RowSink, type TableOptions } from "./options.ts";
import type { TextBlock } from "./text.ts";

/** Notation of fields and numbers. */
interface Dialect {
  /** Character between fields. */
  readonly delimiter: string;
  /** Decimal sign. */
  readonly decimal: "." | ",";
}

/** Rows that tell a dialect. */
const sampledRows = 1000;

/**
 * The dialect of a text: the delimiter that its first row has most of, outside quotes; a decimal comma where fields are
 * not divided by commas, some are numbers with one, and none is a number with a point.
 */
export function dialectOf(text: string, given: Pick<TableOptions, "delimiter" | "decimal">): Dialect {
  const lines = text.split("\n", sampledRows);
  const announced = /^sep=([^"])\r?$/i.exec(lines[0])?.[1];
  const header = lines.find((line) => line.trim() !== "" && !/^sep=.\r?$/i.test(line)) ?? "";
  const bare = header.replaceAll(/"[^"]*"/g, "");
  const count = (delimiter: string) => bare.split(delimiter).length;
  const delimiter = given.delimiter ?? announced ?? delimiters.reduce((a, b) => count(b) > count(a) ? b : a);
  if (given.decimal || delimiter === ",") return { delimiter, decimal: given.decimal ?? "." };
  const fields = lines.flatMap((line) => line.split(delimiter)).map((field) =>
    field.replaceAll('"', "").trim()
  );
  const hasComma = fields.some((field) => /^[+-]?\d*,\d+$/.test(field));
  const hasPoint = fields.some((field) => field.includes(".") && !Number.isNaN(numberOf(field)));
  return { delimiter, decimal: hasComma && !hasPoint ? "," : "." };
}

/** Reads rows of delimited text into a sink; the first names the columns. */
export class DelimitedRows {
  private width = 0;
  /** Whether there was a single quote, without which no text is escaped. */
  private mayEscape = false;
  /** Lines of a row whose quotes are not closed, with the number of the first. */
  private open: string[] = [];
  private openLine = 0;
  private openLength = 0;

  /** Rows of a file in a dialect. */
  constructor(
    private readonly dialect: Dialect,
    private readonly sink: RowSink,
    private readonly file: string,
  ) {}

  /** Takes a block of whole lines. */
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

  /** Takes what is left after the last block. */
  end(): void {
    if (this.open.length > 0) this.failQuote();
    if (this.width === 0) this.fail(1, "no row: expected the names of the columns, and then rows");
  }

  /** Whether a field of a line begins with a quote. */
  private opensField(text: string): boolean {
    return text.startsWith('"') ||
      text.split(this.dialect.delimiter).some((field) => field.trimStart().startsWith('"'));
  }

  /** Adds a line to a row that goes over several, which ends where all quotes are closed. */
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

  /** The fields of a row without quotes. The built-in split takes ten times as long on some engines. */
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

  private row(fields: string[], row: string, line: number): void {
    if (fields.length === 1 && row.trim() === "") return;
    if (this.width === 0) {
      if (/^sep=.\r?$/i.test(row)) return;
      this.width = fields.length;
      this.sink.header(fields.map((field) => unescapeFormula(field.trim()) ?? field.trim()));
      return;
    }
    if (fields.length !== this.width) {
      this.fail(
        line,
        `${fields.length} fields, expected ${this.width} as in the first row: a row that is cut short, or a ` +
          `${JSON.stringify(this.dialect.delimiter)} in a field without quotes`,
      );
    }
    this.sink.row(this.mayEscape ? fields.map(unescaped) : fields, line);
  }

  /** The fields of a row with quotes, which may go over lines. */
  private quotedFields(row: string, line: number): string[] {
    const { delimiter } = this.dialect;
    const fields: string[] = [];
    for (let at = 0;;) {
      while (row[at] === " ") at++;
      let stop: number;
      if (row[at] === '"') {
        let close = row.indexOf('"', at + 1);
        while (row[close + 1] === '"') close = row.indexOf('"', close + 2);
        if (close < 0) this.failQuote(line);
        fields.push(row.slice(at + 1, close).replaceAll('""', '"'));
        stop = row.indexOf(delimiter, close);
        if (stop < 0) stop = row.length;
        const behind = row.slice(close + 1, stop).trim();
        if (behind !== "") {
          this.fail(
            line,
            `"${behind}" after the closing quote of field ${fields.length}; a quote in a field is written twice`,
          );
        }
      } else {
        stop = row.indexOf(delimiter, at);
        if (stop < 0) stop = row.length;
        fields.push(row.slice(at, stop));
        if (fields.at(-1)!.includes('"')) {
          this.fail(
            line,
            `a quote in field ${fields.length}, which does not begin with one; expected the whole field in quotes, ` +
              "and its own written twice",
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

  private fail(line: number, message: string): never {
    throw new DataFormatError(this.file, line, message);
  }
}

/** The cell of a field, whose text may be escaped. */
function unescaped(field: string): Cell {
  if (!field.includes("'")) return field;
  const text = unescapeFormula(field.trim());
  return text === undefined ? field : new EscapedText(text);
}
