/** Builds series from the columns of a table. */
import { formatTime, plural, quoted, shownAgain } from "../format.ts";
import type { ChannelKind, Series, SeriesSet } from "../series.ts";
import type { ErrorText } from "../../device/errors.ts";
import { maxCategories, type Values } from "./columns.ts";
import type { Times } from "./time_column.ts";
import { valueColumn } from "./rows_layout.ts";
import type { NamedColumn, TableColumns } from "./table_columns.ts";

/** A channel's values in all rows. */
interface ChannelValues {
  readonly name: string;
  readonly kind: ChannelKind;
  readonly at: (row: number) => number;
}

/** Builds series from a table with one row per observation. */
export function longSeries(table: TableColumns): SeriesSet {
  const { options, fail, notices } = table;
  const times = table.times.finish();
  const codes = table.series?.codes();
  const names = table.series?.texts ?? [table.onlyName];
  const nameless = codes?.indexOf(-1) ?? -1;
  if (nameless >= 0) {
    const column = options.series ?? "series";
    throw fail(nameless, `no name in the column ${quoted(column)}`, {
      code: "invalid-cell",
      column,
      expected: "the name of the series",
    });
  }
  if (!codes) notices.push(`no column "series": all rows are one series, "${table.onlyName}"`);
  const { order, starts, unsorted } = sortedRows(codes, names.length, times.values);
  if (unsorted > 0) {
    notices.push(`${plural(unsorted, "row")} came before an earlier row of the same series: sorted by time`);
  }
  const channels = table.values.filter(({ role }) => role !== "target").flatMap((column) =>
    channelsOf(column, table)
  );
  requireChannels(channels, table);
  requireDistinctChannels(channels, table);
  // Sort the targets by the option `target`: another table may have them in another order, or under other
  // names.
  const asked = options.target ?? [];
  const targets = table.values.filter(({ role }) => role === "target")
    .sort((a, b) => asked.indexOf(a.name) - asked.indexOf(b.name))
    .map((column) => ({ name: column.name, values: numbersOf(column) }));
  const labels = table.label && labelsOf(table);
  const groups = table.group?.codes();
  const requireTarget = (value: number, name: string, row: number): number => {
    if (!Number.isNaN(value)) return value;
    throw fail(row, `no number in the column ${quoted(name)} of this series`, {
      code: "invalid-cell",
      column: name,
      expected: "a number",
      fixes: ["fill it, or leave out the rows of the series"],
    });
  };
  const merge = mergeRule(table, times);
  // In a table of a series for each row, a missing value is no observation.
  const observed = options.layout === "rows"
    ? channels.find(({ kind }) => kind.column === valueColumn)
    : undefined;
  const series = names.map((name, i): Series => {
    const allRows = order.subarray(starts[i], starts[i + 1]);
    const observedRows = observed ? allRows.filter((row) => !Number.isNaN(observed.at(row))) : allRows;
    const seriesRows = observedRows.length > 0 ? observedRows : allRows.subarray(0, 1);
    const singleValue = (
      what: string,
      column: string,
      value: (row: number) => number,
      format: (value: number) => string,
    ) =>
      onlyValue(
        seriesRows,
        value,
        (row, a, b) =>
          fail(row, `series ${quoted(name)} has two values of ${what}: ${format(a)} and ${format(b)}`, {
            code: "conflicting-rows",
            column,
          }),
      );
    const merged = merge(seriesRows, channels, name);
    channels.forEach(({ name, kind, at }, c) => {
      if (kind.role !== "static") return;
      const format = (value: number) => kind.category === undefined ? `${value}` : value ? "it" : "another";
      const only = singleValue(`the static column ${quoted(name)}`, kind.column, at, format);
      for (let j = c; j < merged.values.length; j += channels.length) merged.values[j] = only;
    });
    return {
      name,
      ...merged,
      label: labels ? labels.of(seriesRows, name) : -1,
      ...(targets.length > 0
        ? {
          targets: Float64Array.from(targets, ({ name, values }) =>
            requireTarget(
              singleValue(quoted(name), name, (row) => values[row], String),
              name,
              seriesRows[0],
            )),
        }
        : {}),
      ...(groups
        ? {
          group: table.group!.texts[
            singleValue("the group", options.group!, (row) =>
              groups[row] < 0 ? NaN : groups[row], (code) =>
              quoted(table.group!.texts[code]))
          ] ?? name,
        }
        : {}),
    };
  });
  merge.reportMerged();
  return {
    ...common(table, times),
    columns: Object.fromEntries(table.values.map(({ name, column }) => [name, contentOf(column.finish())])),
    channels: channels.map(({ name }) => name),
    kinds: channels.map(({ kind }) => kind),
    classes: labels?.classes ?? [],
    series,
    ...(targets.length > 0 ? { targets: targets.map(({ name }) => name) } : {}),
  };
}

