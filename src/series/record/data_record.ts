/**
 * Record of a model's training data: `data.json` in a run's folder. It is written once, when training starts.
 * It contains everything that predictions need besides the weights, and the digests that show whether the
 * data have changed.
 */
import { formatSteps } from "../../charts/format.ts";
import { listed, type TimeKind, type TimeUnit } from "../../data/format.ts";
import { describeRecordedTime, type RecordedCalendar } from "./calendar.ts";
import { DataError, WeftError } from "../../device/errors.ts";
import type { ChannelStatistics } from "../../data/scaling.ts";
import type { LinearModel } from "../math/linear_model.ts";
import type { RecordedTraining } from "./recorded_training.ts";
import type { RecordedAsinh } from "./scaled_values.ts";
import { type ChannelKind, isUnnamed, mapSplits, type SeriesSet, type Splits } from "../../data/series.ts";

/** Record of a model's training data. */
export interface DataRecord {
  /**
   * Version of this format; new runs write {@linkcode recordVersion}. Version 1 has no `training` and no `pace`:
   * its models have one member and a slope scale of 1. Such a run of a user's own series can be used, but not
   * resumed. In versions 1 and 2, `random-convolutions` has one draw of features, without bounds. In versions 1 to 3,
   * `boosted-trees` has no features of equal parts.
   */
  readonly version: 1 | 2 | 3 | 4;
  /** Channels of the model, in the order of its inputs. */
  readonly channels: readonly RecordedChannel[];
  /** Conversion of times to numbers: dates to seconds, then minus the origin, then times the scale. */
  readonly time: {
    readonly kind: TimeKind;
    /** Notation in the table, if the data are from a table. */
    readonly unit?: TimeUnit;
    /** Origin of the times: zero if all series share a clock that starts at about zero. */
    readonly origin: "first observation of each series" | "zero";
    readonly scale: number;
    /** Grid of the times, if models along splines read a row at each of its points. */
    readonly grid?: RecordedGrid;
    /** Calendar of the steps of a forecast. Without it, a step is a fixed duration, or a share of a month. */
    readonly calendar?: RecordedCalendar;
  };
  /** Number of observations of the longest series. Shorter series are padded to this length. */
  readonly length: number;
  /** Classes in the order of the model's outputs. Empty unless the task is classification. */
  readonly classes: readonly string[];
  /** Number of training series of each class, if they decide the class weights. */
  readonly counts?: readonly number[];
  /** Numeric targets in the order of the model's outputs, with the statistics that scale them. */
  readonly targets?: readonly RecordedTarget[];
  /** Sizes of the windows, for forecasts. */
  readonly windows?: RecordedWindows;
  /** How the model is trained, for classification and regression of users' own series. */
  readonly training?: RecordedTraining;
  /** How rows become the steps of the model; without it each row is a step, or the settings have a window. */
  readonly condensing?: RecordedCondensing;
  /** Pace of a typical training series, for models of differential equations. */
  readonly pace?: RecordedPace;
  /** Linear model of summaries, whose outputs are added to those of the model. */
  readonly linear?: LinearModel;
  /** Series of each part, in the order of the model's data. */
  readonly split: Splits<readonly RecordedSeries[]>;
  /** Ignored columns, each with the reason. */
  readonly ignored: readonly string[];
  /** Content of each column of the table, so that another table is read in the same way. */
  readonly columns?: SeriesSet["columns"];
  /** Ranges of the data that the model learned from. Without them, predictions have no warnings. */
  readonly ranges?: RecordedRanges;
}

/** Range of some numbers, with their mean and standard deviation. The standard deviation of a constant is 1. */
export interface RecordedRange extends ChannelStatistics {
  /** Smallest number. */
  readonly low: number;
  /** Largest number. */
  readonly high: number;
}

/** Ranges of the training and the validation set; null without a known number. */
export interface RecordedRanges {
  /** Values of each channel; null for the channels of a category. */
  readonly channels: readonly (RecordedRange | null)[];
  /** Values of each target. */
  readonly targets?: readonly (RecordedRange | null)[];
  /** First and last times of the series. */
  readonly times: RecordedRange | null;
  /** Times from the first to the last observation. */
  readonly durations: RecordedRange | null;
  /** Numbers of observations. */
  readonly lengths: RecordedRange | null;
  /** Median times between two observations. */
  readonly gaps: RecordedRange | null;
}

/** Equidistant times. */
export interface RecordedGrid {
  /** First time, if series share a clock; by default the first time of each series. */
  readonly start?: number;
  /** Time between two points, above 0. */
  readonly gap: number;
}

