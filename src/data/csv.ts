/**
 * Labelled series as a table, a row an observation:
 *
 *     series,time,heart rate,oxygen,label
 *     patient 1,0,71,0.98,well
 *     patient 1,2.5,,0.97,well
 *     patient 2,0,88,0.91,ill
 *
 * The columns `series`, `time` and `label` may stand anywhere; each other column is a channel. An empty field, `NaN` or `?`
 * is a missing value. Series to be classified need no `label`.
 */
import { DataFormatError, secondsOf } from "./format.ts";
import type { Series, SeriesSet } from "./series.ts";

const missing = new Set(["", "?", "nan", "na"]);

/** A row of the table and its line in the file. */
interface Row {
  readonly record: Record<string, string>;
  readonly line: number;
}

/** A table's series and what its columns are called. */
export interface Table extends SeriesSet {
  /** The names of the channels' columns. */
  readonly columns: readonly string[];
  /** What each series is called in the column `series`. */
  readonly names: readonly string[];
}

/**
 * Reads a table of series.
 *
 * @param text What the file holds: comma-separated values, the first line naming the columns.
 * @param file Its name, for messages.
 * @returns Series in the order in which they first appear, each with its observations in the order of their times; classes
 * in the order of the alphabet. Without a column `label`, there are no classes, and each label is -1.
 * @throws {DataFormatError} If a column is missing, a time or a value is no number, a series has two observations at one
 * time or two labels: with the line and what was expected.
 */
export async function parseCsv(text: string, file: string): Promise<Table> {
  const rows = await parseRows(text, file);
  if (rows.length === 0) throw new DataFormatError(file, 1, "no rows after the names of the columns");
  const all = Object.keys(rows[0].record);
  for (const expected of ["series", "time"]) {
    if (!all.includes(expected)) {
      throw new DataFormatError(
        file,
        1,
        `no column "${expected}" among ${
          all.join(", ")
        }; expected series, time, label and a column a channel`,
      );
    }
  }
  const columns = all.filter((name) => name !== "series" && name !== "time" && name !== "label");
  if (columns.length === 0) {
    throw new DataFormatError(file, 1, "no channel: a column beside series, time, label");
  }
  const classes = all.includes("label") ? [...new Set(rows.map(({ record }) => record.label))].sort() : [];
  const bySeries = Map.groupBy(rows, ({ record }) => record.series);
  const series = Array.from(bySeries.values(), (own) => toSeries(own, columns, classes, file));
  return { name: file, channels: columns.length, classes, series, columns, names: [...bySeries.keys()] };
}

/**
 * Reads a table of series from a file; see {@linkcode parseCsv}.
 *
 * @throws {Error} If there is no such file.
 */
export async function readCsv(path: string): Promise<Table> {
  let text: string;
  try {
    text = await Deno.readTextFile(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new Error(`${path}: no such file; expected a table of comma-separated values`);
  }
  return await parseCsv(text, path);
}

async function parseRows(text: string, file: string): Promise<Row[]> {
  const { CsvError, parse } = await import("csv-parse/sync");
  try {
    const rows = parse(text, { bom: true, columns: true, info: true, skip_empty_lines: true, trim: true });
    return (rows as unknown as { record: Record<string, string>; info: { lines: number } }[])
      .map(({ record, info }) => ({ record, line: info.lines }));
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw new DataFormatError(file, Number(error.lines ?? 1), error.message);
  }
}

function toSeries(
  rows: Row[],
  channels: readonly string[],
  classes: readonly string[],
  file: string,
): Series {
  const observations = rows.map(({ record, line }) => ({
    line,
    record,
    time: timeOf(record.time, line, file),
  }))
    .sort((a, b) => a.time - b.time);
  const { series: name, label } = rows[0].record;
  observations.forEach(({ time, line, record }, i) => {
    if (i > 0 && time === observations[i - 1].time) {
      throw new DataFormatError(file, line, `series "${name}" has two observations at time ${record.time}`);
    }
    if (record.label !== label) {
      throw new DataFormatError(file, line, `series "${name}" is labelled "${label}" and "${record.label}"`);
    }
  });
  return {
    times: Float64Array.from(observations, ({ time }) => time),
    values: Float64Array.from(
      observations.flatMap(({ record, line }) =>
        channels.map((channel) => valueOf(record[channel], channel, line, file))
      ),
    ),
    label: classes.indexOf(label),
  };
}

function timeOf(text: string, line: number, file: string): number {
  const time = secondsOf(text);
  if (!Number.isNaN(time)) return time;
  throw new DataFormatError(file, line, `expected a number or a date as time, got "${text}"`);
}

function valueOf(text: string, channel: string, line: number, file: string): number {
  if (missing.has(text.toLowerCase())) return NaN;
  const value = Number(text);
  if (Number.isFinite(value)) return value;
  throw new DataFormatError(
    file,
    line,
    `expected a number, or nothing where there is none, in column "${channel}", got "${text}"`,
  );
}
