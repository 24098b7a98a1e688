/** Opens a run's best weights for new data. Only the run's folder is needed. */
import { init } from "../../compile/init.ts";
import { keptDevice, trainedOn } from "./arithmetic.ts";
import { WeftError } from "../../device/errors.ts";
import type { RunConfig } from "./config.ts";
import type { Experiment } from "../experiment.ts";
import { missingBest, missingRecord, readRecord } from "./record.ts";
import { checkOrigin, loadBest } from "./run.ts";
import type { RunFolder } from "./run_folder.ts";
import type { WeightedModel } from "../task.ts";

/** A run without its training data. */
// deno-lint-ignore no-explicit-any
export interface TrainedRun<Model extends WeightedModel = WeightedModel, Record = any> {
  /** Original configuration of the run. */
  readonly config: RunConfig;
  /** Paths of the run's files. */
  readonly folder: RunFolder;
  /** Record of the training data. */
  readonly record: Record;
  /** Model with the best weights. */
  readonly model: Model;
}

/**
 * Opens a run with its best weights.
 *
 * @param experiment The run's experiment.
 * @throws {Error} If the data record or the weights are missing or damaged, or the experiment generates its
 * data from the seed.
 */
// deno-lint-ignore no-explicit-any
export async function openBest<Model extends WeightedModel, Record = any>(
  experiment: Experiment<RunConfig, Model>,
  config: RunConfig,
  folder: RunFolder,
): Promise<TrainedRun<Model, Record>> {
  const { name, open } = experiment;
  if (!open) {
    throw new WeftError(
      "unusable-option",
      `${folder.path}: ${name} generates its data from the seed, and its models cannot be used on other data`,
      { fixes: ["measure the run with evaluate without other data"] },
    );
  }
  const record = await readRecord(folder.data);
  if (!record) throw missingRecord(folder);
  experiment.checkRecord?.(record, folder.data);
  const weights = await checkOrigin(folder, config, record, folder.best);
  if (!weights) throw missingBest(folder.best);
  await init({ device: keptDevice(config.device, trainedOn(weights)) });
  const model = await open(config, record);
  await loadBest(folder, model);
  return { config, folder, record: record as Record, model };
}
