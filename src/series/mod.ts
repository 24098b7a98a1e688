/**
 * Models for users' own series: reading, scaling, splits, classification, regression, forecasts, calibration,
 * streams, prediction and evaluation.
 *
 * {@linkcode classify}, {@linkcode regress} and {@linkcode forecast} train a model on data in memory.
 * {@linkcode openTrained} opens a trained model in a page, in Node or in Deno.
 * {@linkcode ownSeries} is the experiment of `deno task train own-series`; {@linkcode seriesExperiment} makes
 * an experiment for other labelled series.
 *
 * @module
 */
export type { LinearModel } from "./math/linear_model.ts";
export type { BlockSums } from "./record/block_mean.ts";
export type { SummaryState } from "./record/running_summary.ts";
export type { RecordedAsinh } from "./record/scaled_values.ts";
export {
  channelPlaces,
  checkDataRecord,
  countSeen,
  type DataRecord,
  describeRecord,
  type RecordedChannel,
  type RecordedCondensing,
  type RecordedForm,
  type RecordedGrid,
  type RecordedPace,
  type RecordedRange,
  type RecordedRanges,
  type RecordedSeries,
  type RecordedTarget,
  type RecordedWindows,
  recordVersion,
  requireSame,
  takeColumns,
} from "./record/data_record.ts";
export type { ComparedModel, RecordedTraining } from "./record/recorded_training.ts";
export { digestOf } from "../files/digest.ts";
export type { RecordedCalendar } from "./record/calendar.ts";
export type { ClassificationOptions } from "./targets/classification.ts";
export type { ClassificationRules, ClassifierOptions } from "./targets/classifier.ts";
export {
  blocksOf,
  type ForecastModel,
  forecastModel,
  type ForecastModelKind,
  forecastModels,
  type ForecastModelSizes,
  nearestSize,
  warpParameters,
} from "./models/next_step_models.ts";
export { forecastVerdict } from "./targets/forecast_verdict.ts";
export type { Horizon } from "./record/horizon.ts";
export {
  classify,
  type ClassifyOptions,
  forecast,
  type ForecastOptions,
  type LearnedModel,
  type LearnOptions,
  regress,
  type RegressOptions,
} from "./run/learn.ts";
export {
  type FitSize,
  kindNamed,
  loadKind,
  type ModelExperiment,
  type ModelKind,
  type ModelRules,
  modelRules,
  type ModelSetting,
} from "./models/model_settings.ts";
export type { ColumnNames, ObservationStream } from "./run/observation_stream.ts";
export {
  type FileContent,
  openTrained,
  type OpenTrainedOptions,
  type Predictions,
  type RunFiles,
} from "./run/open_trained.ts";
export { type Model } from "./models/model.ts";
export { ownSeries, type OwnSeriesOptions, ownSeriesWith } from "./run/own_series.ts";
export { seriesModels } from "./models/series_models.ts";
export type {
  FitData,
  HostForecast,
  HostModel,
  WindowInputs,
  WindowModel,
  WindowModelKind,
  WindowModelSizes,
} from "./models/forecaster.ts";
export type { ForecastWindow } from "./read/forecast_windows.ts";
export { csvOf } from "./read/csv.ts";
export * from "./targets/prediction_table.ts";
export {
  type ChannelForecast,
  type CheckedPrediction,
  type ClassPrediction,
  type FollowedState,
  type ForecastPrediction,
  type NumberPrediction,
  type Prediction,
  type PredictionStream,
  type PredictionStreamState,
  type RangeCode,
  rangeCodes,
  type RangeWarning,
  type RowsState,
  type TaskKind,
  taskKinds,
} from "./record/predictions.ts";
export type { Predictor } from "./run/predictor.ts";
export { readSeries, type SeriesReadOptions } from "./read/read_series.ts";
export { seriesExperiment } from "./run/series_experiment.ts";
export type { SeriesKeys, SeriesProblem } from "./run/series_problem.ts";
export * from "./models/whole_series.ts";
export * from "./models/neural/neural_models.ts";
export type {
  FittedModelKind,
  SeriesInputs,
  SeriesNetwork,
  SeriesNetworkOptions,
} from "./models/series_network.ts";
export { type ObservationRows, openRows, type SeriesReading } from "./models/series_reading.ts";
export type { SeriesSource, TargetKind } from "./record/series_source.ts";
export {
  dataOptions,
  type DataSources,
  modelOptions,
  type SeriesModelSettings,
  type SeriesSettings,
  taskOptions,
} from "./record/settings.ts";
export {
  type FileSamples,
  measureNew,
  type NewMeasures,
  requirePredictions,
  type SampleKind,
  type TrainedModel,
} from "./models/trained_model.ts";
