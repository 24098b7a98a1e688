import type { Series } from "../data/series.ts";
import { isCount, isNumber } from "../files/json.ts";
import type { Prediction, PredictionStream, PredictionStreamState, RowsState } from "./predictions.ts";
import type { DataRecord } from "./data_record.ts";
import { DataError } from "../files/data_error.ts";
import { requireRow } from "./prediction_stream.ts";
import { continuedOf, presentOf, startOf } from "./forecast_windows.ts";
import { transactionsOn } from "./transactions.ts";

/** Maximum number of observations kept per step of the window. */
const mostPerStep = 16;

/**
 * Forecasts a series while its observations arrive. The forecasts equal those of the whole series. Of the
 * past, only the observations in the window and each channel's last value before the window are kept.
 *
 * @param predict Returns the forecast of a series.
 */
export function forecastStream(
  series: string,
  { channels, windows }: Pick<DataRecord, "channels" | "windows">,
  predict: (series: Series) => Promise<Prediction>,
  state?: PredictionStreamState,
): PredictionStream {
  const sizes = windows!;
  const most = mostPerStep * (sizes.context + sizes.horizon);
  const width = channels.length;
  const continued = continuedOf(channels);
  const seriesOf = (rows: readonly Row[]): Series => ({
    name: series,
    times: Float64Array.from(rows, ({ time }) => time),
    values: Float64Array.from(rows.flatMap(({ values }) => values)),
    label: -1,
  });
  const presentIn = (own: readonly Row[]) => own[presentOf(seriesOf(own), width, continued)].time;
  const observed = transactionsOn<Window>(
    state ? restored(series, state, width, most) : { count: 0, rows: [] },
  );
  return {
    series,
    async push(time, given) {
      // Copy the values: the caller may overwrite the array before its turn.
      const values = Array.from(given);
      return await observed.run(async ({ count, rows }) => {
        requireRow(series, channels, values);
        const last = rows.length > 0 ? presentIn(rows) : -Infinity;
        if (!Number.isFinite(time) || time <= last) {
          throw new DataError(`series "${series}": time ${time}, expected one later than ${last}`);
        }
        // The observation may be before rows that request forecasts, or replace such a row.
        const all = [...rows.filter((row) => row.time !== time), { time, values }]
          .sort((a, b) => a.time - b.time);
        const kept = keptRows(all, startOf(presentIn(all), sizes), width);
        if (kept.length > most) {
          throw new DataError(
            `series "${series}": more than ${most} observations among the ${sizes.context} steps of ${sizes.gap} that the model ` +
              `reads and the ${sizes.horizon} after them: send fewer, such as means of several`,
          );
        }
        return [await predict(seriesOf(kept)), { count: count + 1, rows: kept }];
      });
    },
    async save() {
      const { count, rows } = await observed.state;
      if (rows.length === 0) throw new DataError(`series "${series}": there was no observation yet`);
      return { count, rows: rows.map(({ time, values }) => [time, ...values.map(orNull)]) };
    },
  };
}

/** Observations kept for a series. */
interface Window {
  /** Number of rows pushed so far, including forecast requests. */
  readonly count: number;
  readonly rows: readonly Row[];
}

/** An observation, or a time to forecast. */
interface Row {
  readonly time: number;
  /** Value of each channel; NaN if not observed. */
  readonly values: readonly number[];
}

function orNull(value: number): number | null {
  return Number.isNaN(value) ? null : value;
}

/** Restores a saved state. @throws {DataError} If the state is not one of the model's streams. */
function restored(
  series: string,
  state: PredictionStreamState,
  width: number,
  most: number,
): Window {
  const { count, rows } = state as RowsState;
  const isRow = (row: unknown, i: number) =>
    Array.isArray(row) && row.length === width + 1 && isNumber(row[0]) &&
    !(i > 0 && row[0] <= rows[i - 1][0]!) &&
    row.every((value) => value === null || isNumber(value));
  const isSaved = isCount(count, 1) && Array.isArray(rows) && isCount(rows.length, 1) &&
    rows.length <= most + width && rows.every(isRow);
  if (!isSaved) {
    throw new DataError(
      `series "${series}": no saved state of this model: expected a count, and rows of a time and ${width} values`,
    );
  }
  return {
    count,
    rows: rows.map(([time, ...values]: readonly (number | null)[]) => ({
      time: time!,
      values: values.map((value) => value ?? NaN),
    })),
  };
}

/** Rows from a time on, and the earlier rows with the last value of each channel. */
function keptRows(rows: readonly Row[], start: number, width: number): Row[] {
  const first = rows.findIndex(({ time }) => time >= start);
  const needed = new Set<number>();
  for (let channel = 0; channel < width; channel++) {
    needed.add(rows.slice(0, first).findLastIndex(({ values }) => !Number.isNaN(values[channel])));
  }
  return rows.filter((_, i) => i >= first || needed.has(i));
}
