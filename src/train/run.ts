/** A run from its configuration to its report. */
import { executeOptionNames } from "./option_names.ts";
import { checkOptions } from "../device/options.ts";
import { basename, resolve } from "node:path";
import process from "node:process";
import { init } from "../device/init.ts";
import type { DeviceInfo } from "../device/device.ts";
import { foldIn, key } from "../tensor/random.ts";
import { arithmeticMetadata, arithmeticOf, arithmeticWarning } from "./arithmetic.ts";
import { loadWeights, type Metadata, saveWeights } from "./checkpoint.ts";
import { checkConfigNames, checkValues, type DataDescription, type Experiment } from "./experiment.ts";
import { missingRecord, readRecord, recordDigest, requireRecordOf, writeRecord } from "./record.ts";
import { checkSettings, type RunConfig, sealedSettings } from "./config.ts";
import { exists, writeAtomically } from "../files/disk.ts";
import { isRecord, parseJson } from "../files/json.ts";
import { evaluate } from "./evaluate.ts";
import { readCheckedSafetensors } from "../files/safetensors.ts";
import { train, type TrainOptions, type TrainResult } from "./loop.ts";
import { renderReport } from "./report.ts";
import { createRun, lockRun, type RunFolder, writeJson } from "./run_folder.ts";
import { type Evaluation, parameterCount, type Task, type WeightedModel } from "./task.ts";

/** Result of a run that has ended, the content of `summary.json`. */
export interface RunSummary {
  /** Name of the experiment. */
  readonly experiment: string;
  /** Means of the measures of the best weights over the test samples. */
  readonly test: Readonly<Record<string, number>>;
  /** The same of predictions that need no model, by their names, where the task has some. */
  readonly baselines?: Evaluation["baselines"];
  /** Epoch of the best weights, from 1. */
  readonly bestEpoch: number;
  /** Number of complete epochs. */
  readonly epochs: number;
  /** Number of learned numbers in the model. */
  readonly parameters: number;
  /** Seconds of training. */
  readonly seconds: number;
  /** Largest memory of the process until then, in bytes: Deno's own, some 60 MB, and the data's too. */
  readonly peakMemory: number;
  /** Kind of device that computed. */
  readonly device: DeviceInfo["kind"];
  /** The processor or the adapter, in words. */
  readonly deviceDescription: string;
  /** Seed of the run. */
  readonly seed: number;
}

/** The names under which weights carry the settings, and the digest of the record of the data, that they depend on, and their calibration. */
const settingsKey = "weft.settings";
const recordKey = "weft.data";
const calibrationKey = "weft.calibration";

/** A run that is ready to go. */
export interface Run {
  /** Configuration of the run. */
  readonly config: RunConfig;
  /** Paths of its files. */
  readonly folder: RunFolder;
  /** Model, data and optimiser. */
  readonly task: Task;
  /** Device that computes. */
  readonly device: DeviceInfo;
  /** Whether it goes on with what is in its folder. */
  readonly resume: boolean;
}

/**
 * Prepares a new run, and makes its folder.
 *
 * @param place The folder in which its own is made, by its experiment and the time; or its own.
 * @throws {Error} If the configuration has settings that the experiment cannot use.
 */
export async function startRun(
  experiment: Experiment,
  config: RunConfig,
  place: string | RunFolder,
): Promise<Run> {
  checkConfigNames("startRun", experiment, config);
  const { experiment: _, ...settings } = config;
  checkValues(experiment, settings);
  experiment.check?.(settings as Parameters<NonNullable<Experiment["check"]>>[0]);
  const prepared = await prepare(experiment, config);
  const own = withAbsolutePath(config);
  const folder = typeof place === "string" ? await createRun(place, config.experiment, own) : place;
  if (typeof place !== "string") await writeJson(folder.config, own);
  return { ...prepared, config: own, folder, resume: false };
}

/**
 * Prepares to go on with a run, perhaps for more epochs than it was started for.
 *
 * @throws {Error} If its data are not those that it was started with.
 */
export async function resumeRun(experiment: Experiment, config: RunConfig, folder: RunFolder): Promise<Run> {
  return { ...await openRun(experiment, withAbsolutePath(config), folder, folder.last), resume: true };
}

