/** Executes a run, from its configuration to its report. */
import { platform } from "../../platform/current.ts";
import { parameterCount } from "../../nn/layer.ts";
import { checkOptions, namesOf } from "../../device/options.ts";
import { WeftError } from "../../device/errors.ts";
import { printable } from "../../device/printable.ts";
import type { DeviceInfo } from "../../device/device.ts";
import { foldIn, key } from "../../tensor/random.ts";
import { arithmeticMetadata, arithmeticOf, arithmeticWarning, trainedOn } from "./arithmetic.ts";
import { prepareOnDevice } from "./choose_device.ts";
import { loadWeights, type Metadata, readState, saveWeights, startPosition } from "./checkpoint.ts";
import {
  checkConfigNames,
  checkValues,
  type DataDescription,
  type Experiment,
  optionsOf,
} from "../experiment.ts";
import type { OptionSchema } from "../option.ts";
import {
  missingBest,
  missingRecord,
  readRecord,
  recordDigest,
  requireRecordOf,
  writeRecord,
} from "./record.ts";
import { checkSettings, dataPaths, type RunConfig, sealedSettings } from "./config.ts";
import { absolutePath, diskOf, exists, removeIfPresent, writeAtomically } from "../../files/disk.ts";
import { isRecord, parseJson } from "../../files/json.ts";
import { evaluate } from "../evaluate.ts";
import { readCheckedSafetensors } from "../../files/safetensors.ts";
import { callbackNames, train, type TrainOptions, type TrainResult } from "../loop.ts";
import { requireFinite } from "../measure_checks.ts";
import { displayResult } from "../report/display_result.ts";
import { openProgress, type StartedReport } from "./run_progress.ts";
import { renderReport } from "../report/report.ts";
import { createRun, hasCheckpoint, lockRun, type RunFolder, writeJson } from "./run_folder.ts";
import type { RunSummary } from "./run_summary.ts";
import { describeSplit, type StepSplit } from "../step.ts";
import type { Calibration, Evaluation, Task, WeightedModel } from "../task.ts";

/** Metadata keys of the weights: the settings, the digest of the data record, and the calibration. */
const settingsKey = "weft.settings";
const recordKey = "weft.data";
const calibrationKey = "weft.calibration";

/** A prepared run. */
export interface Run {
  /** Configuration of the run. */
  readonly config: RunConfig;
  /** Paths of the run's files. */
  readonly folder: RunFolder;
  /** Model, data and optimiser. */
  readonly task: Task;
  /** Device of the run. */
  readonly device: DeviceInfo;
  /** Why `"auto"` chose the device, in a line. Undefined for other choices, and without a GPU. */
  readonly deviceReason?: string;
  /** Whether to resume from the checkpoint in the folder. */
  readonly resume: boolean;
  /** Options of the experiment, whose help texts explain the settings in the report. */
  readonly options?: OptionSchema;
}

/**
 * Prepares a new run, and makes its folder.
 *
 * @param place Folder of runs, where a folder is made named after the experiment and the time; or the run's
 * folder itself.
 * @throws {Error} If the experiment cannot use a setting of the configuration.
 */
export async function startRun(
  experiment: Experiment,
  config: RunConfig,
  place: string | RunFolder,
): Promise<Run> {
  const prepared = await prepareNew(experiment, config);
  const resolved = withDataPaths(config, absolutePath);
  const folder = typeof place === "string" ? await createRun(place, config.experiment, resolved) : place;
  if (typeof place !== "string") await writeJson(folder.config, resolved);
  return { ...prepared, config: resolved, folder, resume: false };
}

/**
 * Prepares a new run's model, data and device. Writes nothing.
 *
 * @throws {Error} If the experiment cannot use a setting of the configuration.
 */
