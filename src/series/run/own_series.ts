import { trainingOptions } from "../../train/experiment.ts";
import { OptionError } from "../../device/errors.ts";
import { checkOptions, namesOf } from "../../device/options.ts";
import { absolutePath } from "../../files/disk.ts";
import { pickOptions } from "../../train/option.ts";
import { autoKind, autoModel, canChoose, candidatesIn } from "../choose/auto.ts";
import type { DataRecord } from "../record/data_record.ts";
import {
  type ModelExperiment,
  type ModelKind,
  modelRules,
  type ModelSetting,
} from "../models/model_settings.ts";
import type { TaskKind } from "../record/predictions.ts";
import { typicalDuration } from "../models/slope_scale.ts";
import { typicalSpan } from "../read/spans.ts";
import { seriesExperiment } from "./series_experiment.ts";
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
  const model = names.find((name) => Object.hasOwn(kinds, name));
  if (model !== undefined) return model;
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
    async make(settings, _, earlier) {
      const { readTargets } = await import("./read_targets.ts");
      return await readTargets(settings, earlier);
    },
    async read(source, options) {
      const { readSeries } = await import("../read/read_series.ts");
      return await readSeries(source, options);
    },
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
    async prepare(options, earlier) {
      const settings = withData(options);
      if (!sourcesOf(settings).data) throw missingData(earlier);
      if (settings.task !== "forecast") {
        return await ofWholeSeries.prepare(withRecordedWidth(settings, earlier), earlier);
      }
      const { prepareForecast } = await import("./prepare_forecast.ts");
      return await prepareForecast(models, settings, earlier);
    },
    async open(settings, record) {
      if (settings.task !== "forecast") {
        return await ofWholeSeries.open!(withRecordedWidth(settings, record), record);
      }
      const { openForecast } = await import("./open_forecast.ts");
      return await openForecast(models, settings, record);
    },
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
