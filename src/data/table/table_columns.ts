import type { RowError, TextColumn, ValueColumn } from "./columns.ts";
import type { TimeColumn } from "./time_column.ts";
import type { ReadOptions, TableOptions } from "./options.ts";
import type { Role } from "./roles.ts";

/** A column of values and its role. */
export interface NamedColumn {
  readonly name: string;
  readonly role: Role;
  readonly column: ValueColumn;
}

/** All rows of a table, by column. */
export interface TableColumns {
  readonly file: string;
  readonly options: TableOptions & ReadOptions;
  /** Number of rows. */
  readonly rows: number;
  readonly times: TimeColumn;
  /** Names of the series. Undefined if all rows belong to one series. */
  readonly series?: TextColumn;
  readonly label?: TextColumn;
  readonly group?: TextColumn;
  readonly values: readonly NamedColumn[];
  /** Name of the only series of a table without a column of series names. */
  readonly onlyName: string;
  readonly fail: RowError;
  readonly ignored: string[];
  readonly notices: string[];
}