/**
 * Prepares what there is of a run with the data that it was started with, and writes nothing.
 *
 * @param weights The file whose weights are to be used.
 * @throws {Error} If its data or settings are not those that it was started with.
 */
export async function openRun(
  experiment: Experiment,
  config: RunConfig,
  folder: RunFolder,
  weights = folder.best,
): Promise<Omit<Run, "resume">> {
  const record = await readRecord(folder.data);
  if (record) experiment.checkRecord?.(record, folder.data);
  // Training tests the best weights at its end.
  for (const file of new Set([weights, folder.best])) await checkOrigin(folder, config, record, file);
  if (config.data === undefined && experiment.options.data?.default !== undefined) {
    throw new Error(
      `${folder.config}: damaged: data is missing, expected the path of what the run learns from`,
    );
  }
  if (config.data !== undefined && !await exists(config.data)) {
    throw new Error(
      `${config.data}: no such file or folder, and the run was started with it: name its new place ` +
        "with --data, and for evaluate with --test-part besides",
    );
  }
  const prepared = await prepare(experiment, config, record);
  if (prepared.task.record && !record && (await exists(folder.last) || await exists(folder.best))) {
    throw new Error(missingRecord(folder));
  }
  return { ...prepared, folder };
}

/**
 * Refuses a configuration and a record that are not those which weights were made with, before a model is made of them.
 * Before there are weights, any are accepted.
 */
export async function checkOrigin(
  folder: RunFolder,
  config: RunConfig,
  record: DataDescription | undefined,
  weights: string,
): Promise<void> {
  if (!await exists(weights)) return;
  const { metadata } = await readCheckedSafetensors(weights);
  checkSettings(folder, config, weights, metadata[settingsKey]);
  await requireRecordOf(weights, metadata[recordKey], folder, record);
}

/** A configuration with the absolute path of its data, for commands that are called in another folder later. */
function withAbsolutePath(config: RunConfig): RunConfig {
  return config.data === undefined ? config : { ...config, data: resolve(config.data) };
}

async function prepare(
  experiment: Experiment,
  config: RunConfig,
  record?: DataDescription,
): Promise<Omit<Run, "folder" | "resume">> {
  const { info } = await init({ device: config.device, blas: config.blas });
  const task = await experiment.prepare(config, record);
  return { config, task, device: info };
}

/**
 * Whether there is a checkpoint to go on from. A run that was killed before its first one starts anew.
 *
 * @throws {Error} If there is none although there was.
 */
async function hasCheckpoint(folder: RunFolder): Promise<boolean> {
  if (await exists(folder.last)) return true;
  for (const made of [folder.best, folder.summary, folder.metrics]) {
    if (await exists(made)) {
      throw new Error(
        `${folder.last}: no such file, though ${made} is there: the run cannot go on without it`,
      );
    }
  }
  return false;
}

/**
 * Trains, and, unless it was interrupted, tests the best weights and writes the summary. The report is written anyway.
 *
 * @param run Run of {@linkcode startRun} or {@linkcode resumeRun}, or of a task of your own with a folder that exists.
 * @param options Callbacks and signal of {@linkcode train}; `isLocked`: the caller keeps other processes out; `onWarning` is
 * called with a line where a run goes on with other arithmetic than that of its checkpoint, `console.warn` by default.
 * @returns Result of the training, with the summary of one that has ended.
 * @throws {Error} If another process trains in the run's folder, or what is there is damaged or made with other settings.
 */
