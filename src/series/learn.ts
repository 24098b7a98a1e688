/** Models of users' own series from a program: the training of the commands, on data in memory. */
import { tableOptionNames, type TableOptions } from "../data/table/options.ts";
import type { DeviceChoice } from "../device/choice.ts";
import { OptionError, WeftError } from "../device/errors.ts";
import { checkOptions, type OptionNames } from "../device/options.ts";
import { absolutePath, makeFolder, namesIn, writeAtomically } from "../files/disk.ts";
import { memoryFolder } from "../files/memory.ts";
import { configOf, dataPaths, type RunConfig } from "../train/config.ts";
import type { RunSettings } from "../train/experiment.ts";
import type { TrainOptions } from "../train/loop.ts";
import { execute, type RunSummary, startRun } from "../train/run.ts";
import { runFolder } from "../train/run_folder.ts";
import { openTrained, type TrainedRun } from "../train/trained_run.ts";
import type { DataRecord } from "./data_record.ts";
import type { ModelExperiment } from "./model_kind.ts";
import { ownSeriesOf } from "./own_series.ts";
import type {
  ClassPrediction,
  ForecastPrediction,
  NumberPrediction,
  Prediction,
  PredictionStream,
  PredictionStreamState,
  TaskKind,
} from "./predictions.ts";
import { checkSource, isSeriesSet, type SeriesSource } from "./series_source.ts";
import type { DataSources, SeriesModelSettings, SeriesSettings } from "./settings.ts";
import { measureNew, type NewMeasures, type TrainedModel } from "./trained_model.ts";

/** Options of {@linkcode classify}, {@linkcode regress} and {@linkcode forecast}: those of `own-series`. */
export interface LearnOptions
  extends
    Partial<Omit<SeriesModelSettings, "online" | "intensity">>,
    Partial<RunSettings>,
    Pick<SeriesSettings, "patience" | "scaling" | "table" | "budget">,
    Pick<TrainOptions, "onEpoch" | "onProgress"> {
  /** Separate validation set, in the form of the data. */
  validation?: SeriesSource;
  /** Separate test set, in the form of the data. */
  test?: SeriesSource;
  /** Device. `"auto"`, the default: a hardware GPU if a training step is faster there by estimate, else the CPU. */
  device?: DeviceChoice;
  /** Native library for large matrix products on the CPU, as for `init`. */
  blas?: string;
  /** Ends the training. The function then throws the reason of the signal. */
  signal?: AbortSignal;
  /**
   * Called with lines about the comparison of models, the search for the length of training, and batches that are
   * split, since they take too much memory.
   */
  onPlan?: (line: string) => void;
}

/** Options of {@linkcode regress}. */
export interface RegressOptions extends
  LearnOptions,
  Pick<
    SeriesSettings,
    "online" | "intensity" | "drop" | "dataSeed" | "folds" | "fold" | "ensemble" | "noRefit" | "search"
  > {}

/** Options of {@linkcode classify}. */
export interface ClassifyOptions extends RegressOptions, Pick<SeriesSettings, "balance" | "positiveWeight"> {}

/** Options of {@linkcode forecast}. */
export interface ForecastOptions
  extends LearnOptions, Pick<SeriesSettings, "horizon" | "context" | "season"> {}

const learnNames: OptionNames<LearnOptions> = {
  model: "optional",
  hidden: "optional",
  width: "optional",
  depth: "optional",
  heads: "optional",
  feedForward: "optional",
  method: "optional",
  stepSize: "optional",
  window: "optional",
  condense: "optional",
  signatureDepth: "optional",
  clipWeights: "optional",
  budget: "optional",
  seed: "optional",
  epochs: "optional",
  batchSize: "optional",
  learningRate: "optional",
  patience: "optional",
  scaling: "optional",
  table: "optional",
  validation: "optional",
  test: "optional",
  device: "optional",
  blas: "optional",
  signal: "optional",
  onPlan: "optional",
  onEpoch: "optional",
  onProgress: "optional",
};

const regressNames: OptionNames<RegressOptions> = {
  ...learnNames,
  online: "optional",
  intensity: "optional",
  drop: "optional",
  dataSeed: "optional",
  folds: "optional",
  fold: "optional",
  ensemble: "optional",
  noRefit: "optional",
  search: "optional",
};

const classifyNames: OptionNames<ClassifyOptions> = {
  ...regressNames,
  balance: "optional",
  positiveWeight: "optional",
};

