/** Collects the rows of one or several tables, and builds series from them. */
import { DataFormatError, type FormatErrorDetails, listed, plural, quoted, requireZone } from "../format.ts";
import type { ErrorText } from "../../device/errors.ts";
import { growing } from "../../device/memory/growing.ts";
import type { SeriesSet } from "../series.ts";
import {
  cellReader,
  labelColumn,
  type RowError,
  type TextColumn,
  textColumn,
  valueColumn,
} from "./columns.ts";
import { longSeries, wideSeries } from "./assemble.ts";
import {
  type Cell,
  type MissingRule,
  missingRule,
  type ReadOptions,
  type RowSink,
  type TableOptions,
  type TextNotation,
  textOf,
} from "./options.ts";
import { rowsLayout } from "./rows_layout.ts";
import { absent, isUnnamed, type Role, rolesOf } from "./roles.ts";
import type { NamedColumn, TableColumns } from "./table_columns.ts";
import { type TimeColumn, timeColumn } from "./time_column.ts";

/** Collects the rows of tables with the same columns. */
export class TableBuilder {
  private names: readonly string[] = [];
  private roles: Role[] = [];
  private readonly sinks = new Map<string, (cell: Cell, row: number) => void>();
  private readonly lines = growing(Int32Array);
  private readonly files: { file: string; unit: "line" | "row"; firstRow: number }[] = [];
  private readonly values: NamedColumn[] = [];
  private readonly unnamed: NamedColumn[] = [];
  private times?: TimeColumn;
  private texts: Partial<Record<Role, TextColumn>> = {};
  private rows = 0;
  private emptyRows = 0;
  private readonly missing: MissingRule;
  /** Remarks for the user of the table. */
  readonly notices: string[] = [];

  /**
   * @param maxFields Maximum number of fields of all tables together.
   * @param maxSeries Maximum number of series named in a column.
   * @throws {OptionError} If the time zone in the options does not exist.
   */
  constructor(
    private readonly name: string,
    private readonly options: TableOptions & ReadOptions,
    private readonly maxFields = 2 ** 27,
    private readonly maxSeries = Infinity,
  ) {
    if (options.zone !== undefined) requireZone(options.zone);
    this.missing = missingRule(options);
  }

  /**
   * Returns a sink for the rows of a file.
   *
   * @param notation Notation of a text table. Files of other formats mark which values are texts.
   */
  file(file: string, unit: "line" | "row", notation?: TextNotation): RowSink {
    this.files.push({ file, unit, firstRow: this.rows });
    const { maxFields } = this;
    const isFirst = this.files.length === 1;
    let order: (((cell: Cell, row: number) => void) | undefined)[] = [];
    let width = 0;
    const sink: RowSink = {
      header: (names) => {
        width = names.length;
        if (isFirst) this.addColumns(names, file);
        else this.requireColumns(names, file);
        this.notation = notation;
        order = names.map((name, i) => this.sinks.get(keyOf(name, i)));
      },
      row: (cells, line) => {
        if (cells.every((cell) => textOf(cell) === "")) {
          this.emptyRows++;
          return;
        }
        const row = this.rows++;
        this.lines.push(line);
        if (this.rows * width > maxFields) {
          throw this.fail(row, `more than ${maxFields} fields`, {
            code: "too-large",
            fixes: ["remove columns or rows"],
          });
        }
        for (let i = 0; i < order.length; i++) order[i]?.(cells[i], row);
        if (this.texts.series && this.texts.series.texts.length > this.maxSeries) {
          throw this.fail(row, `more than ${this.maxSeries} series`, {
            code: "too-large",
            fixes: ["send the series in parts"],
          });
        }
      },
    };
    return this.options.layout === "rows"
      ? rowsLayout(sink, file, this.options, this.missing, notation === undefined)
      : sink;
  }

  /** Notation of the current file. */
  private notation?: TextNotation;
  private readonly cells = cellReader(() => this.notation);

  /** Names of the columns so far. */
  get columns(): readonly string[] {
    return this.names;
  }

  /** Whether a column is read. */
  readonly isWanted = (name: string): boolean => !(this.options.ignore ?? []).includes(name);

  /** Makes an error about a row. */
  readonly fail: RowError = (row, text, details) => {
    const { file, unit } = this.files.findLast(({ firstRow }) => firstRow <= row) ?? this.files[0];
    return new DataFormatError(file, this.lines.view()[row] ?? 1, text, { ...details, unit });
  };

  /** Builds the series from all rows. */
  finish(): SeriesSet {
    const { file } = this.files[0];
    if (this.rows === 0) {
      throw new DataFormatError(file, 1, "no rows after the names of the columns", {
        code: "empty-table",
        expected: "a row for each observation",
        fixes: ["add the rows, or name another file"],
      });
    }
    this.requireIgnored(file);
    const { options, notices, fail, rows, cells } = this;
    for (const { column } of this.values) notices.push(...column.notices());
    notices.push(...cells.notices());
    if (this.emptyRows > 0) notices.push(`${plural(this.emptyRows, "empty row")} left out`);
    const ignored = [
      ...this.names.filter((_, i) => this.roles[i] === "ignored").map((name) =>
        `column "${name}" (${options.ignore?.includes(name) ? "as asked" : "a target, which is not read"})`
      ),
      ...this.names.filter((name) => options.columns?.[name] === "text").map((name) =>
        `column "${name}" (text)`
      ),
      ...this.unnamed.map((column) => this.unnamedReason(column)),
    ];
    const columns: TableColumns = {
      file: this.name,
      options,
      rows,
      times: this.times!,
      series: this.texts.series ?? this.fileNames(),
      label: this.texts.label,
      group: this.texts.group,
      values: this.values,
      onlyName: stem(this.files[0].file),
      fail,
      ignored,
      notices,
    };
    return options.wide ? wideSeries(columns) : longSeries(columns);
  }

