import { key } from "@weft/weft";
import { mapSplits } from "@weft/weft/data";
import {
  channelPlaces,
  checkDataRecord,
  countSeen,
  type DataRecord,
  digestOf,
  type ForecastModel,
  forecastModel,
  forecastModels,
  type ModelExperiment,
  modelRules,
  type RecordedSeries,
  recordVersion,
  requireSame,
  takeColumns,
  type TrainedModel,
} from "@weft/weft/series";
import type { Task } from "@weft/weft/train";
import { valuesOf } from "../recipes/recipe.ts";
import { baselines } from "../recipes/warp_dynamics.ts";
import { hourly, quarterly } from "../recipes/warp_ett.ts";
import {
  cutWindows,
  ettHours,
  ettWindows,
  type LongSeries,
  readLongSeries,
  rowsAnHour,
} from "../data/ett.ts";
import { drawForecast } from "./draw_forecast.ts";
import { forecastOptions, type ForecastSettings } from "./options.ts";
import { recipeDefaults } from "./recipe_defaults.ts";
import { forecaster, forecasting, toForecastBatch } from "./forecasting.ts";

/** Rules of the recipe `"paper"`, which the four data sets share. */
const paper = valuesOf(hourly.rules);
const { transformerRate: learningRate } = valuesOf(baselines.rules);
/** Settings of single models with the recipe. */
const ofModels = {
  gru: { units: paper.units },
  lstm: { units: paper.units },
  transformer: { learningRate },
};
/** Numbers of context rows and of predicted rows. */
const windows = { context: 96, horizon: 96 };
/** As in the paper's appendix C.3: samples are fed back, but in the ablation of figure 15. */
const trainingOf = ({ smooth, noSampling = false }: ForecastSettings) =>
  ({
    ...{ context: windows.context, forcing: paper.forcing, sample: !noSampling, smooth },
    deviations: true,
  }) as const;

/** Forecasts a transformer's load and oil temperature with uncertainty: 96 rows from the previous 96. */
function ettExperiment(file: string, summary: string): ModelExperiment {
  return modelRules({
    name: file.toLowerCase(),
    summary: `forecast a transformer, 96 ${summary} (${file})`,
    options: forecastOptions({
      epochs: 40,
      batchSize: 16,
      learningRate: 0.0003,
      hidden: 6,
      data: `data/${file}.csv`,
      model: "warp",
    }, ["data", "smooth", "noSampling"]),
    checkRecord: checkDataRecord,
    models: () => forecastModels,
    prepare,
    open,
  }, recipeDefaults((file.startsWith("ETTh") ? hourly : quarterly).settings, ofModels));
}

/** The four data sets of the authors: two transformers, hourly and quarter-hourly. */
export const ettExperiments: readonly ModelExperiment[] = [
  ettExperiment("ETTh1", "hours"),
  ettExperiment("ETTh2", "hours"),
  ettExperiment("ETTm1", "quarter hours"),
  ettExperiment("ETTm2", "quarter hours"),
];

async function prepare(settings: ForecastSettings, earlier?: DataRecord): Promise<Task> {
  const read = await readLongSeries(settings.data!);
  const series = earlier ? withRecordedColumns(read, settings.data!, earlier) : read;
  const every = windowsEvery(series, settings);
  const { scaling } = isPaper(settings) ? paper : { scaling: "standard" as const };
  const { splits, statistics } = ettWindows(series, {
    ...{ ...windows, every, scaling, statistics: earlier?.channels },
  });
  const parts = await recordParts(series);
  if (earlier) requireSame(settings.data!, Object.values(parts).flat(), earlier);
  const record: DataRecord = earlier ?? {
    version: recordVersion,
    channels: series.columns.map((name, i) => ({
      name,
      kind: "number",
      ...statistics[i],
    })),
    time: { kind: "date", origin: "first observation of each series", scale: 1 / gapOf(series) },
    length: series.times.length,
    classes: [],
    split: parts,
    ignored: [],
  };
  return forecasting({
    ...trainingOf(settings),
    // The value of the authors for electricity.
    average: paper.plateauAverage,
    splits,
    record,
    model: modelOf(settings, record),
    settings,
    drawn: 4,
    draw: drawForecast("test window", series.columns, windows.context, statistics),
  }) as Task;
}

