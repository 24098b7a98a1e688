/**
 * The training loop, checkpoints, reports and experiments, of which the commands are made.
 *
 * A {@linkcode Task} is a model, its data, its optimiser and its loss: {@linkcode train} trains it, and {@linkcode execute}
 * also tests the best weights and writes a report. An {@linkcode Experiment} makes a task from settings, as `deno task train`
 * takes them. All of them read and write files, and need the permission to (`--allow-read --allow-write`).
 *
 * @example A model of your own, from its data to a report
 * ```ts
 * import { accuracy, Adam, crossEntropy, CubicSpline, init, key, naturalCubicCoeffs, NeuralCDE, tensor } from "@weft/weft";
 * import { mapSplits, spirals, stackSeries, stratifiedSplit } from "@weft/weft/data";
 * import { execute, type RunConfig, runFolder, type Task } from "@weft/weft/train";
 *
 * const config: RunConfig = {
 *   experiment: "my spirals",
 *   device: "cpu",
 *   seed: 0,
 *   epochs: 5,
 *   batchSize: 10,
 *   learningRate: 0.01,
 *   hidden: 8,
 * };
 * const { info: device } = await init({ device: config.device });
 *
 * const { series } = spirals(200, key(0), { length: 16 });
 * const data = mapSplits(stratifiedSplit(series, key(1)), (part) => {
 *   const { values, shape, labels } = stackSeries(part, 2, 16); // time, x, y
 *   return { coeffs: naturalCubicCoeffs(tensor(values, { shape })), labels: tensor(labels, { dtype: "int32" }) };
 * });
 *
 * const model = NeuralCDE({
 *   inputChannels: 3,
 *   hiddenChannels: config.hidden,
 *   outputChannels: 2,
 *   width: 16,
 *   depth: 1,
 *   key: key(2),
 * });
 * const task: Task<typeof data.train> = {
 *   parameters: model.parameters,
 *   optimizer: Adam(model.parameters, { learningRate: config.learningRate }),
 *   data,
 *   evaluate({ coeffs, labels }) {
 *     const logits = model(CubicSpline(coeffs));
 *     return { loss: crossEntropy(logits, labels), accuracy: accuracy(logits, labels) };
 *   },
 *   metric: { name: "accuracy", mode: "max" },
 * };
 *
 * const folder = runFolder(await Deno.makeTempDir());
 * const { summary } = await execute({ config, folder, task, device, resume: false });
 * console.log(`test accuracy ${summary?.test.accuracy.toFixed(2)}, report ${folder.report}`);
 * ```
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
export type { DeviceChoice } from "../device/choice.ts";
export type { Horizon } from "./experiments/horizon.ts";
export { type Recipe, recipes } from "./experiments/recipe.ts";
export { changeable, type NumberSetting, readRunConfig, type RunConfig, settingBounds } from "./config.ts";
export { type Bounds, describeBounds, isWithin } from "./bounds.ts";
export {
  type ForecastModel,
  type ForecastModelKind,
  forecastModels,
  type ForecastModelSizes,
} from "./experiments/forecast_models.ts";
export * from "./experiments/registry.ts";
export type { ModelKind, ModelSetting } from "./experiments/model_kind.ts";
export * from "./experiments/series_models.ts";
export type { SeriesReading } from "./experiments/series_reading.ts";
export { execute, openRun, resumeRun, type Run, type RunSummary, startRun, testBest } from "./run.ts";
export {
  type DataRecord,
  describeRecord,
  type RecordedChannel,
  type RecordedSeries,
  type RecordedTarget,
  type RecordedWindows,
} from "./data_record.ts";
export type { MeasureSums, Metadata, Position } from "./checkpoint.ts";
export type { ForecastChannel, ForecastFigure, GreyImage } from "./forecast_figure.ts";
export type { StopRule, WatchedMeasure } from "./stop.ts";
export * from "./trained_run.ts";
export { type EpochMetrics, findRun, type RunFolder, runFolder } from "./run_folder.ts";
export { evaluate } from "./evaluate.ts";
export * from "./loop.ts";
export { formatMeasure, formatSeconds, renderReport, type ReportContent } from "./report.ts";
export * from "./prediction_table.ts";
export {
  type ChannelForecast,
  type ClassPrediction,
  type FollowedState,
  type ForecastPrediction,
  type NumberPrediction,
  type Prediction,
  type PredictionStream,
  type PredictionStreamState,
  type RowsState,
  type TaskKind,
  taskKinds,
} from "./predictions.ts";
export type {
  Calibration,
  Evaluation,
  FileSamples,
  Measures,
  Sample,
  SampleKind,
  Task,
  TrainedModel,
} from "./task.ts";