  /** Rejects a missing column of the option `ignore`. If an earlier table had it, this table may lack it. */
  private requireIgnored(file: string): void {
    const { ignore = [], columns } = this.options;
    const missing = columns ? undefined : ignore.find((name) => !this.names.includes(name));
    if (missing === undefined) return;
    const fail = (...problem: [ErrorText, FormatErrorDetails]): never => {
      throw new DataFormatError(file, 1, ...problem);
    };
    absent(fail, missing, "ignore", this.names);
  }

  /** Series of each row if there are several files. Each file is a series. */
  private fileNames(): TextColumn | undefined {
    if (this.files.length === 1 || this.options.wide) return undefined;
    const column = textColumn("series", this.fail);
    this.files.forEach(({ file, firstRow }, i) => {
      const end = this.files[i + 1]?.firstRow ?? this.rows;
      for (let row = firstRow; row < end; row++) column.add(stem(file), row);
    });
    this.notices.push(`no column "series": each of the ${this.files.length} files is a series`);
    return column;
  }

  private addColumns(names: readonly string[], file: string): void {
    const { options, fail, cells, missing } = this;
    this.roles = rolesOf(names, file, options);
    this.names = names;
    names.forEach((name, i) => {
      const role = this.roles[i];
      const key = keyOf(name, i);
      if (role === "ignored" || options.columns?.[name] === "text" || this.sinks.has(key)) return;
      if (role === "time") {
        this.times = timeColumn({
          name,
          unit: options.timeUnit,
          numericTimes: options.numericTimes,
          zone: options.zone,
          cells,
        }, fail);
        this.sinks.set(key, this.times.add);
      } else if (role === "series" || role === "label" || role === "group") {
        const column = role === "label"
          ? labelColumn({ name, cells, missing, classes: options.classes }, fail)
          : textColumn(name, fail);
        this.texts[role] = column;
        this.sinks.set(key, column.add);
      } else {
        // Object.hasOwn, since a column may be called "constructor".
        const kindOrCategories = Object.hasOwn(options.columns ?? {}, name)
          ? options.columns![name] as "number" | readonly string[]
          : undefined;
        const isCategory = options.category?.includes(name) ||
          kindOrCategories !== undefined && kindOrCategories !== "number";
        const column = valueColumn({
          name,
          cells,
          missing,
          kind: role === "target" || options.wide && role === "channel"
            ? "number"
            : isCategory
            ? "category"
            : kindOrCategories && "number",
          categories: kindOrCategories === "number" ? undefined : kindOrCategories,
        }, fail);
        (role === "unnamed" ? this.unnamed : this.values).push({ name: key, role, column });
        this.sinks.set(key, column.add);
      }
      // A JSON member that first appears in a later row is missing in the rows before.
      for (let row = 0; row < this.rows; row++) this.sinks.get(key)!(undefined, row);
    });
  }

  private requireColumns(names: readonly string[], file: string): void {
    const absent = this.names.filter((name) => !names.includes(name));
    const other = names.filter((name) => !this.names.includes(name));
    if (absent.length + other.length === 0) return;
    const faults = [
      ...(absent.length > 0 ? [`no column ${listed(absent, 12)}`] : []),
      ...(other.length > 0 ? [`another column ${listed(other, 12)}`] : []),
    ];
    throw new DataFormatError(
      file,
      1,
      `${faults.join(", ")} than in ${this.files[0].file}; expected the same columns`,
      absent.length > 0
        ? { code: "missing-column", column: absent[0] }
        : { code: "unknown-column", column: other[0] },
    );
  }

  /** The reason why a column without a name is ignored. Throws if the column is neither empty nor row numbers. */
  private unnamedReason({ name, column }: NamedColumn): string {
    const index = Number(name.slice(1));
    const heading = this.names[index];
    const title = heading === "" ? `column ${index + 1}, which has no name` : `column ${quoted(heading)}`;
    const content = column.finish();
    if (content.kind === "number" && content.values.every(Number.isNaN)) return `${title} (empty)`;
    const counts = content.kind === "number" &&
      content.values.every((value) => Number.isInteger(value) && value >= 0);
    if (index === 0 && counts) return `${title} (row numbers)`;
    throw this.fail(-1, `${title}, is neither empty nor row numbers`, {
      code: "unknown-column",
      column: heading,
      fixes: ["name the column, or remove it"],
    });
  }
}

/** Key of a column: its name, or its index if it is unnamed. */
function keyOf(name: string, index: number): string {
  return isUnnamed(name) ? `\0${index}` : name;
}

/** Name of a file without folder and extension. */
function stem(file: string): string {
  return file.replace(/^.*[\\/]/, "").replace(/(\.(csv|tsv|txt|jsonl|ndjson|parquet|json))?(\.gz)?$/i, "");
}