export async function prepareNew(
  experiment: Experiment,
  config: RunConfig,
): Promise<Omit<Run, "folder" | "resume">> {
  checkConfigNames("startRun", experiment, config);
  const { experiment: _, ...settings } = config;
  checkValues(experiment, settings);
  experiment.check?.(settings as Parameters<NonNullable<Experiment["check"]>>[0]);
  return await prepare(experiment, config);
}

/**
 * Prepares to resume a run, possibly with more epochs than before.
 *
 * @throws {Error} If the data differ from the run's original data.
 */
export async function resumeRun(experiment: Experiment, config: RunConfig, folder: RunFolder): Promise<Run> {
  return {
    ...await openRun(experiment, withDataPaths(config, absolutePath), folder, folder.last),
    resume: true,
  };
}

/**
 * Prepares an existing run with its original data. Writes nothing.
 *
 * @param weights File of the weights to use.
 * @throws {Error} If the data or the settings differ from the run's original ones.
 */
export async function openRun(
  experiment: Experiment,
  config: RunConfig,
  folder: RunFolder,
  weights = folder.best,
): Promise<Omit<Run, "resume">> {
  const record = await readRecord(folder.data);
  if (record) experiment.checkRecord?.(record, folder.data);
  // Check the best weights, too, since training tests them at its end.
  const metadata = await checkOrigin(folder, config, record, weights);
  if (weights !== folder.best) await checkOrigin(folder, config, record, folder.best);
  if (config.data === undefined && experiment.options.data?.default !== undefined) {
    throw new Error(
      `${folder.config}: damaged: data is missing, expected the path of the training data`,
    );
  }
  for (const name of dataPaths) {
    const path = config[name];
    if (path === undefined || await exists(path)) continue;
    throw new WeftError(
      "unreadable-file",
      `${path}: no such file or folder; the run was started with this path`,
      {
        option: name,
        fixes: [
          (write) =>
            `give the new path with ${write(name)}` +
            (name === "data" ? `; evaluate also needs ${write("testPart")}` : ""),
        ],
      },
    );
  }
  const prepared = await prepare(experiment, config, record, metadata);
  if (prepared.task.record && !record && (await exists(folder.last) || await exists(folder.best))) {
    throw missingRecord(folder);
  }
  return { ...prepared, folder };
}

/**
 * Rejects a configuration and a record that do not belong to the weights, before a model is made from them.
 * Without weights, all are accepted.
 *
 * @returns The metadata of the weights.
 */
export async function checkOrigin(
  folder: RunFolder,
  config: RunConfig,
  record: DataDescription | undefined,
  weights: string,
): Promise<Metadata | undefined> {
  if (!await exists(weights)) return undefined;
  const { metadata } = await readCheckedSafetensors(weights);
  checkSettings(folder, config, weights, metadata[settingsKey]);
  await requireRecordOf(weights, metadata[recordKey], folder, record);
  return metadata;
}

/** Changes the paths of the data: to absolute ones, for later commands in another folder, or to the names alone. */
function withDataPaths(config: RunConfig, change: (path: string) => string): RunConfig {
  const paths = dataPaths.flatMap((name) => config[name] === undefined ? [] : [[name, change(config[name])]]);
  return { ...config, ...Object.fromEntries(paths) };
}

async function prepare(
  experiment: Experiment,
  config: RunConfig,
  record?: DataDescription,
  weights: Metadata = {},
): Promise<Omit<Run, "folder" | "resume">> {
  const prepared = await prepareOnDevice(
    config,
    () => experiment.prepare(config, record),
    trainedOn(weights),
  );
  return { config, ...prepared, options: optionsOf(experiment) };
}

const executeOptionNames = namesOf<NonNullable<Parameters<typeof execute>[1]>>()(
  callbackNames,
  "isLocked? onWarning? onPlan? onEpochs? showsExamples?",
);

