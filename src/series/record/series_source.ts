/** Sources of series: files, tables in memory, and sets of series. */
import type { ReadOptions } from "../../data/table/options.ts";
import { describe } from "../../device/describe.ts";
import { DataError } from "../../device/errors.ts";
import type { SeriesSet } from "../../data/series.ts";
import { nameOfTable, type TableSource } from "../../data/table/source.ts";

/**
 * Source of series: the path of a table, zip file or folder, a `File` or `Blob` with a table, a table in memory,
 * or a set of series.
 */
export type SeriesSource = TableSource | SeriesSet;

/** Kind of target: classes, numeric targets, channels to forecast, or no target. */
export type TargetKind = NonNullable<ReadOptions["targets"]>;

/** Whether a source is a set of series. */
export function isSeriesSet(source: SeriesSource): source is SeriesSet {
  return typeof source !== "string" && "series" in source;
}

/** Name of a source, for messages. */
export function nameOfSource(source: SeriesSource): string {
  return nameOfTable(source as TableSource);
}

/** @throws {TypeError} If a value is not a source. */
export function checkSource(operation: string, source: unknown, name = "data"): void {
  if (typeof source === "string" && source !== "" || source instanceof Blob) return;
  const { name: sourceName, rows, columns, bytes, text, series } = (source ?? {}) as Record<string, unknown>;
  const isTable = typeof (rows as Iterable<unknown> | undefined)?.[Symbol.iterator] === "function" ||
    typeof columns === "object" && columns !== null || bytes instanceof Uint8Array ||
    typeof text === "string";
  if (typeof sourceName === "string" && (isTable || Array.isArray(series))) return;
  throw new TypeError(
    `${operation}: ${name} is ${
      describe(source)
    }; expected a path, a File, { name, rows }, { name, columns }, { name, text }, { name, bytes } or a SeriesSet`,
  );
}

/**
 * Rejects a set of series that is not consistent. Sets that were read from tables are consistent.
 *
 * @param kind Kind of the targets that the set must contain.
 * @throws {DataError} With the name of the first series that is wrong.
 */
export function checkSet(
  { name, channels, classes, targets = [], series }: SeriesSet,
  kind?: TargetKind,
): void {
  const fail = (series: string, actual: string, expected: string): never => {
    throw new DataError("invalid-row", `${name}: series "${series}" has ${actual}; expected ${expected}`, {
      expected,
    });
  };
  if (kind === "numbers" && targets.length === 0) {
    const expected = "the names of the numbers to predict in targets";
    throw new DataError("missing-column", `${name}: no targets; expected ${expected}`, {
      option: "target",
      expected,
    });
  }
  for (const one of series) {
    const count = one.times.length * channels.length;
    if (one.values.length !== count) {
      fail(one.name, `${one.values.length} values`, `${count}: one for each time and channel`);
    }
    if (one.times.some((time, i) => !(i === 0 ? Number.isFinite(time) : time > one.times[i - 1]))) {
      fail(one.name, "times that do not ascend", "finite, ascending times");
    }
    if (kind === "classes" && classes[one.label] === undefined) {
      fail(one.name, `the label ${one.label}`, `the index of one of ${classes.length} classes`);
    }
    if (kind === "numbers" && one.targets?.length !== targets.length) {
      fail(one.name, `${one.targets?.length ?? 0} targets`, `${targets.length}`);
    }
  }
}