function open(settings: ForecastSettings, record: DataRecord): TrainedModel {
  return {
    ...forecaster({ ...trainingOf(settings), model: modelOf(settings, record) }),
    async samples(path: string) {
      const series = withRecordedColumns(await readLongSeries(path), path, record);
      const [gap, every] = [gapOf(series), windowsEvery(series, settings)];
      if (gap * record.time.scale !== 1) {
        throw new Error(`${path}: rows ${gap} s apart, expected ${1 / record.time.scale} s as in training`);
      }
      const batch = toForecastBatch(cutWindows(series, record.channels, { ...windows, every }));
      const count = batch.x.shape[0];
      if (count === 0) {
        const needed = windows.context + windows.horizon;
        throw new Error(`${path}: ${series.times.length} rows, expected ${needed} at least`);
      }
      // The training months form a single series.
      const isSeen = countSeen((await recordParts(series)).train, record) > 0;
      const seen = isSeen
        ? cutWindows(series, record.channels, { ...windows, every, to: ettHours.train * rowsAnHour(series) })
          .shape[0]
        : 0;
      return { batches: [batch], count, seen, kind: "window" };
    },
  };
}

function withRecordedColumns(series: LongSeries, path: string, record: DataRecord): LongSeries {
  const places = channelPlaces(path, series.columns, record);
  return {
    ...series,
    columns: places.map((place) => series.columns[place]),
    values: takeColumns(series.values, places.length, places),
  };
}

function modelOf(
  settings: ForecastSettings,
  { channels }: DataRecord,
): ForecastModel {
  const { model, hidden, units, seed, clipWeights, depth = 1 } = settings;
  return forecastModel(model!, {
    units,
    channels: channels.length,
    length: windows.context + windows.horizon,
    hidden,
    ...(isPaper(settings) ? { root: { depth, activation: paper.activation } } : {
      // For hourly rows, two of the frequencies correspond to a day and half a day.
      root: { depth, activation: "silu", frequencies: 6 },
      // In standard deviations of the training months.
      bound: { low: -4, high: 4 },
    }),
    ...{ leastDeviation: paper.leastDeviation, time: paper.time, clipWeights },
    key: key(seed),
  });
}

/** Seconds between two rows. */
function gapOf({ times }: LongSeries): number {
  return times[1] - times[0];
}

/**
 * Rows between the starts of windows: one day, so that windows begin at midnight and tau encodes the time of
 * day. One row in the recipe `"paper"`.
 */
function windowsEvery(series: LongSeries, settings: ForecastSettings): number {
  return isPaper(settings) ? paper.windowsEvery : 24 * rowsAnHour(series);
}

function isPaper({ recipe }: ForecastSettings): boolean {
  return recipe === "paper";
}

/** The training, validation and test months, each as one series. */
async function recordParts(series: LongSeries): Promise<DataRecord["split"]> {
  const { columns, times, values } = series;
  const part = async (position: number, from: number, rows: number): Promise<RecordedSeries[]> => {
    const digest = await digestOf(
      "",
      times.slice(from, from + rows),
      values.slice(from * columns.length, (from + rows) * columns.length),
    );
    return [{ name: `rows ${from + 1} to ${from + rows}`, position, digest }];
  };
  const { train, validation, test } = mapSplits(ettHours, (hours) => hours * rowsAnHour(series));
  return {
    train: await part(0, 0, train),
    validation: await part(1, train, validation),
    test: await part(2, train + validation, test),
  };
}
