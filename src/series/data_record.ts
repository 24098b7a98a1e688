/**
 * Record of the data that a model is trained on: `data.json` in a run's folder. It is written once, when training starts, and
 * holds all that the model's predictions need beside its weights, and all that tells whether data are still the same.
 */
import { listed, type TimeKind, type TimeUnit } from "../data/format.ts";
import { DataError } from "../files/data_error.ts";
import {
  type ChannelKind,
  type ChannelStatistics,
  mapSplits,
  type SeriesSet,
  type Splits,
} from "../data/series.ts";

/** Record of the data that a model is trained on. */
export interface DataRecord {
  /** Version of this format. */
  readonly version: 1;
  /** Channels that the model reads, in its order. */
  readonly channels: readonly RecordedChannel[];
  /** Conversion of times to numbers: dates in seconds, then counted from the origin, then multiplied with the scale. */
  readonly time: {
    readonly kind: TimeKind;
    /** Notation in the table, where they come from one. */
    readonly unit?: TimeUnit;
    readonly origin: "first observation of each series";
    readonly scale: number;
  };
  /** Number of observations of the longest series, up to which shorter ones are held. */
  readonly length: number;
  /** The classes in the order of the model's outputs; none where nothing is classified. */
  readonly classes: readonly string[];
  /** Number of the series of each class in the part to train on, where they decide how much a class counts. */
  readonly counts?: readonly number[];
  /** Numbers of each series that the model finds, in the order of its outputs, with the statistics that scale them. */
  readonly targets?: readonly RecordedTarget[];
  /** Sizes of the windows that series are continued from, where they are. */
  readonly windows?: RecordedWindows;
  /** The series of each part, in the order in which the model sees them. */
  readonly split: Splits<readonly RecordedSeries[]>;
  /** Columns that were left out, each with the reason. */
  readonly ignored: readonly string[];
  /** Contents of each column of the table, so that another is read in the same way. */
  readonly columns?: SeriesSet["columns"];
}

/** A channel, with the mean and deviation of its values in the part to train on, which bring it to zero mean and unit deviation. */
export interface RecordedChannel extends ChannelStatistics {
  /** Name of the channel: that of its column, or the column and the category that it marks. */
  readonly name: string;
  /** Kind of its column's values. Marks of a category are not scaled. */
  readonly kind: "number" | "category";
  /** Name of its column, where that is another. */
  readonly column?: string;
  /** When its values are known; `"observed"` by default. */
  readonly role?: ChannelKind["role"];
}

/** A number of each series, with the mean and deviation of those in the part to train on. */
export interface RecordedTarget extends ChannelStatistics {
  /** Name of its column. */
  readonly name: string;
}

/** Record of how series are continued. */
export interface RecordedWindows {
  /** Time from one step to the next: seconds, or the times' own unit. */
  readonly gap: number;
  /** Number of steps that are given. */
  readonly context: number;
  /** Number of steps that follow. */
  readonly horizon: number;
  /** Number of steps after which series resemble themselves; 1 where none is known. */
  readonly season: number;
  /**
   * Mean absolute difference of values a season apart in the part to train on, for each channel, in its deviations: what MASE
   * measures errors by.
   */
  readonly seasonalErrors: readonly number[];
  /** Last time of the part to train on, and of that to validate on. */
  readonly until: { readonly train: number; readonly validation: number };
  /** Digest of each series up to the last time to train on. */
  readonly trained: readonly string[];
}

/** A series as it was when training started. */
export interface RecordedSeries {
  /** Name of the series. */
  readonly name: string;
  /** Position of the series in the data, from 0. */
  readonly position: number;
  /** First 16 hexadecimal digits of a SHA-256 of its times, its values and its class. */
  readonly digest: string;
}

const version = 1;

/** Rejects a record of another version of the format. @param file Its path, for the message. */
export function checkDataRecord(record: { readonly version?: unknown }, file: string): void {
  if (record.version === version) return;
  throw new Error(
    `${file}: in version ${record.version} of its format, and this Weft reads version ${version}: train again`,
  );
}

/**
 * The position among a file's columns of each channel of a record, found by its name.
 *
 * @param file The file's name, for the message.
 * @param columns Those that hold values, in the file's order.
 * @param kinds Where they come from, for the message.
 * @throws {DataError} If one is missing or unknown.
 */
