/** Reads the result of a query on a SQLite file. */
import { OptionError, WeftError } from "../../device/errors.ts";
import { nodeModuleFor } from "../../files/disk.ts";
import { DataFormatError, quoted } from "../format.ts";
import type { Cell, RowSink } from "./options.ts";

/**
 * Runs a query and passes the resulting rows to a sink.
 *
 * @throws {WeftError} If the query is missing or fails. If it is missing, the message lists the tables.
 */
export function readSqlite(path: string, query: string | undefined, sink: RowSink): void {
  const { DatabaseSync } = nodeModuleFor(path, "node:sqlite");
  try {
    using database = new DatabaseSync(path, { readOnly: true });
    if (query === undefined) {
      const tables = database.prepare("select name from sqlite_schema where type in ('table', 'view')").all();
      const names = tables.map(({ name }) => name).join(", ") || "none";
      throw new OptionError(
        "missing-option",
        (write) =>
          `${path}: a SQLite file needs a query, as the option ${
            write("query")
          } "select * from ..."; its tables: ${names}`,
        { option: "query", expected: "a select" },
      );
    }
    const statement = database.prepare(query);
    statement.setReadBigInts(true);
    const names = statement.columns().map(({ name }) => name);
    if (names.length === 0) {
      throw new OptionError(
        "invalid-option",
        `${path}: the query "${query}" gives no table; expected a select`,
        {
          option: "query",
          expected: "a select",
        },
      );
    }
    sink.header(names);
    let row = 0;
    for (const record of statement.iterate() as Iterable<Record<string, unknown>>) {
      row++;
      sink.row(
        names.map((name): Cell => {
          const cell = record[name];
          if (!(cell instanceof Uint8Array)) return cell as Cell;
          const expected = "a number or a text";
          throw new DataFormatError(
            path,
            row,
            `expected ${expected} in ${quoted(name)}, got ${cell.length} bytes`,
            { code: "invalid-cell", unit: "row", column: name, expected },
          );
        }),
        row,
      );
    }
  } catch (error) {
    if (!(error instanceof Error) || error instanceof WeftError) throw error;
    throw new WeftError("unreadable-file", `${path}: ${error.message}`);
  }
}
