/** Prepares the training of forecasts: reads the data and makes windows of them, and compares models. */
import { DataError } from "../../device/errors.ts";
import { describeSeries } from "../../data/table/describe.ts";
import { countedSteps } from "../../charts/format.ts";
import { mapSplits, type Series, type SeriesSet } from "../../data/series.ts";
import { largest } from "../../device/min_max.ts";
import { plural } from "../../data/format.ts";
import { defaultContext } from "./default_context.ts";
import { describeUnused } from "./forecast_notices.ts";
import {
  type DataRecord,
  describeRecord,
  recordVersion,
  requireSame,
  windowsInWords,
} from "../record/data_record.ts";
import type { RecordedTraining } from "../record/recorded_training.ts";
import type { Task } from "../../train/task.ts";
import { parameterCount } from "../../nn/layer.ts";
import { type ExtendedSet, withLaterRows } from "../read/held_out_sets.ts";
import { longestPast, targetChannelsOf, upTo, windowsOf } from "../read/forecast_windows.ts";
import { requireTargets, untilOf } from "../read/forecast_split.ts";
import { windowForecaster } from "../targets/window_forecaster.ts";
import { type SeriesSettings, sourcesOf } from "../record/settings.ts";
import { rangesOf } from "../targets/learned_ranges.ts";
import { stepsOf } from "../record/horizon.ts";
import { gradientTraining } from "../targets/learning.ts";
import { loadKind, withoutEffect } from "../models/model_settings.ts";
import { describeShortSeason, seasonOf } from "../read/season.ts";
import { seasonalErrorsOf } from "../targets/seasonal_errors.ts";
import { forecastKinds, type Model } from "../models/model.ts";
import type { WindowModelKind } from "../models/forecaster.ts";
import { autoModel, candidatesIn, choiceOf, withChosen } from "../choose/auto.ts";
import { withComparison } from "../choose/comparison_report.ts";
import { fitSeconds, stepSeconds } from "../choose/work.ts";
import type { ForecastTask } from "../choose/compare_forecasts.ts";
import { maskedCounts } from "../targets/metrics/masked_errors.ts";
import { defaultForecaster, digestOfSeries } from "./open_forecast.ts";
import { recordChannels } from "../read/recorded_channels.ts";
import {
  inRecordedOrder,
  recordSeries,
  recordTimes,
  requireValues,
  tableOptions,
} from "../read/recorded_series.ts";
import { closedFormOf, windowsOfParts } from "../targets/closed_form.ts";
import { historyWindows } from "../read/histories.ts";
import { typicalGap } from "../read/spans.ts";
import { readSeries } from "../read/read_series.ts";
import { inRecordedTimes } from "../record/calendar.ts";
import { describeCalendar, findCalendar } from "../read/find_calendar.ts";

/** The evaluation of forecasts, which predictions do not need. */
const evaluation = () => import("../targets/evaluate_forecasts.ts");

/**
 * Makes the task of training a forecaster on the series of a table. The model `auto` is chosen in `plan` of the
 * task.
 */
export async function prepareForecast(
  models: readonly Model[],
  settings: SeriesSettings,
  earlier?: DataRecord,
): Promise<Task> {
  const kinds = forecastKinds(models);
  const data = { ...await readForecastData(settings, earlier), kinds };
  if (settings.model !== autoModel) return await forecastTask(settings, data);
  if (earlier) return await forecastTask(withChosen(settings, earlier.training), data);
  // Until a model is chosen, one of them stands in for the choice.
  const candidates = candidatesIn(kinds);
  const standIn = await forecastTask({ ...settings, ...choiceOf(kinds, candidates[0]) }, data);
  return {
    ...standIn,
    async plan(options) {
      const { compareForecasts } = await import("../choose/compare_forecasts.ts");
      const training = await compareForecasts(
        settings,
        candidates.map((model) => choiceOf(kinds, model)),
        (chosenSettings, shift) => forecastTask(chosenSettings, { ...data, shift }),
        options,
      );
      return training && await forecastTask(withChosen(settings, training), data, training);
    },
  };
}

/** Models that forecast, by name. */
interface Kinds {
  readonly kinds: Readonly<Record<string, WindowModelKind>>;
}

/** Series of a table, and the record of an earlier run. */
interface ForecastData {
  /** The series with the times of the calendar. */
  readonly set: SeriesSet;
  /** Lines about the series of the table. */
  readonly described: readonly string[];
  readonly time: Pick<DataRecord["time"], "kind" | "calendar">;
  readonly recorded: DataRecord["split"]["train"];
  readonly requested: ExtendedSet["until"];
  readonly earlier?: DataRecord;
  /** Number of periods between the end of validation and the test; 0 by default. */
  readonly shift?: number;
}