/** Builds series from a table with one row per time and one column per series. */
export function wideSeries(table: TableColumns): SeriesSet {
  const { fail, rows } = table;
  const times = table.times.finish();
  const { order, unsorted } = sortedRows(undefined, 1, times.values);
  if (unsorted > 0) {
    table.notices.push(`${plural(unsorted, "row")} came before an earlier row: sorted by time`);
  }
  const merge = mergeRule(table, times);
  let missing = 0;
  const series = table.values.map((column): Series => {
    const values = numbersOf(column);
    const seriesRows = order.filter((row) => !Number.isNaN(values[row]));
    missing += rows - seriesRows.length;
    const kind = { column: column.name, role: "observed" } as const;
    const channel = { name: "value", kind, at: (row: number) => values[row] };
    return { name: column.name, ...merge(seriesRows, [channel], column.name), label: -1 };
  });
  merge.reportMerged();
  const empty = series.find(({ times }) => times.length === 0);
  if (empty) {
    throw fail(0, `all values are missing in the column ${quoted(empty.name)}, which is a series`, {
      code: "empty-series",
      column: empty.name,
      fixes: [(write) => `leave it out with ${write("ignore")}`],
    });
  }
  if (missing > 0) table.notices.push(`${plural(missing, "empty field")} taken for no observation`);
  return {
    ...common(table, times),
    channels: ["value"],
    kinds: [{ column: "value", role: "observed" }],
    classes: [],
    series,
  };
}

function common(table: TableColumns, times: Times) {
  const { options: { zone }, notices } = table;
  const isNumber = times.kind === "number";
  if (zone && isNumber) notices.push(`the zone ${zone} is not used: times are numbers`);
  if (times.isRecognised) {
    notices.push(
      `times are read as dates: as ${times.unit} since 1970 they are between the years 2001 and 2100`,
    );
  }
  return {
    name: table.file,
    times: times.kind,
    timeUnit: times.unit,
    ...(zone && !isNumber ? { zone } : {}),
    ignored: table.ignored,
    notices,
  };
}

/** Row indices sorted by series, then by time. */
function sortedRows(codes: Int32Array | undefined, series: number, times: Float64Array) {
  const starts = new Int32Array(series + 1);
  const code = (row: number) => codes ? codes[row] : 0;
  for (let row = 0; row < times.length; row++) starts[code(row) + 1]++;
  for (let i = 0; i < series; i++) starts[i + 1] += starts[i];
  const next = starts.slice();
  const order = new Int32Array(times.length);
  for (let row = 0; row < times.length; row++) order[next[code(row)]++] = row;
  let unsorted = 0;
  for (let i = 0; i < series; i++) {
    const rows = order.subarray(starts[i], starts[i + 1]);
    const late = rows.reduce(
      (count, row, j) => count + (j > 0 && times[row] < times[rows[j - 1]] ? 1 : 0),
      0,
    );
    unsorted += late;
    if (late > 0) rows.sort((a, b) => times[a] - times[b] || a - b);
  }
  return { order, starts, unsorted };
}

function numbersOf({ name, column }: NamedColumn): Float64Array {
  const content = column.finish();
  if (content.kind === "number") return content.values;
  throw new Error(`column "${name}" is not numeric`);
}

/** Channels of a column: one for a column of numbers, or one for each category. */
function channelsOf({ name, role, column }: NamedColumn, { ignored }: TableColumns): ChannelValues[] {
  const content = column.finish();
  const kind = {
    column: name,
    role: role === "known" || role === "static" || role === "covariate" ? role : "observed" as const,
  };
  if (content.kind === "number") return [{ name, kind, at: (row) => content.values[row] }];
  if (content.kind === "text") {
    const most = content.distinct > maxCategories ? `more than ${maxCategories}` : content.distinct;
    ignored.push(`column "${name}" (text of ${most} different values)`);
    return [];
  }
  return content.categories.map((category, code) => ({
    name: `${name}=${category}`,
    kind: { ...kind, category },
    at: (row) => content.codes[row] < 0 ? NaN : content.codes[row] === code ? 1 : 0,
  }));
}

function contentOf(values: Values): "number" | "text" | readonly string[] {
  return values.kind === "category" ? values.categories : values.kind;
}

function requireChannels(channels: readonly ChannelValues[], { fail, ignored }: TableColumns): void {
  if (channels.length > 0) return;
  throw fail(
    0,
    `no channel: all columns except names, times and targets were left out: ${ignored.join(", ")}`,
    { code: "missing-column" },
  );
}

/** Rejects a category whose channel would have the name of another column's channel. */
function requireDistinctChannels(channels: readonly ChannelValues[], { fail }: TableColumns): void {
  const columns = new Map<string, string>();
  for (const { name, kind: { column } } of channels) {
    const other = columns.get(name);
    if (other !== undefined) {
      throw fail(
        -1,
        `the columns ${quoted(other)} and ${quoted(column)} both make a channel ${quoted(name)}`,
        { code: "conflicting-columns", column, fixes: ["rename one"] },
      );
    }
    columns.set(name, column);
  }
}