export async function execute(
  run: Run,
  options: Pick<TrainOptions, "signal" | "onEpoch" | "onProgress"> & {
    isLocked?: boolean;
    onWarning?: (line: string) => void;
  } = {},
): Promise<TrainResult & { summary?: RunSummary }> {
  checkOptions("execute", options, executeOptionNames);
  const { isLocked = false, onWarning = (line: string) => console.warn(line), ...callbacks } = options;
  const { config, folder, task, device } = run;
  await using _lock = isLocked ? undefined : await lockRun(folder);
  const resume = run.resume && await hasCheckpoint(folder);
  if (!resume && task.record) await writeRecord(folder.data, task.record);
  const arithmetic = arithmeticOf(device, task.parameters);
  const metadata = {
    [settingsKey]: sealedSettings(config),
    ...(task.record ? { [recordKey]: await recordDigest(task.record) } : {}),
    ...arithmeticMetadata(arithmetic),
  };
  const result = await train(task, {
    ...callbacks,
    epochs: config.epochs,
    batchSize: config.batchSize,
    // The experiments split the seed's key; this is none of theirs.
    key: foldIn(key(config.seed), 0),
    folder,
    metadata,
    resume,
    async onResume() {
      const { metadata: saved } = await readCheckedSafetensors(folder.last);
      const warning = arithmeticWarning(folder.last, saved, arithmetic);
      if (warning) onWarning(`weft: ${warning}`);
      // Those of fewer epochs are outdated.
      for (const file of [folder.summary, folder.failure]) if (await exists(file)) await Deno.remove(file);
      await writeJson(folder.config, config);
    },
  });
  const { best } = result.position;
  const tested = result.interrupted || !best ? undefined : await calibrateBest(run, best.epoch, metadata)
    .then(() => testBest(run));
  const summary = !tested || !best ? undefined : {
    experiment: config.experiment,
    test: tested.measures,
    ...(Object.keys(tested.baselines).length > 0 ? { baselines: tested.baselines } : {}),
    bestEpoch: best.epoch,
    epochs: result.position.epoch,
    parameters: parameterCount(task),
    seconds: result.position.seconds,
    peakMemory: 1024 * process.resourceUsage().maxRSS,
    device: device.kind,
    deviceDescription: device.description,
    seed: config.seed,
  };
  if (summary) await writeJson(folder.summary, summary);
  await writeAtomically(
    folder.report,
    renderReport({
      // Others may read the report: it does not tell where on this machine the data are.
      config: config.data === undefined ? { ...config } : { ...config, data: basename(config.data) },
      metrics: result.metrics,
      summary,
      metric: task.metric,
      samples: await task.samples?.(),
      figures: await task.figures?.(),
      sections: await tested?.sections(),
    }),
  );
  return { ...result, summary };
}

/** Fits what the task calibrates with the best weights, and stores it with them. */
async function calibrateBest({ task, folder }: Run, epoch: number, metadata: Metadata): Promise<void> {
  if (!task.calibrate) return;
  await loadWeights(folder.best, task.parameters);
  const calibration = JSON.stringify(await task.calibrate());
  await saveWeights(folder.best, task.parameters, epoch, { ...metadata, [calibrationKey]: calibration });
}

/**
 * Takes up a run's best weights, and what was fitted with them, where something was.
 *
 * @throws {Error} If there are none, or they are damaged.
 */
export async function loadBest(
  { best }: RunFolder,
  model: WeightedModel,
): Promise<void> {
  if (!await exists(best)) {
    throw new Error(`${best}: no such file: no epoch of the run has ended; go on with it with --resume`);
  }
  await loadWeights(best, model.parameters);
  const { metadata } = await readCheckedSafetensors(best);
  const calibration = parseJson(metadata[calibrationKey] ?? "");
  if (isRecord(calibration)) model.useCalibration?.(calibration);
}

/**
 * The best weights on the test part of the data that the run was started with: the measures of the loss and of the predictions, and
 * those of baselines.
 *
 * @throws {Error} If a measure is not a finite number.
 */
export async function testBest({ task, folder, config }: Omit<Run, "resume">): Promise<Evaluation> {
  await loadBest(folder, task);
  const measures = await evaluate(task, task.data.test, config.batchSize);
  const evaluated = await task.evaluatePredictions?.();
  return {
    measures: requireFinite({ ...measures, ...evaluated?.measures }, "test"),
    baselines: evaluated?.baselines ?? {},
    sections: async () => await evaluated?.sections() ?? [],
  };
}

/**
 * @param what The data that were measured.
 *
 * @throws {Error} If a measure is not a finite number.
 */
export function requireFinite(measures: Record<string, number>, what: string): Record<string, number> {
  for (const [name, value] of Object.entries(measures)) {
    if (Number.isFinite(value)) continue;
    throw new Error(
      `the ${what} ${name} is ${value}: some of the data are too far from those that the model learned from; look for ` +
        "values, or times, that are extreme",
    );
  }
  return measures;
}
