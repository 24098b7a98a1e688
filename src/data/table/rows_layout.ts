/** Tables with one row per series: names, labels and targets in some columns, the values in the others. */
import { DataFormatError, listed, numberOf } from "../format.ts";
import {
  type Cell,
  type MissingRule,
  QuotedText,
  type ReadOptions,
  type RowSink,
  type TableOptions,
  textOf,
} from "./options.ts";

/** Name of the channel. */
export const valueColumn = "value";

/**
 * Makes a sink for rows that are whole series. It passes one row per value to the next sink, with the positions
 * 0, 1, 2, ... as times. Missing values become no observation, so series may have different lengths.
 *
 * The options name the columns of the series' name, its targets, its group and its static values. All other
 * columns are values, in their order. A table without names of columns, such as a `.tsv` file of the UCR
 * archive, has the label in its first column.
 *
 * @param isTyped Whether the file marks texts, so that no text is a word for a missing value.
 */
export function rowsLayout(
  sink: RowSink,
  file: string,
  options: TableOptions & ReadOptions,
  missing: MissingRule,
  isTyped: boolean,
): RowSink {
  const { series = "series", time = "time", target = ["label"], group, static: statics = [] } = options;
  const { ignore = [] } = options;
  const ofSeries = [series, ...target, ...group === undefined ? [] : [group], ...statics, ...ignore];
  const isMissing = (cell: Cell) => {
    const text = textOf(cell);
    const isWord = !isTyped && !(cell instanceof QuotedText) && missing.isWord(text);
    return isWord || missing.isText(text) || missing.isNumber(numberOf(text));
  };
  /** Places of the columns of the whole series, and of the values. */
  let [kept, values]: number[][] = [[], []];
  let [hasBegun, hasName] = [false, false];
  let count = 0;
  const begin = (names: readonly string[]) => {
    hasBegun = true;
    kept = [...names.keys()].filter((index) => ofSeries.includes(names[index]));
    values = [...names.keys()].filter((index) => !kept.includes(index));
    if (values.length === 0) {
      throw new DataFormatError(
        file,
        1,
        `no column of values, only ${listed(names)}; expected one for each step`,
        { code: "missing-column", expected: "a column for each step" },
      );
    }
    hasName = names.includes(series);
    sink.header([...hasName ? [] : [series], ...kept.map((index) => names[index]), time, valueColumn]);
  };
  const row: RowSink["row"] = (cells, line) => {
    count++;
    const common = [...hasName ? [] : [`series ${count}`], ...kept.map((index) => cells[index])];
    const observed = [...values.keys()].filter((i) => !isMissing(cells[values[i]]));
    // A series without any value keeps one row, so that it is reported and not lost.
    for (const i of observed.length > 0 ? observed : [0]) sink.row([...common, i, cells[values[i]]], line);
  };
  return {
    header(names) {
      if (hasBegun || hasColumnNames(names, ofSeries)) return begin(names);
      begin([target[0], ...Array.from({ length: names.length - 1 }, (_, i) => `${i}`)]);
      row(names.slice(), 1);
    },
    row,
  };
}

/**
 * Whether the first row of a table names columns: one of the names of the options, or no number after the first
 * field.
 */
function hasColumnNames(names: readonly string[], columnNames: readonly string[]): boolean {
  if (names.some((name) => columnNames.includes(name))) return true;
  return !names.slice(1).some((name) => !Number.isNaN(numberOf(name)));
}