async function readForecastData(settings: SeriesSettings, earlier?: DataRecord): Promise<ForecastData> {
  const options = { ...tableOptions(settings, earlier), targets: "channels" as const };
  const sources = sourcesOf(settings);
  const read = await readSeries(sources.data!, options);
  requireValues(read);
  const { set: extended, until } = await withLaterRows(
    read,
    sources,
    (source, columns) => readSeries(source, { ...options, ...columns }),
  );
  const time = earlier?.time ?? findCalendar(extended, settings.calendar);
  const set = earlier ? inRecordedOrder(extended, earlier) : inRecordedTimes(extended, time);
  const recorded = await recordSeries(set);
  if (earlier) requireSame(set.name, recorded, earlier);
  const requested = Object.fromEntries(
    Object.entries(until).map(([part, end]) => [part, lastTimeBy(end, extended, time)]),
  );
  const described = [
    ...describeSeries({ ...extended, notices: set.notices }),
    ...describeCalendar(time, settings.calendar),
  ];
  return { set, described, time, recorded, requested, earlier };
}

/** Last time of the rows of a set up to an end, in the times of a record. */
function lastTimeBy(end: number, set: SeriesSet, time: ForecastData["time"]): number {
  const series = set.series.map((one) => upTo(end, one, set.channels.length))
    .filter(({ times }) => times.length > 0);
  return largest(inRecordedTimes({ ...set, series }, time).series.map(({ times }) => times.at(-1)!));
}

/** Task of a model. @param training The choice of the model, for the record. */
async function forecastTask(
  settings: SeriesSettings,
  { kinds, set, described, time, recorded, requested, earlier, shift = 0 }: ForecastData & Kinds,
  training?: RecordedTraining,
): Promise<ForecastTask> {
  const model = settings.model ?? defaultForecaster;
  const kind = await loadKind(kinds, model);
  const record = earlier ?? {
    ...await recordOf({ set, time, recorded, requested, shift }, settings, kind),
    ...(training ? { training } : {}),
  };
  const forecaster = windowForecaster(settings, record, kind);
  const { forecast } = forecaster;
  const { parameters, host } = forecaster.model;
  const windows = windowsOfParts(set.series, record, host?.reads === "histories");
  for (const [part, { length }] of Object.entries(windows)) {
    if (length > 0) continue;
    throw new DataError(
      "too-small",
      `${set.name}: the ${part} part of no series is long enough for a forecast of ${
        countedSteps(record.windows!.horizon, record.windows!.gap, record.time.kind)
      }`,
      {
        option: "horizon",
        fixes: [(write) => `lower ${write("horizon")}, or give longer series`],
      },
    );
  }
  requireTargets(set, windows, record);
  const { gap, season, until } = record.windows!;
  const width = set.channels.length;
  const batches = mapSplits(windows, forecaster.toBatch);
  /** Errors that the comparison found: the network then learns from the validation part too. */
  const comparisonErrors = record.training?.errors;
  const learned = comparisonErrors
    ? windowsOf(set.series, width, record.windows!, { from: -Infinity, to: until.validation })
    : windows.train;
  const data = comparisonErrors ? { train: forecaster.toBatch(learned), test: batches.test } : batches;
  // Runs with version 1 of the record were trained with gradients, whatever their model.
  const closed = record.version === 1
    ? undefined
    : closedFormOf(forecaster, { record, series: set.series, windows, batches });
  const task: Task = {
    record,
    description: [
      describeRecord(record),
      ...described,
      ...((closed || comparisonErrors) && until.validation > until.train
        ? ["the final model learns from the training and the validation part"]
        : []),
      ...describeShortSeason(
        {
          gap,
          times: set.times,
          calendar: record.time.calendar,
          series: set.series.map((one) => upTo(until.train, one, width)),
        },
        season,
        settings.season !== undefined,
      ),
      ...describeUnused(set.series, record.windows!),
    ],
    testSize: plural(windows.test.length, "window"),
    parameters,
    ...(closed
      ? { epochs: 1, fit: () => closed.fit(until.train) }
      : gradientTraining({ parameters, settings, record, samples: learned.length })),
    onLoad: () => forecaster.refresh(batches, windows),
    data,
    evaluate: forecaster.evaluate,
    weights: maskedCounts,
    metric: { name: "loss", mode: "min" },
    async calibrate() {
      if (comparisonErrors) {
        forecaster.useCalibration(comparisonErrors);
        return comparisonErrors;
      }
      const folds = closed?.folds() ?? [{ windows: windows.validation }];
      return { ...await forecaster.calibrate(folds, closed && (() => closed.fit(until.validation))) };
    },
    useCalibration: forecaster.useCalibration,
    evaluatePredictions: async () =>
      (await evaluation()).evaluateForecasts({ windows: windows.test, record, forecast, model }),
    chosen: windowsInWords(record),
    unused: withoutEffect(kind, closed !== undefined),
    examples: async () => [
      await (await evaluation()).forecastExamples({ windows: windows.test, record, forecast }),
    ],
  };
  return {
    ...withComparison(task, record.training),
    seconds(epochs) {
      const rows = set.series.reduce((sum, { times }) => sum + times.length, 0);
      const { length: outputs } = targetChannelsOf(record.channels);
      if (closed) return fitSeconds(kind, { samples: 1, rows, channels: width, outputs });
      const { batchSize } = settings;
      const { train, validation } = mapSplits(windows, ({ length }) => Math.ceil(length / batchSize));
      const { context, horizon } = record.windows!;
      const sizes = { parameters: parameterCount(parameters), batchSize, rows: context + horizon };
      return (epochs * train + validation) * stepSeconds(sizes);
    },
    async scoreValidation() {
      // A fit in closed form has refreshed the forecasts.
      if (!closed) await forecaster.refresh(batches, windows);
      // All models are compared on the same windows.
      const span = { from: until.train, to: until.validation };
      const compared = windowsOf(set.series, width, record.windows!, span, historyWindows.test);
      return (await evaluation()).forecastErrors({ windows: compared, record, forecast });
    },
  };
}