export function channelPlaces(
  file: string,
  columns: readonly string[],
  { channels }: DataRecord,
  kinds?: readonly ChannelKind[],
): number[] {
  const names = channels.map(({ name }) => name);
  const columnOf = new Map(channels.map(({ name, column = name }) => [name, column]));
  const absent = [
    ...new Set(names.filter((name) => !columns.includes(name)).map((name) => columnOf.get(name)!)),
  ];
  const unknown = [
    ...new Set(columns.flatMap((name, i) => columnOf.has(name) ? [] : kinds?.[i].column ?? name)),
  ];
  if (absent.length + unknown.length === 0) return names.map((name) => columns.indexOf(name));
  const faults = [
    ...(absent.length > 0 ? [`no column ${listed(absent, Infinity)}`] : []),
    ...(unknown.length > 0 ? [`unknown column ${listed(unknown, Infinity)}`] : []),
  ];
  throw new DataError(
    `${file}: ${faults.join(", ")}; the model reads ${
      listed([...new Set(columnOf.values())], Infinity)
    }, in any order: rename columns` +
      (unknown.length > 0
        ? ", or take out those that are unknown"
        : ", or add them, empty where nothing is known"),
  );
}

/**
 * Row-major values with other columns, or in another order.
 *
 * @param width The number of columns that there are.
 */
export function takeColumns(values: Float64Array, width: number, places: readonly number[]): Float64Array {
  const rows = values.length / width;
  return Float64Array.from(
    { length: rows * places.length },
    (_, i) => values[Math.floor(i / places.length) * width + places[i % places.length]],
  );
}

/**
 * Refuses data that are not those that a record was made of, and says what differs.
 *
 * @param file The data's name, for the message.
 * @param now All series of the data as they are now.
 * @throws {Error} If a series is new, gone or changed.
 */
export function requireSame(file: string, now: readonly RecordedSeries[], { split }: DataRecord): void {
  const before = new Map(parts(split).map(({ name, digest }) => [name, digest]));
  const after = new Map(now.map(({ name, digest }) => [name, digest]));
  const differences = [
    {
      what: "changed",
      names: [...after.keys()].filter((name) => before.has(name) && before.get(name) !== after.get(name)),
    },
    { what: "gone", names: [...before.keys()].filter((name) => !after.has(name)) },
    { what: "new", names: [...after.keys()].filter((name) => !before.has(name)) },
  ].filter(({ names }) => names.length > 0);
  if (differences.length === 0) return;
  const told = differences.map(({ what, names }) => `${names.length} series ${what} (${listed(names)})`);
  throw new Error(
    `${file}: not the data that the run was started with: ${
      told.join(", ")
    }; a run goes on, and is tested, with the ` +
      "data that it was started with",
  );
}

/** Number of series, of those given, that a model was trained on. */
export function countSeen(series: readonly Pick<RecordedSeries, "digest">[], { split }: DataRecord): number {
  const seen = new Set(split.train.map(({ digest }) => digest));
  return series.filter(({ digest }) => seen.has(digest)).length;
}

/** A record in words: the number of series of each part, windows, channels, times and classes. */
export function describeRecord(record: DataRecord): string {
  const { channels, time, classes, targets = [], windows, split } = record;
  const { train, validation, test } = mapSplits(split, ({ length }) => length);
  const timeOf = (value: number) => time.kind === "date" ? new Date(1000 * value).toISOString() : `${value}`;
  return [
    windows
      ? `${train} series, up to ${timeOf(windows.until.train)} to train, up to ${
        timeOf(windows.until.validation)
      } to validate, the rest to test; ${windows.horizon} steps of ${
        Number(windows.gap.toPrecision(6))
      } from the ${windows.context} before, ${
        windows.season > 1 ? `a season of ${windows.season}` : "no season"
      }`
      : `${train + validation + test} series, ${train} to train, ${validation} to validate, ${test} to test`,
    `channels ${channels.map(({ name }) => name).join(", ")}`,
    `times are ${time.kind}s`,
    ...(classes.length > 0 ? [`classes ${classes.join(", ")}`] : []),
    ...(targets.length > 0 ? [`numbers ${targets.map(({ name }) => name).join(", ")}`] : []),
  ].join("; ");
}

function parts<T>({ train, validation, test }: Splits<readonly T[]>): T[] {
  return [...train, ...validation, ...test];
}
