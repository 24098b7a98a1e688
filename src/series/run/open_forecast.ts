/** Opens trained forecasters for new series. */
import { countedSteps } from "../../charts/format.ts";
import { noticesOf, type Series, type SeriesSet } from "../../data/series.ts";
import type { TableOptions } from "../../data/table/options.ts";
import { digestOf } from "../../files/digest.ts";
import { withChosen } from "../choose/auto.ts";
import { forecastKinds, type Model } from "../models/model.ts";
import { loadKind } from "../models/model_settings.ts";
import { type TrainedModel, trainingMemory } from "../models/trained_model.ts";
import { endsBy, type ForecastWindow, upTo, windowsOf } from "../read/forecast_windows.ts";
import { historyWindows } from "../read/histories.ts";
import { inRecordedOrder, tableOptions } from "../read/recorded_series.ts";
import type { DataRecord } from "../record/data_record.ts";
import type { SeriesSource } from "../record/series_source.ts";
import type { SeriesSettings } from "../record/settings.ts";
import { maskedCounts } from "../targets/metrics/masked_errors.ts";
import { forecastStreams } from "../targets/streams/forecast_streams.ts";
import { windowForecaster } from "../targets/window_forecaster.ts";
import { missingFutureCovariates } from "./forecast_notices.ts";

/** The evaluation of forecasts, which predictions do not need. */
const evaluation = () => import("../targets/evaluate_forecasts.ts");

/** Model of runs whose configuration names none. */
export const defaultForecaster = "linear";

/** Digest of the observations of a series, independent of its name. */
export async function digestOfSeries({ times, values }: Series): Promise<string> {
  return await digestOf("", times, values);
}

/** Number of windows in the training period of series that the model was trained on. */
async function countTrained(
  windows: readonly ForecastWindow[],
  series: readonly Series[],
  { channels, windows: sizes }: DataRecord,
): Promise<number> {
  const { until, trained } = sizes!;
  const learned = new Set<string>();
  for (const one of series) {
    if (trained.includes(await digestOfSeries(upTo(until.train, one, channels.length)))) {
      learned.add(one.name);
    }
  }
  return windows.filter(({ series, origin }) => learned.has(series) && endsBy(origin, sizes!, until.train))
    .length;
}

/** Opens the model of a run for new series. */
export async function openForecast(
  models: readonly Model[],
  runSettings: SeriesSettings,
  record: DataRecord,
): Promise<TrainedModel> {
  const settings = withChosen(runSettings, record.training);
  const kind = await loadKind(forecastKinds(models), settings.model ?? defaultForecaster);
  const forecaster = windowForecaster(settings, record, kind);
  const { forecast } = forecaster;
  const conform = (other: SeriesSet) => inRecordedOrder(other, record);
  const read = async (source: SeriesSource, table?: TableOptions) =>
    conform(
      await (await import("../read/read_series.ts")).readSeries(source, {
        ...tableOptions(settings, record, table),
        targets: "channels",
      }),
    );
  const windowsIn = async (source: SeriesSource, table?: TableOptions) => {
    const set = await read(source, table);
    const { series } = set;
    const span = { from: -Infinity, to: Infinity };
    const most = forecaster.model.host?.reads === "histories" ? historyWindows.test : undefined;
    const windows = windowsOf(series, record.channels.length, record.windows!, span, most);
    if (windows.length > 0) return { windows, series, notices: noticesOf(set) };
    throw new Error(
      `${set.name}: no series is long enough for a forecast of ${
        countedSteps(record.windows!.horizon, record.windows!.gap, record.time.kind)
      }`,
    );
  };
  return {
    parameters: forecaster.model.parameters,
    onLoad: forecaster.load,
    evaluate: forecaster.evaluate,
    weights: maskedCounts,
    memory: trainingMemory,
    async samples(source, table) {
      const { windows, series, notices } = await windowsIn(source, table);
      return {
        batches: forecaster.toBatches(windows),
        count: windows.length,
        seen: await countTrained(windows, series, record),
        kind: "window",
        notices,
        evaluatePredictions: async () =>
          (await evaluation()).evaluateForecasts({ windows, record, forecast, model: settings.model }),
      };
    },
    useCalibration: forecaster.useCalibration,
    conform,
    async series(source, table) {
      const set = await read(source, table);
      return { ...set, notices: [...set.notices ?? [], ...missingFutureCovariates(set.series, record)] };
    },
    predict: ({ series }) => forecaster.predict(series),
    stream: forecastStreams(record, async (series) => (await forecaster.predict([series]))[0]),
  };
}