/**
 * Trains a run. Unless interrupted, tests the best weights and writes the summary. Always writes the report.
 *
 * @param run Run of {@linkcode startRun} or {@linkcode resumeRun}, or of a custom task with an existing
 * folder.
 * @param options Callbacks and signal of {@linkcode train}. `isLocked`: the caller has locked the folder.
 * `onWarning` is called with a line if a run resumes with an arithmetic that differs from its checkpoint, or if a
 * step of one sample takes too much memory; by default `console.warn`. `onPlan` is called with lines about the
 * search for the length of training, and about batches that are split, since they take too much memory, and
 * `onEpochs` with the number of epochs before training starts. `showsExamples`: `progress.json` also has the
 * examples of the report, which take at most 5 % of the time.
 * @returns Result of training, with the summary if the run is complete.
 * @throws {Error} If another process trains in the folder, or files in the folder are damaged or have other
 * settings.
 */
export async function execute(
  run: Run,
  options: Pick<TrainOptions, "signal" | "onLoss" | "onEpoch" | "onProgress"> & {
    isLocked?: boolean;
    showsExamples?: boolean;
    onWarning?: (line: string) => void;
    onPlan?: (line: string) => void;
    onEpochs?: (epochs: number) => void;
  } = {},
): Promise<TrainResult & { summary?: RunSummary }> {
  checkOptions("execute", options, executeOptionNames);
  const {
    isLocked = false,
    showsExamples = false,
    onWarning = (line: string) => console.warn(printable(line)),
    onPlan,
    onEpochs,
    ...callbacks
  } = options;
  const { config, folder, device } = run;
  await using _lock = isLocked ? undefined : await lockRun(folder);
  const resume = run.resume && await hasCheckpoint(folder);
  await using progress = await openProgress(folder, {
    device: device.description,
    report: contentOf(run, run.task),
  });
  const task = resume || !run.task.plan
    ? run.task
    : await run.task.plan({ signal: callbacks.signal, onLine: progress.planning(onPlan) });
  if (!task) return { position: startPosition, interrupted: true, metrics: [] };
  const epochs = task.epochs ?? config.epochs;
  if (epochs === undefined) {
    throw new TypeError("execute: neither the configuration nor the task has epochs; expected one of them");
  }
  onEpochs?.(epochs);
  progress.update({ epochs, planning: undefined, report: contentOf(run, task) });
  if (!resume && task.record) await writeRecord(folder.data, task.record);
  const arithmetic = arithmeticOf(device, task.parameters);
  const metadata = {
    [settingsKey]: sealedSettings(config),
    ...(task.record ? { [recordKey]: await recordDigest(task.record) } : {}),
    ...arithmeticMetadata(arithmetic),
  };
  let split: StepSplit | undefined;
  const result = await train(task, {
    ...progress.following(callbacks, showsExamples ? task.examples && (() => task.examples!()) : undefined),
    onSplit(newSplit) {
      split = newSplit;
      progress.update({ report: contentOf(run, task, split) });
      const line = describeSplit(newSplit, task.memory!);
      if (newSplit.isOverLimit) onWarning(`weft: ${line}`);
      else onPlan?.(line);
    },
    epochs,
    batchSize: config.batchSize,
    // A key that differs from those that experiments split from the seed's key.
    key: foldIn(key(config.seed), 0),
    folder,
    metadata,
    resume,
    async onResume() {
      const { metadata: saved } = await readCheckedSafetensors(folder.last);
      const warning = arithmeticWarning(folder.last, saved, arithmetic);
      if (warning) onWarning(`weft: ${warning}`);
      // The results of the run with fewer epochs are outdated.
      for (const file of [folder.summary, folder.failure]) await removeIfPresent(file);
      await writeJson(folder.config, config);
    },
  });
  const { best } = result.position;
  const tested = result.interrupted || !best
    ? undefined
    : await calibrateBest({ ...run, task }, best.epoch, metadata)
      .then(() => testBest({ ...run, task }));
  const summary = !tested || !best ? undefined : {
    experiment: config.experiment,
    test: tested.measures,
    ...(Object.keys(tested.baselines).length > 0 ? { baselines: tested.baselines } : {}),
    ...(tested.verdict === undefined ? {} : { verdict: tested.verdict }),
    ...(task.notices?.length ? { notices: task.notices } : {}),
    ...(tested.warnings?.length ? { warnings: tested.warnings } : {}),
    bestEpoch: best.epoch,
    epochs: result.position.epoch,
    parameters: parameterCount(task.parameters),
    seconds: result.position.seconds,
    peakMemory: platform.peakMemory?.(),
    ...(split ? { gradientParts: split.parts } : {}),
    device: device.kind,
    deviceDescription: device.description,
    seed: config.seed,
  };
  await writeAtomically(
    folder.report,
    renderReport({
      ...contentOf(run, task, split),
      verdict: summary?.verdict,
      verdictMeasure: tested?.verdictMeasure,
      metrics: result.metrics,
      summary,
      sections: [
        ...(summary?.warnings ? [{ kind: "text", title: "Warnings", lines: summary.warnings } as const] : []),
        ...await task.examples?.() ?? [],
        ...await tested?.sections() ?? [],
      ],
    }),
  );
  // The last file: a run with a summary has ended, and has all of its files.
  if (summary) await writeJson(folder.summary, summary);
  return displayResult({ ...result, summary }, task);
}

