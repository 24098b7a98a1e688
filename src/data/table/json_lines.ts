/** Tables of JSON lines: an object a row, its members the columns. */
import { DataFormatError } from "../format.ts";
import { isRecord, parseJson } from "../../files/json.ts";
import type { Cell, RowSink } from "./options.ts";
import type { TextBlock } from "./text.ts";

/** Reads the objects of some lines into a sink; a member that comes later is a column that was missing before. */
export class JsonRows {
  private readonly columns: Map<string, number>;

  /**
   * Rows of a file.
   *
   * @param columns Those that other files have.
   */
  constructor(
    private readonly sink: RowSink,
    private readonly file: string,
    columns: readonly string[] = [],
  ) {
    this.columns = new Map(columns.map((name, i) => [name, i]));
    if (columns.length > 0) sink.header(columns);
  }

  /** Takes a block of whole lines. */
  block({ text, line }: TextBlock): void {
    for (const row of text.split("\n")) {
      if (row.trim() !== "") this.row(row, line);
      line++;
    }
  }

  private row(text: string, line: number): void {
    const value = parseJson(text);
    if (!isRecord(value)) {
      throw new DataFormatError(
        this.file,
        line,
        `expected a JSON object, the whole of it in this line, got ${quote(text)}`,
      );
    }
    const before = this.columns.size;
    for (const name of Object.keys(value)) {
      if (!this.columns.has(name)) this.columns.set(name, this.columns.size);
    }
    if (this.columns.size > before) this.sink.header([...this.columns.keys()]);
    const cells: Cell[] = new Array(this.columns.size).fill(undefined);
    for (const [name, cell] of Object.entries(value)) {
      if (typeof cell === "object" && cell !== null) {
        throw new DataFormatError(
          this.file,
          line,
          `expected a number or a text in "${name}", got ${
            quote(JSON.stringify(cell))
          }: flatten what is nested`,
        );
      }
      cells[this.columns.get(name)!] = cell as Cell;
    }
    this.sink.row(cells, line);
  }
}

function quote(text: string): string {
  return text.length > 40 ? `${text.slice(0, 40)}...` : text;
}
