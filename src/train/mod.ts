/**
 * Training: loop, checkpoints, run folders, resumption, metrics and reports.
 *
 * A {@linkcode Task} has a model, its data, its optimiser and its loss: {@linkcode train} trains it, and
 * {@linkcode execute} also tests the best weights and writes a report. An {@linkcode Experiment} makes a task
 * from the values of its options. All of them read and write files, and need `--allow-read --allow-write`.
 *
 * @example A custom model, from its data to a report
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
 *   hiddenChannels: 8,
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
export type { DeviceChoice } from "../device/choice.ts";
export { type Bounds, describeBounds, isWithin } from "./bounds.ts";
export type { MeasureSums, Metadata, Position } from "./run/checkpoint.ts";
export { changeable, configOf, readRunConfig, type RunConfig } from "./run/config.ts";
export {
  type DataDescription,
  type Experiment,
  experimentNamed,
  type RunSettings,
  settingsOf,
  trainingOptions,
} from "./experiment.ts";
export type {
  BandMark,
  BarsMark,
  Chart,
  LineMark,
  Mark,
  Panel,
  PointsMark,
  RegionMark,
} from "../charts/chart.ts";
export { formatDuration } from "../charts/format.ts";
export type { Axis } from "../charts/scale.ts";
export type {
  Cell,
  ChartsSection,
  ConfusionSection,
  HeadCell,
  ImagesSection,
  Link,
  PixelImage,
  Section,
  TableSection,
  TextSection,
} from "../charts/section.ts";
export { evaluate } from "./evaluate.ts";
export {
  NonFiniteLossError,
  profileStep,
  type Progress,
  train,
  type TrainOptions,
  type TrainResult,
} from "./loop.ts";
export type { StepSplit } from "./step.ts";
export * from "./option.ts";
export * from "../device/errors.ts";
export { hintFor } from "../device/options.ts";
export { formatMeasure, measureName } from "./report/measure_names.ts";
export { readOutcome, type RunOutcome, type RunStart } from "./run/outcome.ts";
export { statistics } from "./report/statistics.ts";
export { renderReport, renderSections, type ReportContent } from "./report/report.ts";
export { execute, openRun, resumeRun, type Run, startRun, testBest } from "./run/run.ts";
export type { RunSummary } from "./run/run_summary.ts";
export type { EpochMetrics } from "./report/epoch_metrics.ts";
export { findRun, type RunFolder, runFolder } from "./run/run_folder.ts";
export type { StopRule, WatchedMeasure } from "./stop.ts";
export type {
  Calibration,
  ClosedForm,
  Collection,
  Evaluation,
  MeasuredModel,
  Measures,
  Optimization,
  PlanOptions,
  Samples,
  Task,
  TaskData,
  TaskReport,
  WeightedModel,
} from "./task.ts";
export { openBest, type TrainedRun } from "./run/trained_run.ts";