const forecastNames: OptionNames<ForecastOptions> = {
  ...learnNames,
  horizon: "optional",
  context: "optional",
  season: "optional",
};

/** A trained model of {@linkcode classify}, {@linkcode regress} or {@linkcode forecast}. */
export interface LearnedModel<Answer extends Prediction = Prediction> {
  /** Result of the training: measures on the test set, baselines and the verdict. */
  readonly summary: RunSummary;
  /** Settings of the run, defaults included. */
  readonly config: RunConfig;
  /** Record of the training data: channels, classes, the parts, and how the model was chosen. */
  readonly record: DataRecord;
  /**
   * Predicts each series. The predictions have the order of the series, and equal those of
   * `deno task predict`.
   *
   * @param data Series in the form of the training data. They need no targets.
   * @param table Options that differ from those of the training table.
   */
  predict(data: SeriesSource, table?: TableOptions): Promise<Answer[]>;
  /**
   * Measures the model on all series of other data, as `deno task evaluate --data`.
   *
   * @param data Series in the form of the training data, with targets.
   * @param table Options that differ from those of the training table.
   */
  evaluate(data: SeriesSource, table?: TableOptions): Promise<NewMeasures>;
  /**
   * Predicts a series while its observations arrive: {@linkcode TrainedModel.stream}. Undefined if the model was
   * not trained with `online`, or does not support streams.
   */
  stream?(series: string, state?: PredictionStreamState): PredictionStream;
  /**
   * Writes the folder of the run, which `evaluate`, `predict` and `serve` open. It contains no data from memory:
   * to resume the run, or to evaluate its test set again, name a table with the same data.
   *
   * @param path Folder, which must not exist or be empty.
   * @throws {WeftError} If the folder is not empty.
   */
  save(path: string): Promise<void>;
}

/**
 * Trains a model that classifies series, as `deno task train own-series`: the same defaults and, with the same seed
 * and the same data, the same numbers. Calls `init` with the device. Needs no permissions for data in memory.
 *
 * @param data Rows, bytes of a text table, a set of series, or the path of a table.
 * @throws {OptionError} If an option is unknown or not valid.
 * @throws {DataError} If the data break a rule of docs/start/own_data.md.
 *
 * @example
 * ```ts
 * import { classify } from "@weft/weft/series";
 *
 * const rows = Array.from({ length: 30 * 12 }, (_, i) => {
 *   const [series, time] = [Math.floor(i / 12), i % 12];
 *   const label = series % 2 ? "fast" : "slow";
 *   return { series: `s${series}`, time, x: Math.sin(series + time * (series % 2 ? 1.6 : 0.8)), label };
 * });
 * const model = await classify({ name: "waves", rows }, { model: "random-convolutions", device: "cpu" });
 * console.log(model.summary.verdict, await model.predict({ name: "new", rows: rows.slice(0, 12) }));
 * ```
 */
export function classify(
  data: SeriesSource,
  options: ClassifyOptions = {},
): Promise<LearnedModel<ClassPrediction>> {
  return learn("classify", data, options, classifyNames);
}

/**
 * Trains a model that predicts numbers of each series, as `deno task train own-series --task regress`; see
 * {@linkcode classify}. The option `table` names the columns of the numbers: `{ target: ["load"] }`.
 *
 * @param data Rows, bytes of a text table, a set of series, or the path of a table.
 * @throws {OptionError} If an option is unknown or not valid.
 * @throws {DataError} If the data break a rule of docs/start/own_data.md.
 */
export function regress(
  data: SeriesSource,
  options: RegressOptions = {},
): Promise<LearnedModel<NumberPrediction>> {
  return learn("regress", data, options, regressNames);
}

/**
 * Trains a model that forecasts series, as `deno task train own-series --task forecast`; see {@linkcode classify}.
 *
 * @param data Rows, bytes of a text table, a set of series, or the path of a table.
 * @throws {OptionError} If an option is unknown or not valid.
 * @throws {DataError} If the data break a rule of docs/start/own_data.md.
 */
export function forecast(
  data: SeriesSource,
  options: ForecastOptions = {},
): Promise<LearnedModel<ForecastPrediction>> {
  return learn("forecast", data, options, forecastNames);
}

