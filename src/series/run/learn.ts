/** Models of users' own series from a program: the training of the commands, on data in memory. */
import type { DeviceChoice } from "../../device/choice.ts";
import { OptionError, WeftError } from "../../device/errors.ts";
import { checkOptions, namesOf, type OptionNames } from "../../device/options.ts";
import { absolutePath, makeFolder, namesIn, writeAtomically } from "../../files/disk.ts";
import { memoryFolder } from "../../files/memory.ts";
import { configOf, dataPaths } from "../../train/run/config.ts";
import type { RunSettings } from "../../train/experiment.ts";
import type { TrainOptions } from "../../train/loop.ts";
import { execute, startRun } from "../../train/run/run.ts";
import type { RunSummary } from "../../train/run/run_summary.ts";
import { runFolder } from "../../train/run/run_folder.ts";
import { openBest } from "../../train/run/trained_run.ts";
import type { DataRecord } from "../record/data_record.ts";
import type { ModelExperiment } from "../models/model_settings.ts";
import type { Model } from "../models/model.ts";
import { ownSeriesWith } from "./own_series.ts";
import type {
  ClassPrediction,
  ForecastPrediction,
  NumberPrediction,
  Prediction,
  TaskKind,
} from "../record/predictions.ts";
import { checkTable, type Predictor, predictorOf } from "./predictor.ts";
import { checkSource, type SeriesSource } from "../record/series_source.ts";
import type { DataSources, SeriesModelSettings, SeriesSettings } from "../record/settings.ts";
import type { TrainedModel } from "../models/trained_model.ts";

/** Options of {@linkcode classify}, {@linkcode regress} and {@linkcode forecast}: those of `own-series`. */
export interface LearnOptions
  extends
    Partial<Omit<SeriesModelSettings, "online" | "intensity">>,
    Partial<RunSettings>,
    Pick<SeriesSettings, "patience" | "scaling" | "table" | "budget">,
    Pick<TrainOptions, "onEpoch" | "onProgress"> {
  /** Models for the option `model`, such as `[...seriesModels, mine]`; by default {@linkcode seriesModels}. */
  models?: readonly Model[];
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
  extends LearnOptions, Pick<SeriesSettings, "horizon" | "context" | "season" | "calendar"> {}

const learnNames = namesOf<LearnOptions>()(
  "model? models? hidden? width? depth? heads? feedForward? method? stepSize? window? condense?",
  "signatureDepth? clipWeights? budget? seed? epochs? batchSize? learningRate? patience? scaling?",
  "table? validation? test? device? blas? signal? onPlan? onEpoch? onProgress?",
);

const regressNames = namesOf<RegressOptions>()(
  learnNames,
  "online? intensity? drop? dataSeed? folds? fold? ensemble? noRefit? search?",
);

const classifyNames = namesOf<ClassifyOptions>()(regressNames, "balance? positiveWeight?");

const forecastNames = namesOf<ForecastOptions>()(learnNames, "horizon? context? season? calendar?");

/** A trained model of {@linkcode classify}, {@linkcode regress} or {@linkcode forecast}. */
export interface LearnedModel<Answer extends Prediction = Prediction> extends Predictor<Answer> {
  /** Result of the training: measures on the test set, baselines and the verdict. */
  readonly summary: RunSummary;
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
  const { models, signal, onPlan, onEpoch, onProgress, validation, test, ...settings } = options;
  const { paths, inMemory } = sourcesOf(task, { data, validation, test }, settings);
  const experiment: ModelExperiment = ownSeriesWith({ models, inMemory });
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
  const trained = await openBest<TrainedModel, DataRecord>(experiment, run.config, run.folder);
  const files = Object.fromEntries(memory.files);
  return { ...predictorOf<Answer>(trained, files), summary, save: (path) => saveFiles(path, files) };
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

/** Writes the files of a run. The configuration is last: with it, the folder is a run. */
async function saveFiles(path: string, files: Predictor["files"]): Promise<void> {
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
  for (const name of Object.keys(files).sort((a, b) => isConfig(a) - isConfig(b))) {
    await writeAtomically(`${path}/${name}`, [files[name]]);
  }
}
