/** Sources of tables: files, and tables in memory. */
import type { TableContent, TableInMemory } from "./bytes.ts";

/** A table of rows in memory. Each row is an observation: an object whose members are the columns. */
export interface TableRows extends TableInMemory {
  /** The rows. Each member is a number or a text; an absent member or null is a missing value. */
  readonly rows: Iterable<Readonly<Record<string, unknown>>>;
}

/** A table of columns in memory. */
export interface TableColumns extends Omit<TableInMemory, "maxSeries"> {
  /** Values of each column, of equal length. Each value is a number or a text; null is a missing value. */
  readonly columns: Readonly<Record<string, ArrayLike<unknown>>>;
}

/** A text table in memory. */
export interface TableText extends Omit<TableInMemory, "maxSeries"> {
  /** Content: delimited text or JSON lines. */
  readonly text: string;
}

/** Source of a table: the path of a file or folder, a `File` or `Blob`, or a table in memory. */
export type TableSource = string | Blob | TableContent | TableText | TableRows | TableColumns;

/** Name of a source, for messages. */
export function nameOfTable(source: TableSource): string {
  if (typeof source === "string") return source;
  return (source as { readonly name?: string }).name || "the table";
}
