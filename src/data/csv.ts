/**
 * Labelled series as a table, a row an observation:
 *
 *     series,time,heart rate,oxygen,label
 *     patient 1,0,71,0.98,well
 *     patient 1,2.5,,0.97,well
 *     patient 2,0,88,0.91,ill
 *
 * The columns `series`, `time` and `label` may stand anywhere; each other column is a channel. An empty field, `NaN`, `NA`
 * or `?` is a missing value. Times are numbers, or dates: see {@linkcode timeKindOf}. A first column without a name that
 * counts the rows, as pandas writes one, and columns of nothing at all are left out. Series to be classified need no
 * `label`.
 */
import {
  DataFormatError,
  decodeUtf8,
  maxValue,
  numberOf,
  readBytes,
  requireDistinct,
  type TimeKind,
  timeKindOf,
  timeOf,
} from "./format.ts";
import type { Series, SeriesSet } from "./series.ts";

const missing = new Set(["", "?", "nan", "na"]);

/** A table's fields, and the line of each row in the file. */
interface Rows {
  readonly header: readonly string[];
  readonly rows: readonly { readonly fields: readonly string[]; readonly line: number }[];
  readonly file: string;
}

/** Options of {@linkcode parseCsv}. */
export interface CsvOptions {
  /** Whether the column `label` is read where there is one. True by default. */
  labels?: boolean;
}

/**
 * Reads a table of series.
 *
 * @param text Content of the file: comma-separated values, the first line naming the columns.
 * @param file Its name, for messages.
 * @returns Series in the order in which they first appear, each with its observations in the order of their times; classes
 * in the order of the alphabet. Without a column `label`, there are no classes, and each label is -1.
 * @throws {DataFormatError} If a column is missing, without a name or there twice, a time or a value is no number, a name or
 * a label is missing, a series has two observations at one time or two labels: with the line and what was expected.
 */
export async function parseCsv(text: string, file: string, options: CsvOptions = {}): Promise<SeriesSet> {
  const table = await parseRows(text, file);
  const { header, rows } = table;
  const ignored = unnamedColumns(table);
  const named = header.filter((_, column) => !ignored.has(column));
  refuseHeader(named, file);
  const columnOf = (name: string) => header.indexOf(name);
  const [seriesColumn, timeColumn] = [columnOf("series"), columnOf("time")];
  const labelColumn = options.labels ?? true ? columnOf("label") : -1;
  const channels = named.filter((name) => name !== "series" && name !== "time" && name !== "label");
  const valueColumns = channels.map(columnOf);

  const times = timesOf(table, timeColumn);
  const observations = rows.map(({ fields, line }, row) => ({
    series: fields[seriesColumn] || fail(table, line, `no name in the column "series"`),
    time: times.values[row],
    label: labelColumn < 0 ? undefined : labelOf(table, fields[labelColumn], line),
    values: valueColumns.map((column) => valueOf(table, fields[column], header[column], line)),
    line,
  }));
  const classes = [...new Set(observations.map(({ label }) => label))].filter((label) => label !== undefined)
    .sort();
  const bySeries = Map.groupBy(observations, ({ series }) => series);
  return {
    name: file,
    channels,
    classes,
    times: times.kind,
    series: Array.from(bySeries.values(), (own) => toSeries(table, own, classes)),
    ignored: [...ignored.values()],
  };
}

/**
 * Reads a table of series from a file; see {@linkcode parseCsv}.
 *
 * @throws {Error} If it cannot be read, or is not in UTF-8.
 */
export async function readCsv(path: string, options?: CsvOptions): Promise<SeriesSet> {
  const bytes = await readBytes(path, "a table of comma-separated values");
  return await parseCsv(decodeUtf8(bytes, path), path, options);
}

function fail({ file }: Pick<Rows, "file">, line: number, message: string): never {
  throw new DataFormatError(file, line, message);
}

