/** Reads the result of a query on a SQLite file. */
import type { Cell, RowSink } from "./options.ts";

/**
 * Runs a query and passes the resulting rows to a sink.
 *
 * @throws {Error} If the query is missing or fails. If it is missing, the message lists the tables.
 */
export async function readSqlite(path: string, query: string | undefined, sink: RowSink): Promise<void> {
  const { DatabaseSync } = await import("node:sqlite");
  try {
    using database = new DatabaseSync(path, { readOnly: true });
    if (query === undefined) {
      const tables = database.prepare("select name from sqlite_schema where type in ('table', 'view')").all();
      const names = tables.map(({ name }) => name).join(", ") || "none";
      throw new Error(
        `a SQLite file needs a query, as the option query "select * from ..."; its tables: ${names}`,
      );
    }
    const statement = database.prepare(query);
    statement.setReadBigInts(true);
    const names = statement.columns().map(({ name }) => name);
    if (names.length === 0) throw new Error(`the query "${query}" gives no table; expected a select`);
    sink.header(names);
    let row = 0;
    for (const found of statement.iterate() as Iterable<Record<string, unknown>>) {
      row++;
      sink.row(
        names.map((name): Cell => {
          const cell = found[name];
          if (!(cell instanceof Uint8Array)) return cell as Cell;
          throw new Error(`row ${row}: expected a number or a text in "${name}", got ${cell.length} bytes`);
        }),
        row,
      );
    }
  } catch (error) {
    if (!(error instanceof Error) || error.name === "DataFormatError") throw error;
    throw new Error(`${path}: ${error.message}`);
  }
}
