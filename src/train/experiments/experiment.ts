import type { Scaling } from "../../data/series.ts";
import type { TableOptions } from "../../data/table/options.ts";
import type { DataRecord } from "../data_record.ts";
import type { TaskKind } from "../predictions.ts";
import type { Task, TrainedModel } from "../task.ts";
import type { Horizon } from "./horizon.ts";
import type { Recipe } from "./recipe.ts";
import { kindNamed, type ModelKind, type ModelSetting } from "./model_kind.ts";

/** Settings of a run. Ranges of the numbers are in {@linkcode settingBounds}. */
export interface Settings {
  /** Seed of data, initial parameters and the samples' order, a whole number from 0: the same seed gives the same run. */
  readonly seed: number;
  /** Number of passes over the training samples, at least 1. */
  readonly epochs: number;
  /** Number of samples of a step, at least 1. */
  readonly batchSize: number;
  /** Learning rate of the optimiser, above 0. */
  readonly learningRate: number;
  /** Number of channels of the hidden state, at least 1. */
  readonly hidden: number;
  /** Path of a table, zip file or folder, for experiments on real data. */
  readonly data?: string;
  /** Share of each series' observations that are made missing, from 0, the default, to below 1. */
  readonly drop?: number;
  /** Number of features of each hidden layer of a vector field that is a network, at least 1; the experiment's by default. */
  readonly width?: number;
  /** Name of the model, where an experiment has several. */
  readonly model?: string;
  /** Method of the solver, where there is one; `"rk4"` by default. */
  readonly method?: string;
  /** Length of the solver's steps, in observations, above 0; 1 by default. */
  readonly stepSize?: number;
  /** Optimiser, schedule and end of training; `"short"` by default. */
  readonly recipe?: Recipe;
  /**
   * Seed of data, split and dropped observations, so that models and repeats have the same: by default `seed`, and 0 with
   * the recipe `"paper"`.
   */
  readonly dataSeed?: number;
  /** Weight of a series of the second of two classes in the loss, above 0, against 1 of the first. */
  readonly positiveWeight?: number;
  /** Number of observations from one window to the next, for models along log-signatures; 4 by default. */
  readonly window?: number;
  /** Depth of log-signatures, from 1 to 4; 2 by default. */
  readonly signatureDepth?: number;
  /** Largest absolute value of WARP's weights, w_lim of its appendix A.3; the experiment's by default, 0 for none. */
  readonly clipWeights?: number;
  /** Kind of prediction about each series; `"classify"` by default. */
  readonly task?: TaskKind;
  /** Length of a forecast; 24 steps by default. */
  readonly horizon?: Horizon;
  /** Number of hidden layers of WARP's root network or of a vector field, or of layers of fast weights, at least 1. */
  readonly depth?: number;
  /** Number of heads of fast weights, at least 1, by which the hidden channels can be divided. */
  readonly heads?: number;
  /** Number of features of the feedforward block of fast weights, at least 1. */
  readonly feedForward?: number;
  /** Number of series that are made, or taken of the data, to learn from, at least 1. */
  readonly samples?: number;
  /** Number of observations of a series that is made, at least 2. */
  readonly length?: number;
  /** Number of steps that a forecast starts from, at least 2. */
  readonly context?: number;
  /** Number of epochs without a better validation loss after which training ends, at least 1; by default it does not. */
  readonly patience?: number;
  /** Whether each class counts alike in the loss, however many series it has. */
  readonly balance?: boolean;
  /** Whether the model reads a path that never looks ahead, so that it can predict while observations arrive. */
  readonly online?: boolean;
  /** Whether the model reads how each channel was observed, beside its values. */
  readonly intensity?: boolean;
  /** Number of parts of which each tests once, at least 2. */
  readonly folds?: number;
  /** The part that tests, from 0. */
  readonly fold?: number;
  /** Number of steps after which series resemble themselves; by default those of a day, or of a week of days. */
  readonly season?: number;
  /** Options of reading the table of the data; by its columns `series`, `time` and `label` by default. */
  readonly table?: TableOptions;
  /** Scaling of channels; `"standard"` by default. */
  readonly scaling?: Scaling;
  /** Whether means are fed outside training where samples are in it, as for smooth series. False by default. */
  readonly smooth?: boolean;
}

/** The special settings of an experiment with several tasks: the task, and what it is about. */
export const taskSettings = [
  "task",
  "horizon",
  "context",
  "season",
  "patience",
  "balance",
  "online",
  "folds",
  "fold",
] as const;

/** The settings that not every experiment can use. */
export const specialSettings = [
  "data",
  "width",
  "intensity",
  "drop",
  "model",
  "method",
  "stepSize",
  "recipe",
  "clipWeights",
  "depth",
  "heads",
  "feedForward",
  "samples",
  "length",
  "smooth",
  "dataSeed",
  "positiveWeight",
  "window",
  "signatureDepth",
  "table",
  "scaling",
  ...taskSettings,
] as const;

/** A setting that not every experiment can use. */
export type SpecialSetting = typeof specialSettings[number];

/** The special settings of experiments that classify series. */
export const seriesSettings: readonly SpecialSetting[] = [
  "model",
  "width",
  "depth",
  "heads",
  "feedForward",
  "intensity",
  "method",
  "stepSize",
  "window",
  "signatureDepth",
  "clipWeights",
  "recipe",
  "dataSeed",
  "positiveWeight",
];

