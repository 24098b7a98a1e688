/** A run's best weights, for data that the model was not trained on: its folder is all that is needed. */
import { init } from "../device/init.ts";
import type { RunConfig } from "./config.ts";
import type { Experiment } from "./experiment.ts";
import { missingRecord, readRecord } from "./record.ts";
import { checkOrigin, loadBest } from "./run.ts";
import type { RunFolder } from "./run_folder.ts";
import type { WeightedModel } from "./task.ts";

/** A run without the data that it was trained on. */
// deno-lint-ignore no-explicit-any
export interface TrainedRun<Model extends WeightedModel = WeightedModel, Record = any> {
  /** Configuration that the run was started with. */
  readonly config: RunConfig;
  /** Paths of its files. */
  readonly folder: RunFolder;
  /** Record of the training data. */
  readonly record: Record;
  /** The model with its best weights. */
  readonly model: Model;
}

/**
 * Opens a run with its best weights.
 *
 * @param experiment The run's experiment.
 * @throws {Error} If the folder has no record of data or no weights, or they are damaged, or the run's experiment makes its
 * data from the seed alone.
 */
// deno-lint-ignore no-explicit-any
export async function openTrained<Model extends WeightedModel, Record = any>(
  experiment: Experiment<RunConfig, Model>,
  config: RunConfig,
  folder: RunFolder,
): Promise<TrainedRun<Model, Record>> {
  const { name, open } = experiment;
  if (!open) {
    throw new Error(`${folder.path}: ${name} makes its data from the seed, and its models take no others`);
  }
  await init({ device: config.device });
  const record = await readRecord(folder.data);
  if (!record) throw new Error(missingRecord(folder));
  experiment.checkRecord?.(record, folder.data);
  await checkOrigin(folder, config, record, folder.best);
  const model = open(config, record);
  await loadBest(folder, model);
  return { config, folder, record: record as Record, model };
}
