/** Tables of JSON lines: each object is a row, and its members are the columns. */
import { DataFormatError, type FormatErrorDetails, quoted } from "../format.ts";
import { isRecord, parseFiniteJson } from "../../files/json.ts";
import type { Cell, RowSink } from "./options.ts";
import type { TextBlock } from "./text.ts";

/**
 * Maximum number of column names passed to the sink in total. Each row with a new member passes all names
 * again.
 */
const maxNamesTold = 1e7;

/**
 * Reads objects and passes them to a sink. A member that first appears in a later row is a column, missing in
 * the rows before.
 */
export class JsonRows {
  private readonly columns: Map<string, number>;
  private namesTold = 0;

  /**
   * Makes a reader for a file.
   *
   * @param columns Columns of the other files.
   * @param unit Unit of the positions in messages.
   */
  constructor(
    private readonly sink: RowSink,
    private readonly file: string,
    columns: readonly string[] = [],
    private readonly unit: "line" | "row" = "line",
  ) {
    this.columns = new Map(columns.map((name, i) => [name, i]));
    if (columns.length > 0) sink.header(columns);
  }

  /** Reads a block of whole lines. */
  block({ text, line }: TextBlock): void {
    for (const row of text.split("\n")) {
      if (row.trim() !== "") this.row(row, line);
      line++;
    }
  }

  private row(text: string, line: number): void {
    const value = parseFiniteJson(text);
    if (!isRecord(value)) {
      throw this.error(line, `expected a complete JSON object in this line, got ${quote(text)}`);
    }
    this.object(value, line);
  }

  /** Reads a row. @param line Number of the line, from 1. */
  object(value: Readonly<Record<string, unknown>>, line: number): void {
    const before = this.columns.size;
    for (const name of Object.keys(value)) {
      if (!this.columns.has(name)) this.columns.set(name, this.columns.size);
    }
    if (this.columns.size > before) {
      this.namesTold += this.columns.size;
      if (this.namesTold > maxNamesTold) {
        throw this.error(
          line,
          `the rows have different columns, ${this.columns.size} so far; expected the same columns in each row`,
          { code: "too-large" },
        );
      }
      this.sink.header([...this.columns.keys()]);
    }
    const cells: Cell[] = new Array(this.columns.size).fill(undefined);
    for (const [name, cell] of Object.entries(value)) {
      if (typeof cell === "object" && cell !== null) {
        throw this.error(
          line,
          `expected a number or a text in ${quoted(name)}, got ${quote(JSON.stringify(cell))}`,
          {
            code: "invalid-cell",
            column: name,
            expected: "a number or a text",
            fixes: ["flatten nested values"],
          },
        );
      }
      cells[this.columns.get(name)!] = cell as Cell;
    }
    this.sink.row(cells, line);
  }

  private error(line: number, message: string, details?: FormatErrorDetails): DataFormatError {
    return new DataFormatError(this.file, line, message, { ...details, unit: this.unit });
  }
}

function quote(text: string): string {
  return text.length > 40 ? `${text.slice(0, 40)}...` : text;
}