/** A channel. Its mean and standard deviation in the training set scale its values. */
export interface RecordedChannel extends ChannelStatistics {
  /** Name of the channel: its column, or the column and the category. */
  readonly name: string;
  /** Content of the column. Indicator channels of a category are not scaled. */
  readonly kind: "number" | "category";
  /** Name of the column, if it differs from the name of the channel. */
  readonly column?: string;
  /** When the values are known; `"observed"` by default. */
  readonly role?: ChannelKind["role"];
  /** Inverse hyperbolic sine of a skewed channel. Without it, the values are scaled as they are. */
  readonly asinh?: RecordedAsinh;
}

/** A numeric target, with its mean and standard deviation in the training set. */
export interface RecordedTarget extends ChannelStatistics {
  /** Name of the column. */
  readonly name: string;
}

/** How a model shortens long series. */
export interface RecordedCondensing {
  /** Form of a step: the mean of the rows of a block, or their log-signature. */
  readonly by: "means" | "log-signatures";
  /** Number of rows of a step, at least 2. */
  readonly rows: number;
}

/** Length and change of a typical training series, as the model reads it: medians over the series. */
export interface RecordedPace {
  /** Number of gaps between observations, or between blocks of them. */
  readonly gaps: number;
  /**
   * Mean over the channels of the sum of absolute changes, in standard deviations of the channel. For
   * log-signatures, the sum of the absolute values of all words, divided by the number of channels with time.
   */
  readonly change: number;
}

/** Sizes and times of the windows of a forecaster. */
export interface RecordedWindows {
  /** Time step, in seconds for dates, or in the unit of the times. */
  readonly gap: number;
  /** Number of past steps that a forecast reads. */
  readonly context: number;
  /** Number of steps to forecast. */
  readonly horizon: number;
  /** Length of a season in steps; 1 for no season. */
  readonly season: number;
  /**
   * Whether models of histories interpolate the steps of a season that were never observed. Runs without this field have no
   * history for such steps.
   */
  readonly fillsSeason?: boolean;
  /**
   * Mean absolute difference of values one season apart in the training set, for each channel, in units of
   * its standard deviation: the denominator of MASE.
   */
  readonly seasonalErrors: readonly number[];
  /**
   * As `seasonalErrors`, for each training series in the order of the record's series: MASE divides the errors
   * of a series by those of the series. For null, stored for NaN, `seasonalErrors` are used.
   */
  readonly errorsOfSeries?: readonly (readonly (number | null)[])[];
  /** Last time of the training period, and of the validation period. */
  readonly until: { readonly train: number; readonly validation: number };
  /** Digest of each series up to the end of the training period. */
  readonly trained: readonly string[];
}

/** A series as it was at the start of training. */
export interface RecordedSeries {
  /** Name of the series. */
  readonly name: string;
  /** Position of the series in the data, from 0. */
  readonly position: number;
  /** First 16 hexadecimal digits of the SHA-256 of its times, values and class. */
  readonly digest: string;
}

/** Channels and times of a record. Another file must have the same. */
export interface RecordedForm {
  /** Channels of the model, in the order of its inputs. */
  readonly channels: readonly Pick<RecordedChannel, "name" | "column">[];
  /** Notation and calendar of the times. */
  readonly time: Pick<DataRecord["time"], "kind" | "calendar">;
}

/** Version of the records that new runs write. */
export const recordVersion = 4;

const versions: readonly unknown[] = [1, 2, 3, recordVersion];

/**
 * Rejects a record of another version of the format.
 *
 * @param file Path of the record, for the message.
 * @throws {WeftError} With the code `"unsupported-version"`.
 */
export function checkDataRecord(record: { readonly version?: unknown }, file: string): void {
  if (versions.includes(record.version)) return;
  const supported = `1 to ${recordVersion}`;
  throw new WeftError(
    "unsupported-version",
    `${file}: in version ${record.version} of its format, and this Weft reads version ${supported}`,
    { expected: `version ${supported}`, fixes: ["train again"] },
  );
}

/**
 * Finds the position of each channel of a record among the columns of a file, by name.
 *
 * @param file Name of the file, for the message.
 * @param columns Columns with values, in the order of the file.
 * @param kinds Kinds of the columns. The message contains the columns of the file that they were read from.
 * @returns Position in `columns` of each channel, for {@linkcode takeColumns}.
 * @throws {DataError} If a channel is missing or unknown.
 */
export function channelPlaces(
  file: string,
  columns: readonly string[],
  { channels }: RecordedForm,
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
  const expected = listed([...new Set(columnOf.values())], Infinity);
  throw new DataError(
    absent.length > 0 ? "missing-column" : "unknown-column",
    `${file}: ${faults.join(", ")}`,
    {
      column: [...absent, ...unknown][0],
      expected,
      fixes: [
        `the model reads ${expected}, in any order: rename columns` +
        (unknown.length > 0
          ? ", or remove the unknown columns"
          : ", or add them, empty where nothing is known"),
      ],
    },
  );
}

