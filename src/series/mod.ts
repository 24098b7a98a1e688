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
export type { BlockSums } from "./block_mean.ts";
export {
  type ComparedModel,
  type DataRecord,
  describeRecord,
  type RecordedChannel,
  type RecordedCondensing,
  type RecordedGrid,
  type RecordedPace,
  type RecordedRange,
  type RecordedRanges,
  type RecordedSeries,
  type RecordedTarget,
  type RecordedTraining,
  type RecordedWindows,
} from "./data_record.ts";
export type { RecordedCalendar } from "./calendar.ts";
export type { ClassificationOptions, ClassificationRules, ClassifierOptions } from "./classification.ts";
export {
  type ForecastModel,
  type ForecastModelKind,
  forecastModels,
  type ForecastModelSizes,
} from "./forecast_models.ts";
export { forecastVerdict } from "./forecast_verdict.ts";
export type { Horizon } from "./horizon.ts";
export {
  classify,
  type ClassifyOptions,
  forecast,
  type ForecastOptions,
  type LearnedModel,
  type LearnOptions,
  regress,
  type RegressOptions,
} from "./learn.ts";
export {
  type ModelExperiment,
  type ModelKind,
  type ModelRules,
  modelRules,
  type ModelSetting,
} from "./model_kind.ts";
export type { ColumnNames, ObservationStream } from "./observation_stream.ts";
export {
  type FileContent,
  openTrained,
  type OpenTrainedOptions,
  type Predictions,
  type RunFiles,
} from "./open_trained.ts";
export { ownSeries } from "./own_series.ts";
export * from "./prediction_table.ts";
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
} from "./predictions.ts";
export type { Predictor } from "./predictor.ts";
export { seriesExperiment, type SeriesKeys, type SeriesProblem } from "./series_experiment.ts";
export * from "./series_model.ts";
export * from "./series_models.ts";
export type { FittedModelKind, SeriesInputs, SeriesNetwork, SeriesNetworkOptions } from "./series_network.ts";
export { type ObservationRows, openRows, type SeriesReading } from "./series_reading.ts";
export type { SeriesSource, TargetKind } from "./series_source.ts";
export type { DataSources, SeriesModelSettings, SeriesSettings } from "./settings.ts";
export {
  type FileSamples,
  measureNew,
  type NewMeasures,
  requirePredictions,
  type SampleKind,
  type TrainedModel,
} from "./trained_model.ts";