async function recordOf(
  { set, time: { calendar }, recorded, requested, shift = 0 }: Omit<ForecastData, "described" | "earlier">,
  settings: SeriesSettings,
  kind: Pick<WindowModelKind, "contextOf">,
): Promise<DataRecord> {
  const { horizon: chosenHorizon = 24, ...chosen } = settings;
  const gap = set.times === "month" ? Math.max(1, Math.round(typicalGap(set))) : typicalGap(set);
  const horizon = stepsOf(chosenHorizon, gap, set.times, calendar);
  const width = set.channels.length;
  const targetChannels = set.channels.keys().filter((i) => (set.kinds?.[i].role ?? "observed") === "observed")
    .toArray();
  if (targetChannels.length === 0) {
    throw new Error(
      `${set.name}: no column is left to forecast: all are known ahead of time, or one value for a series`,
    );
  }
  const latest = untilOf(set.series, { span: horizon * gap, width, targetChannels, requested });
  const earlier = shift * (latest.validation - latest.train);
  const until = { train: latest.train - earlier, validation: latest.validation - earlier };
  const train = set.series.map((one) => upTo(until.train, one, width));
  const rows = largest(train.map(({ times }) => times.length));
  const channels = recordChannels(set, train, settings);
  const season = chosen.season ??
    seasonOf({ gap, times: set.times, calendar, series: train, channels: width, targetChannels });
  const { context = kind.contextOf?.(season) ?? defaultContext(rows, horizon, season) } = chosen;
  // Falls back to the standard deviation if there are no values one season apart, or if all differences are
  // 0.
  const scaledErrors = (series: readonly Series[]) =>
    seasonalErrorsOf(series, width, { gap, season })
      .map((error, channel) => error / channels[channel].standardDeviation);
  const seasonalErrors = scaledErrors(train).map((error) => error || 1);
  return {
    version: recordVersion,
    channels,
    time: { ...recordTimes(set, 0.1 / gap), ...(calendar ? { calendar } : {}) },
    // Inputs have the same length in training and in forecasts: a spline depends on how far a series is
    // padded.
    length: Math.max(context, longestPast(set.series, { gap, context, horizon })),
    classes: [],
    windows: {
      gap,
      context,
      horizon,
      season,
      fillsSeason: true,
      seasonalErrors,
      errorsOfSeries: train.map((one) => scaledErrors([one]).map((error) => error || null)),
      until,
      trained: await Promise.all(train.map(digestOfSeries)),
    },
    split: { train: recorded, validation: [], test: [] },
    ignored: set.ignored ?? [],
    ...(set.columns ? { columns: set.columns } : {}),
    ranges: rangesOf({ channels }, set.series.map((one) => upTo(until.validation, one, width))),
  };
}