/** The part of a report that is known before training. Reports may be shared: it omits the local path of the data. */
function contentOf({ config, options = {} }: Run, task: Task, split?: StepSplit): StartedReport {
  return {
    config: withDataPaths(config, (path) => diskOf(path).nameOf(path)),
    metric: task.metric,
    options: Object.fromEntries(Object.entries(options).map(([name, { help }]) => [name, { help }])),
    chosen: split ? { ...task.chosen, memory: describeSplit(split, task.memory!) } : task.chosen,
    unused: task.unused,
    description: task.description,
  };
}

/** Refits and calibrates the task with the best weights, and stores the calibration with them. */
async function calibrateBest({ task, folder }: Run, epoch: number, metadata: Metadata): Promise<void> {
  if (!task.calibrate && !task.refit) return;
  await loadWeights(folder.best, task.parameters);
  await task.onLoad?.();
  await task.refit?.();
  const calibration = await task.calibrate?.();
  await saveWeights(folder.best, await readState({ parameters: task.parameters }), epoch, {
    ...metadata,
    ...(calibration ? { [calibrationKey]: JSON.stringify(calibration) } : {}),
  });
}

/**
 * Loads a run's best weights, and their calibration if present.
 *
 * @throws {Error} If the weights are missing or damaged.
 */
export async function loadBest({ best }: RunFolder, model: WeightedModel): Promise<void> {
  if (!await exists(best)) throw missingBest(best);
  await loadWeights(best, model.parameters);
  await model.onLoad?.();
  const calibration = await readCalibration(best);
  if (calibration) model.useCalibration?.(calibration);
}

/** The calibration in a file of weights, if it has one. */
export async function readCalibration(weights: string): Promise<Calibration | undefined> {
  const { metadata } = await readCheckedSafetensors(weights);
  const calibration = parseJson(metadata[calibrationKey] ?? "");
  return isRecord(calibration) ? calibration : undefined;
}

/**
 * Tests the best weights on the test set of the run's original data: the measures of the loss and of the
 * predictions, and those of baselines.
 *
 * @throws {Error} If a measure is not finite.
 */
export async function testBest({ task, folder, config }: Omit<Run, "resume">): Promise<Evaluation> {
  await loadBest(folder, task);
  const measures = await evaluate(task, task.data.test, config.batchSize);
  const evaluated = await task.evaluatePredictions?.();
  return {
    measures: requireFinite({ ...measures, ...evaluated?.measures }, "test"),
    baselines: evaluated?.baselines ?? {},
    verdict: evaluated?.verdict,
    verdictMeasure: evaluated?.verdictMeasure,
    warnings: evaluated?.warnings,
    sections: async () => await evaluated?.sections() ?? [],
  };
}