/** The common value of some rows. NaN values are ignored; returns NaN if all rows are NaN. */
function onlyValue(
  rows: Int32Array,
  value: (row: number) => number,
  differ: (row: number, a: number, b: number) => Error,
): number {
  let shared = NaN;
  for (const row of rows) {
    const current = value(row);
    if (Number.isNaN(current) || current === shared) continue;
    if (!Number.isNaN(shared)) throw differ(row, shared, current);
    shared = current;
  }
  return shared;
}

/** Classes in alphabetical order, and a function that returns the class index of a series. */
function labelsOf({ label, options, fail }: TableColumns) {
  const codes = label!.codes();
  const texts = label!.texts;
  const column = options.target?.[0] ?? "label";
  const classes = texts.toSorted();
  const labelOfCode = texts.map((text) => classes.indexOf(text));
  return {
    classes,
    of(rows: Int32Array, name: string): number {
      const first = codes[rows[0]];
      for (const row of rows) {
        const code = codes[row];
        if (code < 0) {
          throw fail(row, 'expected a label, got ""', {
            code: "invalid-cell",
            column,
            expected: "a label",
            fixes: ["fill in the label, or leave out series without a label"],
          });
        }
        if (code !== first) {
          const [a, b] = [first, code].map((one) => quoted(texts[one]));
          throw fail(Math.max(row, rows[0]), `series ${quoted(name)} is labelled ${a} and ${b}`, {
            code: "conflicting-rows",
            column,
          });
        }
      }
      return labelOfCode[first];
    },
  };
}

/**
 * Returns a function that merges the rows of a series that have the same time. If a channel has different
 * values at one time, the option `duplicates` decides.
 */
function mergeRule(table: TableColumns, { values: times, kind, areRounded }: Times) {
  const { options: { duplicates = "refuse", zone, wide }, fail, notices } = table;
  let [merged, differing] = [0, 0];
  const combine = (
    rows: Int32Array,
    { name: channel, kind: { column }, at }: ChannelValues,
    name: string,
  ): number => {
    const values = Array.from(rows, at).filter((value) => !Number.isNaN(value));
    if (values.every((value) => value === values[0])) return values[0] ?? NaN;
    differing++;
    if (duplicates === "mean") return values.reduce((sum, value) => sum + value / values.length, 0);
    if (duplicates !== "refuse") return values.at(duplicates === "first" ? 0 : -1)!;
    const first = rows.find((row) => !Number.isNaN(at(row)))!;
    const second = rows.find((row) => !Number.isNaN(at(row)) && at(row) !== values[0])!;
    if (areRounded(first, second)) {
      throw fail(
        second,
        `series ${quoted(name)} has two times that differ in the file and are equal in float64, ${
          formatTime(times[first], kind)
        }: float64 has 53 bits, and is exact up to 9,007,199,254,740,992`,
        {
          code: "invalid-cell",
          option: "time",
          fixes: [
            "subtract the first time from all times of the table",
            (write) => `or merge such rows with ${write("duplicates")} mean, first or last`,
          ],
        },
      );
    }
    const again = zone && kind === "date" ? shownAgain(times[rows[0]], zone) : undefined;
    const fixes: ErrorText[] = [(write) => `set ${write("duplicates")} to mean, first or last`];
    if (!table.series && !wide) {
      fixes.push((write) => `if a column names the series, set ${write("series")} to that column`);
    }
    if (again) {
      fixes.push(`clocks of ${zone} were put back and show it twice: write times with offsets, as ${again}`);
    }
    throw fail(
      second,
      `series ${quoted(name)} has two observations at time ${
        formatTime(times[rows[0]], kind)
      } that differ in ` +
        quoted(channel),
      { code: "conflicting-rows", option: "duplicates", column, fixes },
    );
  };
  const merge = (
    rows: Int32Array,
    channels: readonly ChannelValues[],
    name: string,
  ): Pick<Series, "times" | "values"> => {
    const width = channels.length;
    let count = 0;
    for (let j = 0; j < rows.length; j++) {
      if (j === 0 || times[rows[j]] !== times[rows[j - 1]]) count++;
    }
    merged += rows.length - count;
    const [mergedTimes, values] = [new Float64Array(count), new Float64Array(count * width)];
    for (let j = 0, row = 0; j < rows.length; row++) {
      let end = j + 1;
      while (end < rows.length && times[rows[end]] === times[rows[j]]) end++;
      mergedTimes[row] = times[rows[j]];
      for (let c = 0; c < width; c++) {
        values[row * width + c] = end === j + 1
          ? channels[c].at(rows[j])
          : combine(rows.subarray(j, end), channels[c], name);
      }
      j = end;
    }
    return { times: mergedTimes, values };
  };
  return Object.assign(merge, {
    reportMerged() {
      if (merged === 0) return;
      const how = differing > 0
        ? `; of values that differ, the ${duplicates} was taken`
        : ", which did not differ";
      notices.push(`${plural(merged, "row")} merged with one of the same series and time${how}`);
    },
  });
}
