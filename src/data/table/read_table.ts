/** Reads tables of series from files. */
import { namesIn, pathKind } from "../../files/disk.ts";
import { checkOptions, namesOf } from "../../device/options.ts";
import { DataFormatError, quoted } from "../format.ts";
import { DataError, WeftError } from "../../device/errors.ts";
import type { SeriesSet } from "../series.ts";
import { openFile, type TableContent } from "./bytes.ts";
import { TableBuilder } from "./builder.ts";
import { DelimitedRows, dialectOf } from "./delimited.ts";
import { JsonRows } from "./json_lines.ts";
import {
  readOptionNames,
  type ReadOptions,
  tableOptionNames,
  type TableOptions,
  type TextNotation,
} from "./options.ts";
import { nameOfTable, type TableColumns, type TableRows, type TableSource } from "./source.ts";
import { encodingOf, type TextBlock, textBlocks } from "./text.ts";

const optionNames = namesOf<TableOptions & ReadOptions>()(tableOptionNames, "targets?", readOptionNames);

/** Names of the table files in a folder. */
const tableName = /\.(csv|tsv|txt|jsonl|ndjson|parquet)(\.gz)?$/i;

/**
 * Reads series from a table: delimited text or JSON lines, optionally compressed by gzip, Parquet, or the
 * result of a query on a SQLite file. A folder is read as one table; all its files must have the same
 * columns. The format is recognised from the content of a file, not from its name.
 *
 * @example
 * ```ts ignore
 * import { readTable } from "@weft/weft/data";
 *
 * const set = await readTable("patients.csv", { series: "id", time: "timestamp", static: ["age"] });
 * console.log(set.series.length, set.channels, set.notices);
 * ```
 *
 * @param source A file, a folder, or a table in memory as bytes, text, rows or columns.
 * @throws {DataFormatError} If the table breaks a rule of docs/start/own_data.md. The message contains the line and
 * how to correct it.
 * @throws {DataError} If the format is not supported, or a compressed file is damaged.
 * @throws {WeftError} If a file cannot be read.
 */
export async function readTable(
  source: TableSource,
  options: TableOptions & ReadOptions = {},
): Promise<SeriesSet> {
  checkOptions("readTable", options, optionNames);
  if (typeof source === "string") return await readFiles(source, await filesOf(source), options);
  if (source instanceof Blob) {
    const content = { name: nameOfTable(source), bytes: new Uint8Array(await source.arrayBuffer()) };
    return await readFiles(content.name, [content], options);
  }
  if ("rows" in source) return readRows(source, options);
  if ("columns" in source) return readRows({ ...source, rows: rowsOfColumns(source) }, options);
  const content = "text" in source ? { ...source, bytes: new TextEncoder().encode(source.text) } : source;
  return await readFiles(content.name, [content], options, content);
}

async function readFiles(
  name: string,
  files: readonly (string | TableContent)[],
  options: TableOptions & ReadOptions,
  { maxFields, maxSeries }: Pick<TableContent, "maxFields" | "maxSeries"> = {},
): Promise<SeriesSet> {
  const builder = new TableBuilder(name, options, maxFields, maxSeries);
  for (const file of files) await addFile(file, builder, options);
  return builder.finish();
}

function readRows(
  { name, rows, maxFields, maxSeries }: TableRows,
  options: TableOptions & ReadOptions,
): SeriesSet {
  const builder = new TableBuilder(name, { ...options, wide: false }, maxFields, maxSeries);
  const objects = new JsonRows(builder.file(name, "row"), name, [], "row");
  let count = 0;
  for (const row of rows) objects.object(row, ++count);
  return builder.finish();
}

/** @throws {DataError} If two columns differ in length. */
function* rowsOfColumns({ name, columns }: TableColumns): Generator<Record<string, unknown>> {
  const entries = Object.entries(columns);
  const [[first, { length }] = ["", []]] = entries;
  const other = entries.find(([, values]) => values.length !== length);
  if (other) {
    throw new DataError(
      "invalid-row",
      `${name}: ${other[1].length} values in ${quoted(other[0])}, expected ${length} as in ${quoted(first)}`,
      { column: other[0], expected: `${length} values` },
    );
  }
  for (let row = 0; row < length; row++) {
    yield Object.fromEntries(entries.map(([column, values]) => [column, values[row]]));
  }
}

/**
 * Reads series from delimited text; see {@linkcode readTable}.
 *
 * @param text Content of the file.
 * @param file Name of the file, for messages.
 */