/** The special settings of experiments that continue series. */
export const forecastSettings: readonly SpecialSetting[] = ["model", "recipe", "clipWeights", "depth"];

/** The same where the series are made. */
export const madeForecastSettings: readonly SpecialSetting[] = [...forecastSettings, "samples", "length"];

/** A problem and a model for it. */
export interface Experiment {
  /** Name in `deno task train <name>`. */
  readonly name: string;
  /** Description in a line. */
  readonly summary: string;
  /** Settings of a run that chooses none. */
  readonly defaults: Omit<Settings, "seed">;
  /** Those that are others for a task, where an experiment has several. */
  readonly taskDefaults?: Partial<Record<TaskKind, Partial<Settings>>>;
  /** The special settings that it can use. */
  readonly takes: readonly SpecialSetting[];
  /** Its models by their names, for a task where it has several. */
  models(task?: TaskKind): Readonly<Record<string, ModelKind>>;
  /**
   * Reads or makes the data, and makes the model, on the current device.
   *
   * @param earlier Record of the data that the run was started with: the data must be the same, and scaling, classes and
   * split are taken from it.
   * @throws {Error} If the data are not those of the record, with what differs.
   */
  prepare(settings: Settings, earlier?: DataRecord): Promise<Task> | Task;
  /** Makes the model for data that it was not trained on; where there is none, data are made from the seed alone. */
  open?(settings: Settings, record: DataRecord): TrainedModel;
}

/** The tasks that can use a setting, for the settings that not every task can. */
const tasksOf: Partial<Record<SpecialSetting, readonly TaskKind[]>> = {
  horizon: ["forecast"],
  context: ["forecast"],
  season: ["forecast"],
  balance: ["classify"],
  positiveWeight: ["classify"],
  recipe: ["classify"],
  drop: ["classify", "regress"],
  intensity: ["classify", "regress"],
  dataSeed: ["classify", "regress"],
  online: ["classify", "regress"],
  folds: ["classify", "regress"],
};

/** The same for options of tables: classes and numbers are predicted from all rows, and parts of forecasts are of time. */
const tasksOfTable: Partial<Record<keyof TableOptions, readonly TaskKind[]>> = {
  known: ["forecast"],
  group: ["classify", "regress"],
};

/**
 * @param all Experiments to choose another one from.
 * @throws {Error} If a setting is given that the experiment, its task or its model cannot use, with those that it can, and with
 * the experiments that can use all of them.
 */
export function refuseUnusable(
  experiment: Experiment,
  settings: Partial<Settings>,
  all: readonly Experiment[] = [],
): void {
  const { name, takes } = experiment;
  const given = specialSettings.filter((setting) => settings[setting] !== undefined);
  const unusable = given.filter((setting) => !takes.includes(setting));
  if (unusable.length > 0) {
    const others = all.filter((other) => unusable.every((setting) => other.takes.includes(setting)));
    const remedy = others.length > 0
      ? `; experiments that can: ${others.map((other) => other.name).join(", ")}`
      : "";
    throw new Error(
      `${name} cannot use ${
        flags(unusable.flatMap((one) => one === "table" ? Object.keys(settings.table!) : one))
      }; of the options that not every experiment has it takes ${
        flags(takes.filter((one) => one !== "table"))
      }${remedy}`,
    );
  }
  const { task = "classify", model } = settings;
  if (takes.includes("task")) {
    const options = Object.keys(settings.table ?? {}) as (keyof TableOptions)[];
    const foreign = [
      ...given.filter((setting) => tasksOf[setting]?.includes(task) === false),
      ...options.filter((option) => tasksOfTable[option]?.includes(task) === false),
    ];
    if (foreign.length > 0) throw new Error(`--task ${task} cannot use ${flags(foreign)}: leave it out`);
  }
  if (settings.balance && settings.positiveWeight !== undefined) {
    throw new Error("--balance and --positive-weight both weigh the classes: leave one out");
  }
  if (model !== undefined) refuseUnread(experiment, settings, unreadSettings(experiment, settings));
}

/** @throws {Error} If there is a setting among those that the model does not read, with the models that do. */
export function refuseUnread(
  { models }: Experiment,
  { model, task }: Partial<Settings>,
  [unread]: readonly ModelSetting[],
): void {
  if (unread === undefined) return;
  const others = Object.entries(models(task)).filter(([, { takes }]) => takes.includes(unread));
  throw new Error(
    `the model ${model} cannot use ${flag(unread)}: leave it out, or choose ${
      others.map(([other]) => other).join(", ")
    }`,
  );
}

/** The settings of models that are given, but not for this one; the number of hidden channels, which each run has, is not among them. */
export function unreadSettings(experiment: Experiment, settings: Partial<Settings>): ModelSetting[] {
  const kinds = experiment.models(settings.task);
  const { takes } = kindNamed(kinds, settings.model!);
  const known = new Set(Object.values(kinds).flatMap((kind) => kind.takes));
  return [...known].filter((one) => one !== "hidden" && settings[one] !== undefined && !takes.includes(one));
}

function flags(settings: readonly string[]): string {
  return settings.map(flag).join(", ");
}

/** A setting as an option of the command line. */
export function flag(setting: string): string {
  return `--${setting.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}
