/** A run's best weights at work on data that it was not trained on: its folder is all that is needed. */
import { checkOptions } from "../device/options.ts";
import { tableOptionNames } from "../data/option_names.ts";
import type { TableOptions } from "../data/table/options.ts";
import { init } from "../device/init.ts";
import { type DataRecord, missingRecord, readDataRecord } from "./data_record.ts";
import { experimentNamed } from "./experiments/registry.ts";
import { evaluateBatches } from "./evaluate.ts";
import type { RunConfig } from "./config.ts";
import { checkOrigin, loadBest, requireFinite } from "./run.ts";
import type { RunFolder } from "./run_folder.ts";
import type { Evaluation, SampleKind, TrainedModel } from "./task.ts";

/** A run without the data that it was trained on. */
export interface TrainedRun {
  /** Configuration that the run was started with. */
  readonly config: RunConfig;
  /** Paths of its files. */
  readonly folder: RunFolder;
  /** Record of the training data. */
  readonly record: DataRecord;
  /** The model with its best weights. */
  readonly model: TrainedModel;
}

/**
 * Opens a run with its best weights.
 *
 * @throws {Error} If the folder has no record of data or no weights, or they are damaged, or the run's experiment makes its
 * data from the seed alone.
 */
export async function openTrained(config: RunConfig, folder: RunFolder): Promise<TrainedRun> {
  const { name, open } = experimentNamed(config.experiment);
  if (!open) {
    throw new Error(`${folder.path}: ${name} makes its data from the seed, and its models take no others`);
  }
  await init({ device: config.device });
  const record = await readDataRecord(folder.data);
  if (!record) throw new Error(missingRecord(folder));
  await checkOrigin(folder, config, record, folder.best);
  const model = open(config, record);
  await loadBest(folder, model);
  return { config, folder, record, model };
}

/** Measures of a model on data that it was not trained on. */
export interface NewMeasures {
  /** Means of the measures over the samples, by name. */
  readonly measures: Readonly<Record<string, number>>;
  /** The same of predictions that need no model, by their names. */
  readonly baselines: Evaluation["baselines"];
  /** Number of samples in the data. */
  readonly count: number;
  /** Number of samples among them that the model was trained on after all. */
  readonly seen: number;
  /** Name of a sample. */
  readonly kind: SampleKind;
  /** Lines about what of a table was left out, merged or taken for something. */
  readonly notices: readonly string[];
}

/**
 * Measures a model on all samples of a file.
 *
 * @param table How the file differs from the table that the model was trained on, where it is a table.
 * @throws {Error} If a measure is not a finite number.
 */
export async function measureNew(run: TrainedRun, path: string, table?: TableOptions): Promise<NewMeasures> {
  if (table !== undefined) checkOptions("measureNew", table, tableOptionNames);
  const { model, config } = run;
  const { batches, count, seen, kind, notices = [], evaluatePredictions } = await model.samples(path, table);
  const evaluated = await evaluatePredictions?.();
  const measures = { ...await evaluateBatches(model, batches, config.batchSize), ...evaluated?.measures };
  return {
    measures: requireFinite(measures, path),
    baselines: evaluated?.baselines ?? {},
    count,
    seen,
    kind,
    notices,
  };
}