export function parseCsv(text: string, file: string, options: TableOptions & ReadOptions = {}): SeriesSet {
  checkOptions("parseCsv", options, optionNames);
  const builder = new TableBuilder(file, options);
  const dialect = dialectOf(text, options);
  const rows = new DelimitedRows(dialect, builder.file(file, "line", notationOf(dialect, options)), file);
  rows.block({ text: text.replace(/^\uFEFF/, ""), line: 1 });
  rows.end();
  return builder.finish();
}

/** Whether a file has the extension of a table. */
export function isTableName(name: string): boolean {
  return tableName.test(name);
}

/** Whether a folder contains tables. */
export async function hasTables(folder: string): Promise<boolean> {
  return (await tablesIn(folder)).length > 0;
}

async function tablesIn(folder: string): Promise<string[]> {
  // macOS stores metadata of a file under the name ._<file>.
  return (await namesIn(folder)).filter((name) => tableName.test(name) && !name.startsWith("._"))
    .sort();
}

async function filesOf(path: string): Promise<string[]> {
  if (await pathKind(path) !== "folder") return [path];
  const names = await tablesIn(path);
  if (names.length > 0) return names.map((name) => `${path}/${name}`);
  const expected = ".csv, .tsv, .jsonl or .parquet files";
  throw new WeftError("empty-table", `${path}: no tables in this folder; expected ${expected}`, { expected });
}

async function addFile(
  source: string | TableContent,
  builder: TableBuilder,
  options: TableOptions,
): Promise<void> {
  await using file = await openFile(source, options.maxUnpacked);
  const { kind, isCompressed, file: path } = file;
  if (typeof source !== "string" && (kind === "parquet" || kind === "sqlite")) {
    throw new DataError("unsupported-format", `${path}: ${kind}, which is only read from files`, {
      fixes: ["send its rows as CSV or JSON lines"],
    });
  }
  if (isCompressed && (kind === "parquet" || kind === "sqlite")) {
    throw new DataError(
      "unsupported-format",
      `${path}: ${kind} inside gzip; the format needs random access to the file`,
      { fixes: ["unpack it first"] },
    );
  }
  if (options.query !== undefined && kind !== "sqlite" && typeof source === "string") {
    builder.notices.push("the query is not used: the file is not a SQLite file");
  }
  switch (kind) {
    case "parquet": {
      const { readParquet } = await import("./parquet.ts");
      return await readParquet(path, builder.file(path, "row"), builder.isWanted, options.maxUnpacked);
    }
    case "sqlite": {
      const { readSqlite } = await import("./sqlite.ts");
      return readSqlite(path, options.query, builder.file(path, "row"));
    }
    case "zip":
      throw new DataError("unsupported-format", `${path}: a zip file, as Excel's workbooks are`, {
        fixes: ["save the sheet as CSV, or unpack the table"],
      });
    case "zstd":
      throw new DataError("unsupported-format", `${path}: compressed by Zstandard`, {
        fixes: ["unpack it, or compress it by gzip"],
      });
    case "array":
      throw new DataFormatError(
        path,
        1,
        "a JSON array; expected JSON lines: an object a line, without brackets or commas",
        { code: "unsupported-format", expected: "JSON lines" },
      );
    case "json":
    case "text":
      await readText(file, builder, options);
  }
}

async function readText(
  file: Awaited<ReturnType<typeof openFile>>,
  builder: TableBuilder,
  options: TableOptions,
): Promise<void> {
  const encoding = options.encoding ?? encodingOf(file.head);
  if (encoding !== "utf-8" && !options.encoding) builder.notices.push(`the text is in ${encoding}`);
  let rows: { block(block: TextBlock): void; end?(): void } | undefined;
  for await (const block of textBlocks(file, encoding)) {
    rows ??= rowsOf(file.file, file.kind, block.text, builder, options);
    rows.block(block);
  }
  rows?.end?.();
}

function rowsOf(file: string, kind: string, text: string, builder: TableBuilder, options: TableOptions) {
  if (kind === "json") return new JsonRows(builder.file(file, "line"), file, builder.columns);
  const dialect = dialectOf(text, options);
  if (dialect.delimiter !== ",") {
    builder.notices.push(`fields are separated by ${JSON.stringify(dialect.delimiter)}`);
  }
  if (dialect.decimal === "," && !options.decimal) builder.notices.push("numbers have a decimal comma");
  return new DelimitedRows(dialect, builder.file(file, "line", notationOf(dialect, options)), file);
}

/** Tables with commas between fields have no thousands separators outside quotes, hence decimal points. */
function notationOf(
  { delimiter, decimal }: ReturnType<typeof dialectOf>,
  options: TableOptions,
): TextNotation {
  return { decimal, isUncertain: options.decimal === undefined && delimiter !== "," };
}
