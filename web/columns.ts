/** The columns of a visitor's table: its first rows, and the roles that the columns probably have. */
import { DelimitedRows, dialectOf } from "../src/data/table/delimited.ts";
import { JsonRows } from "../src/data/table/json_lines.ts";
import { type RowSink, textOf } from "../src/data/table/options.ts";
import { encodingOf } from "../src/data/table/text.ts";
import type { Columns, Roles } from "./messages.ts";

/** Bytes of the beginning of a table that are read. */
const headBytes = 65_536;
/** Number of the first rows. */
const rowCount = 5;

/** Common names of the columns of each role, the most common first. */
const commonNames = {
  series: [
    "series",
    "series_id",
    "id",
    "unique_id",
    "subject",
    "patient",
    "machine",
    "sample",
    "unit",
    "name",
  ],
  time: ["time", "timestamp", "t", "date", "datetime", "ds", "day", "hour", "step", "seconds", "year"],
  label: ["label", "class", "target", "category", "y", "state", "kind", "type"],
} as const;

/**
 * Reads the beginning of a table.
 *
 * @throws {DataError} If the beginning is not a text table.
 */
export async function readColumns(file: File): Promise<Columns> {
  const head = new Uint8Array(await file.slice(0, headBytes).arrayBuffer());
  const decoded = new TextDecoder(encodingOf(head)).decode(head);
  // A last line that is cut off is left out.
  const text = file.size > headBytes ? decoded.slice(0, decoded.lastIndexOf("\n") + 1) : decoded;
  let names: readonly string[] = [];
  const rows: string[][] = [];
  const sink: RowSink = {
    header: (given) => names = [...given],
    row: (cells) => rows.length < rowCount && rows.push(cells.slice(0, names.length).map(textOf)),
  };
  const dialect = dialectOf(text, {});
  const reader = text.trimStart().startsWith("{")
    ? new JsonRows(sink, file.name)
    : new DelimitedRows(dialect, sink, file.name);
  reader.block({ text, line: 1 });
  return { names, rows, roles: probableRoles(names, rows) };
}

/** The roles that columns probably have, by their names. Numbers without a class are a series to forecast. */
function probableRoles(names: readonly string[], rows: readonly (readonly string[])[]): Roles {
  const lower = names.map((name) => name.toLowerCase());
  const taken = new Set<number>();
  const find = (role: keyof typeof commonNames) => {
    const place = commonNames[role].map((name) => lower.indexOf(name)).find((at) =>
      at >= 0 && !taken.has(at)
    );
    if (place === undefined) return undefined;
    taken.add(place);
    return names[place];
  };
  const [series, time, label] = [find("series"), find("time"), find("label")];
  const layout = time === undefined ? "rows" : "observations";
  const isText = names.some((name, c) =>
    ![series, time].includes(name) && rows.some((row) => row[c] !== "" && Number.isNaN(Number(row[c])))
  );
  const task = label === undefined && time !== undefined && !isText ? "forecast" : "classify";
  return { task, layout, series, time, label };
}
