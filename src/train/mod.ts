/**
 * Experiments, the training loop, checkpoints and reports: what the commands are made of. They read and write files, and
 * need the permission to.
 *
 * @module
 */
export {
  type Experiment,
  flag,
  type Settings,
  type SpecialSetting,
  specialSettings,
} from "./experiments/experiment.ts";
export { type Recipe, recipes } from "./experiments/recipe.ts";
export {
  changeable,
  type DeviceChoice,
  type NumberSetting,
  readRunConfig,
  type RunConfig,
  settingBounds,
} from "./config.ts";
export { type Bounds, describeBounds, isWithin } from "./bounds.ts";
export {
  type ForecastModel,
  forecastModels,
  type ForecastModelSizes,
} from "./experiments/forecast_models.ts";
export { experimentNamed, experiments } from "./experiments/registry.ts";
export {
  type SeriesModel,
  type SeriesModelKind,
  seriesModels,
  type SeriesModelSizes,
} from "./experiments/series_models.ts";
export { execute, openRun, resumeRun, type Run, type RunSummary, startRun, testBest } from "./run.ts";
export { type DataRecord, describeRecord, type RecordedChannel, type RecordedSeries } from "./data_record.ts";
export type { MeasureSums, Metadata, Position } from "./checkpoint.ts";
export type { ForecastChannel, ForecastFigure, GreyImage } from "./forecast_figure.ts";
export type { StopRule, WatchedMeasure } from "./stop.ts";
export { measureNew, type NewMeasures, openTrained, type TrainedRun } from "./trained_run.ts";
export { type EpochMetrics, type RunFolder, runFolder } from "./run_folder.ts";
export {
  evaluate,
  NonFiniteLossError,
  type Progress,
  train,
  type TrainOptions,
  type TrainResult,
} from "./loop.ts";
export { formatMeasure, formatSeconds, renderReport, type ReportContent } from "./report.ts";
export type { Answer, Measures, Sample, Task, TrainedModel } from "./task.ts";
