/** Summary of a series that is updated row by row, so that a stream has the same digits as the whole series. */
import type { Series } from "../../data/series.ts";
import { isCount, isNumber, isRecord } from "../../files/json.ts";
import { log } from "../math/elementary.ts";
import type { DataRecord } from "./data_record.ts";
import { scaledSeries } from "./scaled_values.ts";

/** State of a summary, as plain JSON. */
export interface SummaryState {
  /** Number of rows, at least 1. */
  readonly rows: number;
  /** Time of the first row. */
  readonly first: number;
  /** Time of the last row. */
  readonly last: number;
  /**
   * Of each channel: the number of known values, the first, last, smallest and largest one, their mean, the sum of the
   * squared distances to the mean, and the time of the last one. All are 0 before the first known value.
   */
  readonly channels: readonly (readonly number[])[];
}

/** Numbers of a channel in a summary. */
const width = 8;

/** Summary of a series, row by row. */
export class RunningSummary {
  #rows = 0;
  #first = 0;
  #last = 0;
  readonly #numbers: Float64Array;

  /** Starts a summary, or resumes one. @param channels Number of channels. */
  constructor(channels: number, saved?: SummaryState) {
    this.#numbers = Float64Array.from(
      { length: width * channels },
      (_, i) => saved?.channels[Math.floor(i / width)][i % width] ?? 0,
    );
    if (saved) [this.#rows, this.#first, this.#last] = [saved.rows, saved.first, saved.last];
  }

  /** Adds a row. @param values Scaled value of each channel; NaN is missing. @param from Position of the first value. */
  add(time: number, values: ArrayLike<number>, from = 0): void {
    if (this.#rows++ === 0) this.#first = time;
    this.#last = time;
    const numbers = this.#numbers;
    for (let at = 0; at < numbers.length; at += width) {
      const value = values[from++];
      if (Number.isNaN(value)) continue;
      if (numbers[at]++ === 0) numbers.fill(value, at + 1, at + 6);
      numbers[at + 2] = value;
      numbers[at + 3] = Math.min(numbers[at + 3], value);
      numbers[at + 4] = Math.max(numbers[at + 4], value);
      const distance = value - numbers[at + 5];
      numbers[at + 5] += distance / numbers[at];
      numbers[at + 6] += distance * (value - numbers[at + 5]);
      numbers[at + 7] = time;
    }
  }

  /**
   * Features of the rows so far: the last, first, smallest and largest value of each channel, their mean and standard
   * deviation, and the logarithms of the time since the last value and of the number of values; then the logarithms of
   * the number of rows and of the duration. A channel without a value has values of 0, its mean in the training set. A
   * static channel has its value.
   */
  features({ channels, time: { scale } }: Pick<DataRecord, "channels" | "time">): number[] {
    const logOf = (duration: number) => log(1 + duration * scale);
    return [
      ...channels.flatMap(({ role }, c) => {
        const [count, first, last, low, high, mean, squares, time] = this.#numbers.subarray(c * width);
        if (role === "static") return [last];
        const since = this.#last - (count > 0 ? time : this.#first);
        return [
          ...[last, first, low, high, mean, Math.sqrt(squares / Math.max(1, count))],
          ...[logOf(since), log(1 + count)],
        ];
      }),
      log(this.#rows),
      logOf(this.#last - this.#first),
    ];
  }

  /** The state, which resumes the summary later. */
  save(): SummaryState {
    const channels = Array.from(
      { length: this.#numbers.length / width },
      (_, c) => Array.from(this.#numbers.subarray(c * width, (c + 1) * width)),
    );
    return { rows: this.#rows, first: this.#first, last: this.#last, channels };
  }
}

/** Whether a value is the state of a summary. @param channels Number of channels. */
export function isSummary(value: unknown, channels: number): boolean {
  if (!isRecord(value)) return false;
  const { rows, first, last, channels: summaries } = value;
  const isChannel = (one: unknown) =>
    Array.isArray(one) && one.length === width && one.every(isNumber) && isCount(one[0]) && one[6] >= 0;
  return isCount(rows, 1) && isNumber(first) && isNumber(last) && first <= last &&
    Array.isArray(summaries) && summaries.length === channels && summaries.every(isChannel);
}

/** Features of a whole series with the channels of a record. */
export function featuresOfSeries(
  series: Pick<Series, "times" | "values">,
  record: Pick<DataRecord, "channels" | "time">,
): number[] {
  const { values } = scaledSeries(series, record.channels);
  const { length } = record.channels;
  const summary = new RunningSummary(length);
  series.times.forEach((time, i) => summary.add(time, values, i * length));
  return summary.features(record);
}
