/** A run from its configuration to its report. */
import { init } from "../device/init.ts";
import type { SeriesSet } from "../data/series.ts";
import type { DeviceInfo } from "../device/device.ts";
import { foldIn, key } from "../tensor/random.ts";
import { loadWeights } from "./checkpoint.ts";
import { experimentNamed } from "./experiments/registry.ts";
import { checkSettings, type RunConfig, sealedSettings } from "./config.ts";
import { exists, writeAtomically } from "./files.ts";
import { evaluate, train, type TrainOptions, type TrainResult } from "./loop.ts";
import { renderReport } from "./report.ts";
import { createRun, lockRun, type RunFolder, writeJson } from "./run_folder.ts";
import { parameterCount, type Task } from "./task.ts";

/** What `summary.json` holds. */
export interface RunSummary {
  readonly experiment: string;
  readonly test: Readonly<Record<string, number>>;
  readonly bestEpoch: number;
  readonly epochs: number;
  /** How many numbers the model learned. */
  readonly parameters: number;
  readonly seconds: number;
  readonly device: DeviceInfo["kind"];
  /** The processor or the adapter, in words. */
  readonly deviceDescription: string;
  readonly seed: number;
}

/** The name under which weights carry the settings that they depend on. */
const settingsKey = "weft.settings";

/** A run that is ready to go. */
export interface Run {
  readonly config: RunConfig;
  readonly folder: RunFolder;
  readonly task: Task;
  readonly device: DeviceInfo;
  /** Whether it goes on with what is in its folder. */
  readonly resume: boolean;
}

/** Prepares a new run, and makes its folder under `out`. */
export async function startRun(config: RunConfig, out: string): Promise<Run> {
  const prepared = await prepare(config);
  const folder = await createRun(out, config.experiment, config);
  return { ...prepared, folder, resume: false };
}

/** Prepares to go on with a run, perhaps for more epochs than it was started for. */
export async function resumeRun(config: RunConfig, folder: RunFolder): Promise<Run> {
  return { ...await openRun(config, folder), resume: true };
}

/** Prepares what there is of a run, and writes nothing. */
export async function openRun(config: RunConfig, folder: RunFolder): Promise<Omit<Run, "resume">> {
  return { ...await prepare(config), folder };
}

async function prepare(config: RunConfig): Promise<Omit<Run, "folder" | "resume">> {
  const { info } = await init({ device: config.device });
  const task = await experimentNamed(config.experiment).prepare(config);
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
 * @throws {Error} If another process trains in the run's folder, or what is there is damaged or made with other settings.
 */
export async function execute(
  run: Run,
  options: Pick<TrainOptions, "signal" | "onEpoch" | "onProgress">,
): Promise<TrainResult & { summary?: RunSummary }> {
  const { config, folder, task, device } = run;
  await using _lock = await lockRun(folder);
  const result = await train(task, {
    ...options,
    epochs: config.epochs,
    batchSize: config.batchSize,
    // The experiments split the seed's key; this is none of theirs.
    key: foldIn(key(config.seed), 0),
    folder,
    metadata: { [settingsKey]: sealedSettings(config) },
    resume: run.resume && await hasCheckpoint(folder),
    onResume: async (metadata) => {
      checkSettings(folder, config, folder.last, metadata[settingsKey]);
      await writeJson(folder.config, config);
    },
  });
  const summary = result.interrupted || !result.position.best ? undefined : {
    experiment: config.experiment,
    test: await testBest(run),
    bestEpoch: result.position.best.epoch,
    epochs: result.position.epoch,
    parameters: parameterCount(task),
    seconds: result.position.seconds,
    device: device.kind,
    deviceDescription: device.description,
    seed: config.seed,
  };
  if (summary) await writeJson(folder.summary, summary);
  await writeAtomically(
    folder.report,
    renderReport({
      config: { ...config },
      metrics: result.metrics,
      summary,
      metric: task.metric,
      samples: await task.samples?.(),
      figures: await task.figures?.(),
    }),
  );
  return { ...result, summary };
}

/**
 * The classes that the best weights give to series.
 *
 * @throws {Error} If the run's experiment does not classify series, or series of other channels.
 */
export async function classifyWithBest(
  { task, folder, config }: Omit<Run, "resume">,
  set: Pick<SeriesSet, "channels" | "series">,
): Promise<{ label: string; probability: number }[]> {
  if (!task.classify) throw new Error(`${folder.path}: ${config.experiment} does not classify series`);
  await loadBest({ task, folder, config });
  return await task.classify(set);
}

/** Measures of the best weights on the test data. */
export async function testBest(
  { task, folder, config }: Omit<Run, "resume">,
): Promise<Record<string, number>> {
  await loadBest({ task, folder, config });
  return await evaluate(task, task.data.test, config.batchSize);
}

async function loadBest({ task, folder, config }: Pick<Run, "task" | "folder" | "config">): Promise<void> {
  const metadata = await loadWeights(folder.best, task.parameters);
  checkSettings(folder, config, folder.best, metadata[settingsKey]);
}
