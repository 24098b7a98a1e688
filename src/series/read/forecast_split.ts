/** Split of the times of forecasts into a training, a validation and a test period. */
import { describeTime } from "../../data/format.ts";
import type { Series, SeriesSet, Splits } from "../../data/series.ts";
import { DataError } from "../../device/errors.ts";
import type { DataRecord, RecordedWindows } from "../record/data_record.ts";
import { type ForecastWindow, targetChannelsOf } from "./forecast_windows.ts";

/** Ends of the training and of the validation period. */
type Until = RecordedWindows["until"];

/** Options of {@linkcode untilOf}. */
interface SplitOptions {
  /** Time of a horizon. */
  span: number;
  /** Number of channels. */
  width: number;
  /** Positions of the channels to forecast. */
  targetChannels: readonly number[];
  /** Ends of the training and validation period that the user gave. */
  requested?: Partial<Until>;
}

/** Shares of the observed rows before the end of the training and of the validation period. */
const [trainShare, validationShare] = [0.6, 0.8];
/** Share of the rows before a given test period that is for training. */
const trainShareBeforeTest = 0.75;
/** Other shares. They are tried if a channel has no values in one of the periods. */
const otherShares = Array.from({ length: 33 }, (_, i) => 0.3 + 0.02 * i);

/**
 * Ends of the training and validation period. By default the first 60 % of the observed rows in order of time
 * are for training, the next 20 % for validation, and the rest for testing. Only rows with a value to forecast
 * count. With a given test period, 75 % of the rows before it are for training. If there are few rows, training
 * ends earlier: validation and test period each have at least one horizon.
 *
 * If a channel has no value in one of the periods, the ends move to the nearest ends with values of the most
 * channels in each period.
 */
export function untilOf(series: readonly Series[], options: SplitOptions): Until {
  const { span, width, targetChannels, requested = {} } = options;
  const { validation: requestedEnd = Infinity } = requested;
  const hasRequestedEnd = requestedEnd < Infinity;
  const observed = targetChannels.map((channel) => timesOf(series, width, [channel]));
  const rows = timesOf(series, width, targetChannels).filter((time) => time <= requestedEnd);
  const all = rows.length > 0 ? rows : timesOf(series, width);
  const at = (share: number) => all[Math.max(0, Math.floor(share * all.length) - 1)];
  const ends = (train: number, validation: number): Until => {
    const end = hasRequestedEnd ? requestedEnd : Math.min(at(validation), all[all.length - 1] - span);
    return { train: requested.train ?? Math.min(at(train), end - span), validation: end };
  };
  const byDefault = ends(hasRequestedEnd ? trainShareBeforeTest : trainShare, validationShare);
  /** Number of pairs of a channel and a period without a value. */
  const missingIn = ({ train, validation }: Until) =>
    observed.reduce((sum, times) => {
      const [first, next] = [countUpTo(times, train), countUpTo(times, validation)];
      return sum + [first, next - first, times.length - next].filter((count) => count === 0).length;
    }, 0);
  let best = { until: byDefault, missing: missingIn(byDefault), distance: 0 };
  if (best.missing === 0) return byDefault;
  for (const train of otherShares) {
    for (const validation of hasRequestedEnd ? [validationShare] : otherShares) {
      if (validation <= train && !hasRequestedEnd) continue;
      const until = ends(train, validation);
      const missing = missingIn(until);
      const distance = Math.abs(train - trainShare) + Math.abs(validation - validationShare);
      const isBetter = missing < best.missing || missing === best.missing && distance < best.distance;
      if (isBetter) best = { until, missing, distance };
    }
  }
  return best.until;
}

/** Times of all rows, ascending; with channels, of the rows with a value in one of them. */
function timesOf(series: readonly Series[], width: number, channels?: readonly number[]): Float64Array {
  const all: number[] = [];
  for (const { times, values } of series) {
    for (let row = 0; row < times.length; row++) {
      if (!channels || channels.some((i) => !Number.isNaN(values[row * width + i]))) all.push(times[row]);
    }
  }
  return Float64Array.from(all).sort();
}

/** Number of ascending times up to and including a time. */
function countUpTo(times: Float64Array, time: number): number {
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Names of the parts in messages. */
const partNames: Splits<string> = { train: "training", validation: "validation", test: "test" };

/**
 * Checks that each part has a value to forecast.
 *
 * @throws {DataError} The message names the part, and how to correct it.
 */
export function requireTargets(
  { name, times }: Pick<SeriesSet, "name" | "times">,
  windows: Splits<readonly ForecastWindow[]>,
  { channels, windows: sizes }: Pick<DataRecord, "channels" | "windows">,
): void {
  const targetChannels = targetChannelsOf(channels);
  const { until } = sizes!;
  const time = (value: number) => describeTime(value, times);
  const periods: Splits<string> = {
    train: `up to ${time(until.train)}`,
    validation: `after ${time(until.train)}, up to ${time(until.validation)}`,
    test: `after ${time(until.validation)}`,
  };
  const hasTarget = ({ targets }: ForecastWindow) =>
    targets.some((value, i) => !Number.isNaN(value) && targetChannels.includes(i % channels.length));
  for (const part of ["train", "validation", "test"] as const) {
    if (windows[part].some(hasTarget)) continue;
    throw new DataError(
      "too-small",
      `${name}: the ${partNames[part]} part (${
        periods[part]
      }) has no value to forecast: all are missing, or ` +
        "too few for the horizon",
      {
        option: "horizon",
        expected: "at least one value in each of the training, the validation and the test part",
        fixes: [
          (write) => `lower ${write("horizon")}`,
          (write) =>
            `give rows with values as separate parts with ${write("validation")} and ${write("test")}`,
        ],
      },
    );
  }
}
