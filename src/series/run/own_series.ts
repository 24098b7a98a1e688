import type { SeriesSet } from "../../data/series.ts";
import type { Key } from "../../tensor/random.ts";
import { trainingOptions } from "../../train/experiment.ts";
import { DataError, OptionError } from "../../device/errors.ts";
import { checkOptions, namesOf } from "../../device/options.ts";
import { absolutePath } from "../../files/disk.ts";
import { pickOptions } from "../../train/option.ts";
import { autoKind, autoModel, canChoose, candidatesIn } from "../choose/auto.ts";
import { countLabels } from "../math/class_counts.ts";
import type { DataRecord } from "../record/data_record.ts";
import {
  type ModelExperiment,
  type ModelKind,
  modelRules,
  type ModelSetting,
} from "../models/model_settings.ts";
import type { TaskKind } from "../record/predictions.ts";
import { tableOptions as readingOptions } from "../read/recorded_series.ts";
import { typicalDuration } from "../models/pace.ts";
import { typicalSpan } from "../read/spans.ts";
import { readSeries } from "../read/read_series.ts";
import { seriesExperiment, targetsOf } from "./series_experiment.ts";
import { withGivenParts } from "../read/given_parts.ts";
import { openForecast, prepareForecast } from "./series_forecast.ts";
import { checkModels, forecastKinds, type Model, wholeSeriesKinds } from "../models/model.ts";
import { isModelFile, readModel } from "../models/model_file.ts";
import { seriesModels } from "../models/series_models.ts";
import {
  dataOptions,
  type DataSources,
  modelOptions,
  type SeriesSettings,
  sourcesOf,
  tableOptions,
  taskOptions,
} from "../record/settings.ts";

/** Default number of epochs of forecasts by models that are trained with gradients. */
const forecastEpochs = 20;

/** Defaults of forecasts. */
const forecastDefaults = {
  epochs: forecastEpochs,
  batchSize: 64,
  learningRate: 0.003,
  drop: undefined,
  horizon: 24,
};

/** Default sizes and solver of models of whole series. */
export const ownNetwork = {
  width: 64,
  depth: 1,
  // As accurate as rk4 along splines, at half the cost.
  method: "midpoint",
} as const;

/** Options of models, without the choice of the model itself. */
const modelSettings = Object.keys(modelOptions).filter((name) =>
  name !== "model" && name !== "intensity"
) as ModelSetting[];

/**
 * Default model: the automatic choice. If an option is given that the automatic choice does not accept, such as
 * the number of epochs, the default is the delta rule, or a linear map for forecasts. In a list without these
 * models, it is the first model.
 *
 * @param kinds Models of the task.
 */
function defaultModel(
  chosen: Readonly<Record<string, unknown>>,
  kinds: Readonly<Record<string, ModelKind>>,
): string {
  const names = [
    ...(canChoose(chosen, modelSettings) ? [autoModel] : []),
    chosen.task === "forecast" ? "linear" : "delta",
    ...Object.keys(kinds).filter((name) => name !== autoModel),
  ];
  const found = names.find((name) => Object.hasOwn(kinds, name));
  if (found !== undefined) return found;
  throw new OptionError(
    "unusable-option",
    (write) => `no model can be used for ${write("task")} ${chosen.task ?? "classify"}`,
    { option: "models" },
  );
}

/** Options of {@linkcode ownSeriesWith}. */
export interface OwnSeriesOptions {
  /** Models for the option `model`; by default {@linkcode seriesModels}. */
  models?: readonly Model[];
  /** Data in memory, which override the paths of a run. */
  inMemory?: DataSources;
}

const optionNames = namesOf<OwnSeriesOptions>()("models? inMemory?");

/**
 * Makes the experiment {@linkcode ownSeries} with other models. `runCommands` of `@weft/weft/commands` and
 * `openTrained` accept the experiment.
 *
 * @throws {OptionError} If a model is not valid, or two models have one name.
 */
export function ownSeriesWith(options: OwnSeriesOptions): ModelExperiment<SeriesSettings> {
  checkOptions("ownSeriesWith", options, optionNames);
  const { models = seriesModels, inMemory } = options;
  checkModels("ownSeriesWith", models, [autoModel]);
  return experimentOf(models, inMemory);
}