/** Trains a model in a folder in memory. */
async function learn<Options extends LearnOptions, Answer extends Prediction>(
  task: TaskKind,
  data: SeriesSource,
  options: Options,
  names: OptionNames<Options>,
): Promise<LearnedModel<Answer>> {
  checkOptions(task, options, names as OptionNames<NoInfer<Options>>);
  const { signal, onPlan, onEpoch, onProgress, validation, test, ...settings } = options;
  const { paths, inMemory } = sourcesOf(task, { data, validation, test }, settings);
  const experiment: ModelExperiment = ownSeriesOf(inMemory);
  const config = {
    // Messages about options name the function.
    ...configOf({ ...experiment, name: task }, { ...settings, ...paths, task }),
    experiment: experiment.name,
  };
  const { folds, fold } = settings as Pick<SeriesSettings, "folds" | "fold">;
  if (folds !== undefined && fold === undefined) {
    throw new OptionError(
      "missing-option",
      `${task}: folds without fold; a call trains on one fold: give fold, from 0 to ${folds - 1}`,
      { option: "fold" },
    );
  }
  using memory = memoryFolder(task);
  const run = await startRun(experiment, config, runFolder(memory.path));
  const { summary } = await execute(run, { isLocked: true, signal, onPlan, onEpoch, onProgress });
  if (!summary) throw signal!.reason;
  const trained = await openTrained<TrainedModel, DataRecord>(experiment, run.config, run.folder);
  return learnedModel(trained, summary, memory.files);
}

/** Sorts sources into paths, which the configuration stores, and data in memory. */
function sourcesOf(
  task: TaskKind,
  sources: DataSources,
  { table }: Pick<LearnOptions, "table">,
): { paths: Partial<Record<keyof DataSources, string>>; inMemory: DataSources } {
  const [paths, inMemory]: [Record<string, string>, Record<string, SeriesSource>] = [{}, {}];
  for (const name of dataPaths) {
    const source = sources[name];
    if (source === undefined && name !== "data") continue;
    checkSource(task, source, name);
    checkTable(task, source!, table);
    if (typeof source === "string") paths[name] = absolutePath(source);
    else inMemory[name] = source!;
  }
  return { paths, inMemory };
}

/** @throws {OptionError} If an option of tables has no effect on a source in memory. */
function checkTable(operation: string, source: SeriesSource, table: TableOptions | undefined): void {
  if (table === undefined || typeof source === "string") return;
  const given = Object.keys(table).filter((name) => table[name as keyof TableOptions] !== undefined);
  const unusable = isSeriesSet(source)
    ? given
    : "rows" in source
    ? given.filter((name) => name === "wide")
    : [];
  if (unusable.length === 0) return;
  const kind = isSeriesSet(source) ? "a set of series" : "rows in memory";
  throw new OptionError(
    "unusable-option",
    (write) => `${operation}: ${source.name} is ${kind}, which cannot use ${unusable.map(write).join(", ")}`,
    { option: unusable[0], fixes: ["leave it out"] },
  );
}

function learnedModel<Answer extends Prediction>(
  run: TrainedRun<TrainedModel, DataRecord>,
  summary: RunSummary,
  written: ReadonlyMap<string, Uint8Array>,
): LearnedModel<Answer> {
  const { model, config, record } = run;
  const files = new Map(written);
  const check = (operation: string, data: SeriesSource, table: TableOptions | undefined) => {
    const name = `LearnedModel.${operation}`;
    checkSource(name, data);
    if (table === undefined) return;
    checkOptions(name, table, tableOptionNames);
    checkTable(name, data, table);
  };
  return {
    summary,
    config,
    record,
    async predict(data, table) {
      check("predict", data, table);
      return await model.predict!(await model.series!(data, table)) as Answer[];
    },
    async evaluate(data, table) {
      check("evaluate", data, table);
      return await measureNew(run, data, table);
    },
    ...(model.stream ? { stream: model.stream } : {}),
    save: (path) => saveFiles(path, files),
  };
}

/** Writes the files of a run. The configuration is last: with it, the folder is a run. */
async function saveFiles(path: string, files: ReadonlyMap<string, Uint8Array>): Promise<void> {
  await makeFolder(path);
  for (const name of [...await namesIn(path), ...await namesIn(path, "folder")]) {
    throw new WeftError(
      "unreadable-file",
      `save: ${path} already contains ${name}; expected an empty folder`,
      {
        expected: "an empty folder",
      },
    );
  }
  const isConfig = (name: string) => name === "config.json" ? 1 : 0;
  for (const name of [...files.keys()].sort((a, b) => isConfig(a) - isConfig(b))) {
    await writeAtomically(`${path}/${name}`, [files.get(name)!]);
  }
}
