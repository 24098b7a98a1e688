/** Validation and test sets that the user gives as separate files. */
import { formatTime } from "../../data/format.ts";
import type { Series, SeriesSet } from "../../data/series.ts";
import type { ReadOptions } from "../../data/table/options.ts";
import { largest } from "../../device/min_max.ts";
import { DataError, OptionError } from "../../device/errors.ts";
import { inRecordedOrder, withRecordedClasses } from "./recorded_series.ts";
import type { SeriesSource } from "../record/series_source.ts";
import type { DataSources } from "../record/settings.ts";

/** Reads a source. `columns` are the content of the columns in the training table. */
type ReadPart = (
  source: SeriesSource,
  columns: Pick<ReadOptions, "columns" | "numericTimes" | "classes">,
) => Promise<SeriesSet>;

/** Reads the sets of the options `validation` and `test` in the form of a set: the same channels, times and classes. */
async function readHeldOut(
  set: SeriesSet,
  sources: Pick<DataSources, "validation" | "test">,
  read: ReadPart,
): Promise<{ validation?: SeriesSet; test?: SeriesSet }> {
  if (sources.test !== undefined && set.testFrom !== undefined) {
    throw new OptionError(
      "conflicting-options",
      (write) => `${set.name} already has a test set; leave out ${write("test")}`,
      { option: "test" },
    );
  }
  const numericTimes = set.times === "number" || set.timeUnit !== set.times ? set.timeUnit : undefined;
  const part = async (source: SeriesSource | undefined) =>
    source === undefined
      ? undefined
      : inOrderOf(set, await read(source, { columns: set.columns, numericTimes, classes: set.classes }));
  const [validation, test] = [await part(sources.validation), await part(sources.test)];
  return { ...(validation && { validation }), ...(test && { test }) };
}

/** Returns a set with the channels, times and classes of another one. */
function inOrderOf({ channels, kinds, times, classes }: SeriesSet, set: SeriesSet): SeriesSet {
  const columns = channels.map((name, i) => ({ name, column: kinds?.[i].column }));
  const ordered = inRecordedOrder(set, { channels: columns, time: { kind: times } });
  return classes.length > 0 ? withRecordedClasses(ordered, { classes }) : ordered;
}

/**
 * Appends the series of the options `validation` and `test` to a set. Their names begin with `validation` and
 * `test`, since the files may use the same names.
 */
export async function withHeldOutSeries(
  set: SeriesSet,
  sources: Pick<DataSources, "validation" | "test">,
  read: ReadPart,
): Promise<SeriesSet> {
  const { validation, test } = await readHeldOut(set, sources, read);
  const named = (part: string, { series }: SeriesSet) =>
    series.map((one) => ({ ...one, name: `${part} ${one.name}` }));
  const training = set.series.slice(0, set.testFrom);
  const published = set.series.slice(training.length);
  const checked = validation ? named("validation", validation) : [];
  const tested = test ? named("test", test) : published;
  return {
    ...set,
    series: [...training, ...checked, ...tested],
    ...(validation ? { validationFrom: training.length } : {}),
    ...(tested.length > 0 ? { testFrom: training.length + checked.length } : {}),
    notices: [...set.notices ?? [], ...validation?.notices ?? [], ...test?.notices ?? []],
  };
}

/** Series of a forecast with the rows of given parts, and the last time before each part. */
export interface ExtendedSet {
  readonly set: SeriesSet;
  /** Last time of the rows before the given validation part, and before the given test part. */
  readonly until: { readonly train?: number; readonly validation?: number };
}

/**
 * Appends the rows of the options `validation` and `test` to the series of the same name. Forecasts are validated
 * and tested on these rows.
 *
 * @throws {DataError} If a row of a part is not later than every row before the part.
 */
export async function withLaterRows(
  set: SeriesSet,
  sources: Pick<DataSources, "validation" | "test">,
  read: ReadPart,
): Promise<ExtendedSet> {
  const { validation, test } = await readHeldOut(set, sources, read);
  if (validation && !test) {
    throw new OptionError(
      "missing-option",
      (write) =>
        `forecasts with ${write("validation")} also need ${
          write("test")
        }: the rows after the validation rows`,
      { option: "test" },
    );
  }
  const checked = validation ? appended(set, validation) : set;
  return {
    set: test ? appended(checked, test) : set,
    until: {
      ...(validation ? { train: lastTime(set) } : {}),
      ...(test ? { validation: lastTime(checked) } : {}),
    },
  };
}

function lastTime({ series }: SeriesSet): number {
  return largest(series.map(({ times }) => times.at(-1) ?? -Infinity));
}

/** Appends later rows to the series of the same name. */
function appended(set: SeriesSet, part: SeriesSet): SeriesSet {
  const last = lastTime(set);
  // In a table without names, the only series has the name of its file.
  const isOnly = set.series.length === 1 && part.series.length === 1;
  const later = isOnly ? { ...part, series: [{ ...part.series[0], name: set.series[0].name }] } : part;
  const early = later.series.find(({ times }) => times[0] <= last);
  if (early) {
    const expected = `a time after ${formatTime(last, set.times)}, the last one of ${set.name}`;
    throw new DataError(
      "conflicting-rows",
      `${later.name}: series "${early.name}" begins at ${
        formatTime(early.times[0], later.times)
      }; expected ${expected}`,
      { expected },
    );
  }
  const added = new Map(later.series.map((one) => [one.name, one]));
  const before = new Set(set.series.map(({ name }) => name));
  const series = set.series.map((one): Series => {
    const rows = added.get(one.name);
    return rows
      ? { ...one, times: joined(one.times, rows.times), values: joined(one.values, rows.values) }
      : one;
  });
  return { ...set, series: [...series, ...later.series.filter(({ name }) => !before.has(name))] };
}

function joined(a: Float64Array, b: Float64Array): Float64Array {
  const both = new Float64Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}