function experimentOf(models: readonly Model[], inMemory?: DataSources): ModelExperiment<SeriesSettings> {
  const wholeSeries = wholeSeriesKinds(models);
  const forecasts = forecastKinds(models);
  const kindsOf = (task?: TaskKind): Readonly<Record<string, ModelKind>> => {
    const kinds = task === "forecast" ? forecasts : wholeSeries;
    if (candidatesIn(kinds).length === 0) return kinds;
    return { [autoModel]: autoKind(task === "forecast" ? forecastEpochs : undefined), ...kinds };
  };
  const withData = <Settings extends SeriesSettings>(settings: Settings): Settings =>
    inMemory ? { ...settings, inMemory } : settings;
  /** Classification and regression. */
  const ofWholeSeries = seriesExperiment<SeriesSettings>({
    name: "own-series",
    summary: "your own series, from a table",
    options: {
      ...pickOptions(dataOptions, ["data", "validation", "test"]),
      ...taskOptions,
      ...tableOptions,
      ...pickOptions(dataOptions, ["drop", "dataSeed", "positiveWeight"], { drop: 0 }),
      ...{
        ...modelOptions,
        ...pickOptions(modelOptions, ["hidden"], { hidden: 32 }),
      },
      model: {
        ...modelOptions.model,
        ...{ default: autoModel, placeholder: "name or file" },
        // Runs store the absolute path.
        parse: (text) => isModelFile(text) ? absolutePath(text) : text,
      },
      ...trainingOptions({ batchSize: 16, learningRate: 0.005 }),
    },
    make: readTargets,
    read: readSeries,
    timeScale: (set) => typicalDuration / typicalSpan(set.series),
    models: wholeSeries,
    ...ownNetwork,
  });
  return modelRules({
    ...ofWholeSeries,
    notes: [
      "Defaults of --task forecast: --horizon 24 --batch-size 64, and for models that are trained with gradients " +
      "--epochs 20 --learning-rate 0.003.",
      "--model auto compares models. With an option of training or of one model, such as --epochs or --hidden, the " +
      "default is delta, or linear for forecasts.",
      `Models of --task classify and regress: ${Object.keys(kindsOf()).join(", ")}.`,
      `Models of --task forecast: ${Object.keys(kindsOf("forecast")).join(", ")}.`,
      "--model ./mine.ts loads a model: the default export of a module (docs/guides/extending.md).",
    ],
    models: kindsOf,
    async prepare(given, earlier) {
      const settings = withData(given);
      if (!sourcesOf(settings).data) throw missingData(earlier);
      return await (settings.task === "forecast"
        ? prepareForecast(models, settings, earlier)
        : ofWholeSeries.prepare(withRecordedWidth(settings, earlier), earlier));
    },
    open: (settings, record) =>
      settings.task === "forecast"
        ? openForecast(models, settings, record)
        : ofWholeSeries.open!(withRecordedWidth(settings, record), record),
    load: async ({ model }) =>
      isModelFile(model) ? experimentOf([...models, await readModel(model)], inMemory) : undefined,
  }, {
    defaultsFor: (chosen) => ({
      ...(chosen.task === "forecast" ? forecastDefaults : {}),
      model: defaultModel(chosen, kindsOf(chosen.task as TaskKind | undefined)),
    }),
    check: (settings) => checkTask(withData(settings)),
  });
}

/** Experiment on users' own series: a table, or a problem in the format of the UEA archive. */
export const ownSeries: ModelExperiment<SeriesSettings> = ownSeriesWith({});

/** Error of a run without data: a new run, or a run of data in memory. */
function missingData(earlier?: DataRecord): OptionError {
  return new OptionError(
    "missing-option",
    (write) =>
      earlier
        ? "own-series: the run was trained on data in memory, which its folder does not contain; give a table " +
          `with the same data with ${write("data")}; evaluate also needs ${write("testPart")}`
        : `own-series needs data; give a table, or a zip file or folder of .ts files, with ${write("data")}`,
    { option: "data" },
  );
}