async function parseRows(text: string, file: string): Promise<Rows> {
  const { CsvError, parse } = await import("csv-parse/sync");
  let parsed: { record: string[]; info: { lines: number } }[];
  try {
    parsed = parse(text, {
      bom: true,
      info: true,
      skip_empty_lines: true,
      trim: true,
    }) as unknown as typeof parsed;
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw new DataFormatError(file, Number(error.lines ?? 1), error.message);
  }
  const [header, ...rows] = parsed.map(({ record, info }) => ({ fields: record, line: info.lines }));
  if (rows.length === 0) fail({ file }, 1, "no rows after the names of the columns");
  return { header: header.fields, rows, file };
}

/**
 * Columns without a name that can be left out, each with the reason.
 *
 * @throws {DataFormatError} For any other.
 */
function unnamedColumns(table: Rows): Map<number, string> {
  const ignored = new Map<number, string>();
  table.header.forEach((name, column) => {
    // As pandas calls a column without a name when it reads one, and then writes it.
    if (name !== "" && !/^Unnamed: \d+$/.test(name)) return;
    const fields = table.rows.map(({ fields }) => fields[column]);
    const title = name === "" ? `column ${column + 1}, which has no name` : `column "${name}"`;
    if (fields.every((field) => field === "")) ignored.set(column, `${title} (empty)`);
    else if (column === 0 && fields.every((field) => /^\d+$/.test(field))) {
      ignored.set(column, `${title} (row numbers)`);
    } else fail(table, 1, `${title}, is neither empty nor row numbers: name it, or take it out`);
  });
  return ignored;
}

function refuseHeader(header: readonly string[], file: string): void {
  requireDistinct(header, file);
  const absent = ["series", "time"].find((expected) => !header.includes(expected));
  if (absent) {
    fail(
      { file },
      1,
      `no column "${absent}" among ${header.join(", ")}; expected series, time, label and a column a channel`,
    );
  }
  if (header.every((name) => ["series", "time", "label"].includes(name))) {
    fail({ file }, 1, "no channel: a column beside series, time, label");
  }
}

function timesOf(table: Rows, column: number): { kind: TimeKind; values: number[] } {
  const texts = table.rows.map(({ fields }) => fields[column]);
  const kind = timeKindOf(texts);
  const values = texts.map((text, row) => {
    const time = timeOf(text, kind);
    if (!Number.isNaN(time)) return time;
    const expected = kind === "date" ? "a date as time, as in other rows," : "a number or a date as time,";
    return fail(table, table.rows[row].line, `expected ${expected} got "${text}"`);
  });
  return { kind, values };
}

function labelOf(table: Rows, text: string, line: number): string {
  if (!missing.has(text.toLowerCase())) return text;
  return fail(
    table,
    line,
    `expected a label, got "${text}"; name the class, or leave out the rows of a series without one`,
  );
}

function valueOf(table: Rows, text: string, channel: string, line: number): number {
  if (missing.has(text.toLowerCase())) return NaN;
  const value = numberOf(text);
  if (Math.abs(value) <= maxValue) return value;
  const expected = Number.isNaN(value)
    ? "a number, or nothing where there is none,"
    : `a number up to ${maxValue}`;
  return fail(table, line, `expected ${expected} in column "${channel}", got "${text}"`);
}

interface Observation {
  readonly series: string;
  readonly time: number;
  readonly label: string | undefined;
  readonly values: readonly number[];
  readonly line: number;
}

function toSeries(table: Rows, rows: Observation[], classes: readonly string[]): Series {
  const observations = rows.toSorted((a, b) => a.time - b.time);
  const { series: name, label } = rows[0];
  observations.forEach(({ time, line }, i) => {
    if (i > 0 && time === observations[i - 1].time) {
      const text = table.rows.find((row) => row.line === line)!.fields[table.header.indexOf("time")];
      fail(table, line, `series "${name}" has two observations at time ${text}`);
    }
  });
  const other = rows.find((row) => row.label !== label);
  if (other) fail(table, other.line, `series "${name}" is labelled "${label}" and "${other.label}"`);
  return {
    name,
    times: Float64Array.from(observations, ({ time }) => time),
    values: Float64Array.from(observations.flatMap(({ values }) => values)),
    label: label === undefined ? -1 : classes.indexOf(label),
  };
}