/**
 * Selects columns of row-major values, in the given order.
 *
 * @param values Values `(rows, width)`.
 * @param width Number of columns of the values, at least 1.
 * @param columns Positions of the columns, from 0 to `width - 1`.
 * @returns Values `(rows, columns.length)`.
 */
export function takeColumns(values: Float64Array, width: number, columns: readonly number[]): Float64Array {
  const rows = values.length / width;
  return Float64Array.from(
    { length: rows * columns.length },
    (_, i) => values[Math.floor(i / columns.length) * width + columns[i % columns.length]],
  );
}

/**
 * Rejects data that differ from those of a record.
 *
 * @param file Name of the data, for the message.
 * @param now All current series of the data.
 * @param record Record of the run.
 * @throws {Error} If a series is new, missing or changed. The message lists the differences.
 */
export function requireSame(file: string, now: readonly RecordedSeries[], { split }: DataRecord): void {
  const before = new Map(parts(split).map(({ name, digest }) => [name, digest]));
  const after = new Map(now.map(({ name, digest }) => [name, digest]));
  const differences = [
    {
      what: "changed",
      names: [...after.keys()].filter((name) => before.has(name) && before.get(name) !== after.get(name)),
    },
    { what: "missing", names: [...before.keys()].filter((name) => !after.has(name)) },
    { what: "new", names: [...after.keys()].filter((name) => !before.has(name)) },
  ].filter(({ names }) => names.length > 0);
  if (differences.length === 0) return;
  const counts = differences.map(({ what, names }) => `${names.length} series ${what} (${listed(names)})`);
  throw new Error(
    `${file}: not the data that the run was started with: ${counts.join(", ")}; expected the original data`,
  );
}

/**
 * Number of the given series that are in some parts of a record, and so determined the weights.
 *
 * @param series Series of new data.
 * @param record Record of the run.
 * @param parts Parts of the record; by default the training set.
 */
export function countSeen(
  series: readonly Pick<RecordedSeries, "digest">[],
  { split }: DataRecord,
  parts: readonly (keyof DataRecord["split"])[] = ["train"],
): number {
  const seen = new Set(parts.flatMap((part) => split[part].map(({ digest }) => digest)));
  return series.filter(({ digest }) => seen.has(digest)).length;
}

/** Summary of a record: the number of series of each part, windows, channels, times and classes. */
export function describeRecord(record: DataRecord): string {
  const { channels, time, classes, targets = [], windows, split, training } = record;
  const { train, validation, test } = mapSplits(split, ({ length }) => length);
  const names = channels.map(({ name }) => name);
  const timeOf = (value: number) => describeRecordedTime(value, time);
  return [
    windows
      ? `${train} series, up to ${timeOf(windows.until.train)} to train, up to ${
        timeOf(windows.until.validation)
      } to validate, the rest to test; ${describeWindows(record)}`
      : training?.found && validation === 0
      ? `${train + test} series, ${train} for cross-validation and then to train, ${test} to test`
      : `${train + validation + test} series, ${train} to train, ${validation} to validate, ${test} to test`,
    ...(isUnnamed(names, record.columns) ? [] : [`channels ${names.join(", ")}`]),
    `times are ${time.kind}s`,
    ...(classes.length > 0 ? [`classes ${classes.join(", ")}`] : []),
    ...(targets.length > 0
      ? [`${targets.length > 1 ? "targets" : "target"} ${targets.map(({ name }) => name).join(", ")}`]
      : []),
  ].join("; ");
}

/** Horizon, context and season of a record of forecasts, in words: `12 months`, or `12 steps of 0.5`. */
export function windowsInWords(
  { windows, time }: Pick<DataRecord, "windows" | "time">,
): { readonly horizon: string; readonly context: string; readonly season: string } {
  const { gap, horizon, context, season } = windows!;
  const inWords = (steps: number) => formatSteps(steps, gap, time.kind);
  return {
    horizon: inWords(horizon),
    context: inWords(context),
    season: season > 1 ? inWords(season) : "none",
  };
}

function describeWindows(record: DataRecord): string {
  const { horizon, context, season } = windowsInWords(record);
  return `forecasts ${horizon} from the ${context} before, ${
    record.windows!.season > 1 ? `with a season of ${season}` : "without a season"
  }`;
}

function parts<T>({ train, validation, test }: Splits<readonly T[]>): T[] {
  return [...train, ...validation, ...test];
}