/** Settings with the default width of the vector fields of runs with version 1 of the record. */
function withRecordedWidth<Settings extends SeriesSettings>(
  settings: Settings,
  record?: DataRecord,
): Settings {
  return record?.version === 1 ? { ...settings, width: settings.width ?? 32 } : settings;
}

/** Tasks of each option that is not valid for all tasks. */
const tasksOf: Readonly<Record<string, readonly TaskKind[]>> = {
  horizon: ["forecast"],
  context: ["forecast"],
  season: ["forecast"],
  calendar: ["forecast"],
  balance: ["classify"],
  positiveWeight: ["classify"],
  drop: ["classify", "regress"],
  intensity: ["classify", "regress"],
  dataSeed: ["classify", "regress"],
  online: ["classify", "regress"],
  condense: ["classify", "regress"],
  folds: ["classify", "regress"],
  ensemble: ["classify", "regress"],
  search: ["classify", "regress"],
  noRefit: ["classify", "regress"],
  // Classes and numbers are predicted from all rows. Forecasts split by time, so they cannot keep groups
  // together.
  known: ["forecast"],
  group: ["classify", "regress"],
};

function checkTask(settings: SeriesSettings): void {
  const { task = "classify" } = settings;
  const values: Readonly<Record<string, unknown>> = { ...settings.table, ...settings };
  const unusable = Object.keys(tasksOf).filter((name) =>
    values[name] !== undefined && !tasksOf[name].includes(task)
  );
  if (unusable.length > 0) {
    throw new OptionError(
      "unusable-option",
      (write) => `${write("task")} ${task} cannot use ${unusable.map(write).join(", ")}: leave it out`,
      { option: unusable[0] },
    );
  }
  if (settings.folds !== undefined && sourcesOf(settings).test !== undefined) {
    throw new OptionError(
      "conflicting-options",
      (write) => `${write("folds")} and ${write("test")} both choose the test set: leave one out`,
      { option: "folds" },
    );
  }
  const isCompared = settings.model === autoModel || settings.search !== undefined;
  if (settings.budget !== undefined && !isCompared) {
    throw new OptionError(
      "unusable-option",
      (write) =>
        `${write("budget")} is the work of a comparison: leave it out, or give ${write("model")} auto or ${
          write("search")
        }`,
      { option: "budget" },
    );
  }
  if (settings.balance && settings.positiveWeight !== undefined) {
    throw new OptionError(
      "conflicting-options",
      (write) => `${write("balance")} and ${write("positiveWeight")} both weight the classes: leave one out`,
    );
  }
}

async function readTargets(settings: SeriesSettings, _key: Key, earlier?: DataRecord): Promise<SeriesSet> {
  const options = { ...readingOptions(settings, earlier), targets: targetsOf(settings) };
  const sources = sourcesOf(settings);
  const set = await withGivenParts(
    await readSeries(sources.data!, options),
    sources,
    (source, columns) => readSeries(source, { ...options, ...columns }),
  );
  if (settings.task !== "regress") requireClasses(set);
  return set;
}

/** @throws {DataError} If a set has too few classes, or too few series of a class, to train a classifier. */
export function requireClasses({ name, classes, series, validationFrom, testFrom }: SeriesSet): void {
  if (classes.length < 2) {
    const expected = "at least two different labels";
    const details = { option: "target", column: "label", expected } as const;
    if (classes.length === 1) {
      throw new DataError(
        "too-small",
        `${name}: only the label "${classes[0]}"; expected ${expected}`,
        details,
      );
    }
    throw new DataError("missing-column", `${name}: no column "label" with the class of each series`, {
      ...details,
      fixes: [
        (write) => `name the column of the classes with ${write("target")}`,
        (write) => `or predict future values with ${write("task")} forecast`,
      ],
    });
  }
  // A given part needs no series of the table.
  const parts = [
    "train",
    ...validationFrom === undefined ? ["validate"] : [],
    ...testFrom === undefined ? ["test"] : [],
  ];
  const training = series.slice(0, validationFrom ?? testFrom);
  const few = countLabels(training, classes.length).findIndex((count) => count < parts.length);
  if (few >= 0) {
    throw new DataError(
      "too-small",
      `${name}: fewer than ${parts.length} series of the label "${classes[few]}"; each label needs one to ${
        parts.join(", one to ")
      }`,
    );
  }
}
