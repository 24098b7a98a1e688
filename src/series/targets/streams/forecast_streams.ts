/** Streams of forecasts. */
import { countedSteps } from "../../../charts/format.ts";
import type { Series } from "../../../data/series.ts";
import { DataError } from "../../../device/errors.ts";
import { isCount, isNumber } from "../../../files/json.ts";
import type { TrainedModel } from "../../models/trained_model.ts";
import { originRowOf, startOf, targetChannelsOf } from "../../read/forecast_windows.ts";
import { formatRecordedTime } from "../../record/calendar.ts";
import type { DataRecord } from "../../record/data_record.ts";
import type { Prediction, RowsState } from "../../record/predictions.ts";
import { streamsOf } from "./prediction_stream.ts";

/** Maximum number of observations kept per step of the window. */
const mostPerStep = 16;

/**
 * Streams of forecasts, which equal those of the whole series. Of the past, only the observations in the
 * window and each channel's last value before the window are kept.
 *
 * @param predict Returns the forecast of a series.
 */
export function forecastStreams(
  { channels, time: times, windows }: Pick<DataRecord, "channels" | "time" | "windows">,
  predict: (series: Series) => Promise<Prediction>,
): NonNullable<TrainedModel["stream"]> {
  const sizes = windows!;
  const most = mostPerStep * (sizes.context + sizes.horizon);
  const width = channels.length;
  const targetChannels = targetChannelsOf(channels);
  const seriesOf = (name: string, rows: RowsState["rows"]): Series => ({
    name,
    times: Float64Array.from(rows, ([time]) => time!),
    values: Float64Array.from(rows.flatMap(([_, ...values]) => values.map((value) => value ?? NaN))),
    label: -1,
  });
  const origin = (name: string, rows: RowsState["rows"]) =>
    rows[originRowOf(seriesOf(name, rows), width, targetChannels)][0]!;
  return streamsOf<RowsState>({
    channels,
    ...(times.calendar ? { textOf: (time: number) => formatRecordedTime(time, times) } : {}),
    lastTime: (series, { rows }) => origin(series, rows),
    async step(series, time, values, { rows } = { count: 0, rows: [] }) {
      const row = [time, ...values.map((value) => Number.isNaN(value) ? null : value)];
      // The observation may be before rows that request forecasts, or replace such a row.
      const all = [...rows.filter(([other]) => other !== time), row].sort(([a], [b]) => a! - b!);
      const kept = keptRows(all, startOf(origin(series, all), sizes), width);
      if (kept.length > most) {
        throw new DataError(
          "too-large",
          `series "${series}": more than ${most} observations among the ${
            countedSteps(sizes.context, sizes.gap, times.kind)
          } that the model ` +
            `reads and the ${sizes.horizon} after them`,
          { fixes: ["send fewer, such as means of several"] },
        );
      }
      return [await predict(seriesOf(series, kept)), { rows: kept }];
    },
    check(series, { count, rows }) {
      const isRow = (row: unknown, i: number) =>
        Array.isArray(row) && row.length === width + 1 && isNumber(row[0]) &&
        !(i > 0 && row[0] <= rows[i - 1][0]!) &&
        row.every((value) => value === null || isNumber(value));
      const isSaved = isCount(count, 1) && Array.isArray(rows) && isCount(rows.length, 1) &&
        rows.length <= most + width && rows.every(isRow);
      if (isSaved) return;
      throw new DataError(
        "invalid-state",
        `series "${series}": not a saved state of this model: expected a count, and rows of a time and ${width} values`,
      );
    },
  });
}

/** Rows from a time on, and the earlier rows with the last value of each channel. */
function keptRows(rows: RowsState["rows"], start: number, width: number): RowsState["rows"] {
  const first = rows.findIndex(([time]) => time! >= start);
  const needed = new Set<number>();
  for (let channel = 1; channel <= width; channel++) {
    needed.add(rows.slice(0, first).findLastIndex((row) => row[channel] !== null));
  }
  return rows.filter((_, i) => i >= first || needed.has(i));
}
