/**
 * Converts series of a file to the form of a record: the same channels in the same order, and the same
 * classes.
 */
import { digestOf } from "../../files/digest.ts";
import { listed, type TimeUnit } from "../../data/format.ts";
import type { SeriesSet } from "../../data/series.ts";
import type { ReadOptions, TableOptions } from "../../data/table/options.ts";
import { inRecordedTimes } from "../record/calendar.ts";
import type { SeriesSettings } from "../record/settings.ts";
import {
  channelPlaces,
  type DataRecord,
  type RecordedForm,
  type RecordedSeries,
  takeColumns,
} from "../record/data_record.ts";
import { DataError } from "../../device/errors.ts";

/**
 * Options for reading the table of a run. With a record, options for reading this or another table in the same way.
 *
 * @param other Options that differ for the other table.
 */
export function tableOptions(
  { table }: SeriesSettings,
  record?: DataRecord,
  other?: TableOptions,
): TableOptions & ReadOptions {
  const recorded = record && {
    columns: record.columns ?? {},
    classes: record.classes,
    numericTimes: numericTimesOf(record),
  };
  return { ...table, ...other, ...recorded };
}

/**
 * Notation of numeric times. Undefined if the record has written dates (with hyphens, or of eight digits) or
 * months.
 */
function numericTimesOf({ time }: DataRecord): TimeUnit | undefined {
  return time.unit === "date" || time.unit === "month" ? undefined : time.unit ?? "number";
}

/** Describes the times of a set for a record. `scale` is the factor that the model applies to them. */
export function recordTimes({ times, timeUnit }: SeriesSet, scale: number): DataRecord["time"] {
  return {
    kind: times,
    ...(timeUnit ? { unit: timeUnit } : {}),
    origin: "first observation of each series",
    scale,
  };
}

/** Returns the set unchanged. @throws {DataError} If a series has no values at all. */
export function requireValues(set: SeriesSet): SeriesSet {
  const { name, series } = set;
  const empty = series.filter(({ values }) => values.every(Number.isNaN));
  if (empty.length === 0) return set;
  throw new DataError(
    "empty-series",
    `${name}: all values are missing in the series ${listed(empty.map(({ name }) => name))}`,
    { fixes: ["leave such series out"] },
  );
}

/**
 * Reorders the channels of a set to match the record, by name. Dates become times of the record's calendar.
 *
 * @throws {DataError} If a channel is missing or unknown, or if only one of set and record has dates as
 * times.
 */
export function inRecordedOrder(read: SeriesSet, record: RecordedForm): SeriesSet {
  const { time } = record;
  const set = inRecordedTimes(read, time);
  const columns = channelPlaces(set.name, set.channels, record, set.kinds);
  if (set.times !== time.kind) {
    throw new DataError(
      "invalid-cell",
      `${set.name}: times are ${set.times}s, expected ${time.kind}s as in training`,
      { expected: `${time.kind}s`, fixes: [`write them as ${time.kind}s`] },
    );
  }
  return {
    ...set,
    channels: columns.map((column) => set.channels[column]),
    series: set.series.map((one) => ({ ...one, values: takeColumns(one.values, columns.length, columns) })),
  };
}

/**
 * Converts the labels of a set to positions in the classes of the record.
 *
 * @throws {DataError} If a series has no label, or a label that is not in the record.
 */
export function withRecordedClasses(set: SeriesSet, { classes }: Pick<DataRecord, "classes">): SeriesSet {
  if (set.classes.length === 0) {
    const expected = "the class of each series, to compare predictions with";
    throw new DataError("missing-column", `${set.name}: no column "label"; expected ${expected}`, {
      option: "target",
      column: "label",
      expected,
      fixes: [(write) => `name the column of the classes with ${write("target")}`],
    });
  }
  const unknown = set.classes.filter((name) => !classes.includes(name));
  if (unknown.length > 0) {
    const expected = listed(classes, Infinity);
    throw new DataError("unknown-label", `${set.name}: unknown label ${listed(unknown)}`, {
      expected,
      fixes: [`the labels of the model are ${expected}: rename the label, or leave out its series`],
    });
  }
  const recordedLabels = set.classes.map((name) => classes.indexOf(name));
  return { ...set, classes, series: set.series.map((one) => ({ ...one, label: recordedLabels[one.label] })) };
}

/** @throws {DataError} If the number of targets differs from the record. */
export function withTargets(set: SeriesSet, targets: NonNullable<DataRecord["targets"]>): SeriesSet {
  const { name, targets: actual = [] } = set;
  if (actual.length === targets.length) return set;
  const expected = `a column for each of ${listed(targets.map(({ name }) => name), Infinity)}, in this order`;
  throw new DataError("missing-column", `${name}: targets ${listed(actual)}; expected ${expected}`, {
    option: "target",
    expected,
    fixes: [(write) => `name them with ${write("target")}`],
  });
}

/** Name, position and digest of each series of a set, for a record. */
export async function recordSeries({ classes, series }: SeriesSet): Promise<RecordedSeries[]> {
  return await Promise.all(
    series.map(async ({ name, times, values, label, targets }, position) => ({
      name,
      position,
      digest: await digestOf(classes[label] ?? "", times, values, ...(targets ? [targets] : [])),
    })),
  );
}
