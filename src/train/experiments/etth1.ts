import { cutWindows, ettHours, ettWindows, type LongSeries, readLongSeries } from "../../data/ett.ts";
import { key } from "../../tensor/random.ts";
import {
  channelPlaces,
  countSeen,
  type DataRecord,
  digestOf,
  type RecordedSeries,
  requireSame,
  takeColumns,
} from "../data_record.ts";
import { drawContinuation } from "./draw_continuation.ts";
import { type Experiment, forecastSettings, type Settings } from "./experiment.ts";
import { forecaster, forecasting, toForecastBatch } from "./forecasting.ts";
import { type ForecastModel, forecastModel } from "./forecast_models.ts";

/** Hours from one window's beginning to the next: they begin at midnight, so that tau tells the time of day. */
const windows = { context: 96, horizon: 96, every: 24 };
/** As the paper's appendix C.3: samples are fed. */
const training = { context: windows.context, forcing: 0.25, sample: true, deviations: true };

/** Forecasts four days of a transformer's load and oil temperature from the four days before, with uncertainty. */
export const etth1: Experiment = {
  name: "etth1",
  summary: "load and oil temperature of a transformer, 96 hours from the 96 before (ETTh1)",
  defaults: {
    epochs: 40,
    batchSize: 16,
    learningRate: 0.0003,
    hidden: 6,
    data: "data/ETTh1.csv",
    model: "warp",
  },
  takes: ["data", ...forecastSettings, "smooth"],
  async prepare(settings: Settings, earlier?: DataRecord) {
    const read = await readLongSeries(settings.data!);
    const series = earlier ? inRecordedOrder(read, settings.data!, earlier) : read;
    const { splits, statistics } = ettWindows(series, { ...windows, statistics: earlier?.channels });
    const parts = await recordParts(series);
    if (earlier) requireSame(settings.data!, Object.values(parts).flat(), earlier);
    const record: DataRecord = earlier ?? {
      version: 1,
      channels: series.columns.map((name, i) => ({
        name,
        kind: "number",
        mean: statistics[i].mean,
        standardDeviation: statistics[i].standardDeviation,
      })),
      time: { kind: "date", origin: "first observation of each series", scale: 1 / gapOf(series) },
      length: series.times.length,
      classes: [],
      split: parts,
      ignored: [],
    };
    return forecasting({
      ...training,
      smooth: settings.smooth,
      // The authors' for electricity.
      average: 10,
      splits,
      record,
      model: modelOf(settings, record),
      settings,
      drawn: 4,
      draw: drawContinuation("test window", series.columns, windows.context, statistics),
    });
  },
  open(settings, record) {
    return {
      ...forecaster({ ...training, smooth: settings.smooth, model: modelOf(settings, record) }),
      async samples(path) {
        const series = inRecordedOrder(await readLongSeries(path), path, record);
        const gap = gapOf(series);
        if (gap * record.time.scale !== 1) {
          throw new Error(`${path}: rows ${gap} s apart, expected ${1 / record.time.scale} s as in training`);
        }
        const batch = toForecastBatch(cutWindows(series, record.channels, windows));
        const count = batch.x.shape[0];
        if (count === 0) {
          const needed = windows.context + windows.horizon;
          throw new Error(`${path}: ${series.times.length} rows, expected ${needed} at least`);
        }
        // The training months are one series.
        const isSeen = countSeen((await recordParts(series)).train, record) > 0;
        const seen = isSeen
          ? cutWindows(series, record.channels, { ...windows, to: ettHours.train }).shape[0]
          : 0;
        return { batch, count, seen, kind: "window" };
      },
    };
  },
};

function inRecordedOrder(series: LongSeries, path: string, record: DataRecord): LongSeries {
  const places = channelPlaces(path, series.columns, record);
  return {
    ...series,
    columns: places.map((place) => series.columns[place]),
    values: takeColumns(series.values, places.length, places),
  };
}

function modelOf(
  { model, hidden, seed, clipWeights, depth = 1 }: Settings,
  { channels }: DataRecord,
): ForecastModel {
  return forecastModel(model!, {
    channels: channels.length,
    length: windows.context + windows.horizon,
    hidden,
    // Two of the frequencies are a day's and half a day's.
    root: { depth, activation: "silu", frequencies: 6 },
    // In deviations of the training months.
    bound: { low: -4, high: 4 },
    // As the paper's appendix C.3; time is a channel in the authors' code alone.
    leastDeviation: 1e-4,
    time: true,
    clipWeights,
    key: key(seed),
  });
}

/** Seconds between two rows. */
function gapOf({ times }: LongSeries): number {
  return times[1] - times[0];
}

/** The months that train, validate and test, each as one series. */
async function recordParts({ columns, times, values }: LongSeries): Promise<DataRecord["split"]> {
  const part = async (position: number, from: number, hours: number): Promise<RecordedSeries[]> => {
    const digest = await digestOf(
      "",
      times.slice(from, from + hours),
      values.slice(from * columns.length, (from + hours) * columns.length),
    );
    return [{ name: `rows ${from + 1} to ${from + hours}`, position, digest }];
  };
  const { train, validation, test } = ettHours;
  return {
    train: await part(0, 0, train),
    validation: await part(1, train, validation),
    test: await part(2, train + validation, test),
  };
}
