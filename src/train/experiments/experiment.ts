import type { DataRecord } from "../data_record.ts";
import type { Task, TrainedModel } from "../task.ts";
import type { Recipe } from "./recipe.ts";

/** What a user chooses for a run. */
export interface Settings {
  /** Decides data, initial parameters and their order: the same seed gives the same run. */
  readonly seed: number;
  readonly epochs: number;
  readonly batchSize: number;
  readonly learningRate: number;
  /** Channels of the hidden state. */
  readonly hidden: number;
  /** A zip file or a folder, for experiments on real data. */
  readonly data?: string;
  /** The share of each series' observations that are made missing, none when left out. */
  readonly drop?: number;
  /** The model's name, where an experiment has several. */
  readonly model?: string;
  /** The solver's method, `"rk4"` when left out, where there is a solver. */
  readonly method?: string;
  /** The length of its steps, in observations: 1 when left out. */
  readonly stepSize?: number;
  /** How a model learns, `"short"` when left out. */
  readonly recipe?: Recipe;
  /**
   * Decides data, split and dropped observations instead of the seed, so that models and repeats have the same: the seed's when
   * left out, 0 with the recipe `"paper"`.
   */
  readonly dataSeed?: number;
  /** How much a series of the second of two classes counts, against 1 of the first. */
  readonly positiveWeight?: number;
  /** Observations from one window to the next, for models along log-signatures: 4 when left out. */
  readonly window?: number;
  /** Of those log-signatures: 2 when left out. */
  readonly signatureDepth?: number;
  /** Bounds of WARP's weights, w_lim of its appendix A.3: those of the experiment when left out; 0 for none. */
  readonly clipWeights?: number;
  /** Whether means are fed outside training where samples are in it, as for smooth series. No when left out. */
  readonly smooth?: boolean;
}

/** The settings that not every experiment can use. */
export const specialSettings = [
  "data",
  "drop",
  "model",
  "method",
  "stepSize",
  "recipe",
  "clipWeights",
  "smooth",
  "dataSeed",
  "positiveWeight",
  "window",
  "signatureDepth",
] as const;

/** A setting that not every experiment can use. */
export type SpecialSetting = typeof specialSettings[number];

/** What experiments that classify series take. */
export const seriesSettings: readonly SpecialSetting[] = [
  "model",
  "method",
  "stepSize",
  "window",
  "signatureDepth",
  "recipe",
  "dataSeed",
  "positiveWeight",
];

/** What experiments of forecasts take. */
export const forecastSettings: readonly SpecialSetting[] = ["model", "recipe", "clipWeights"];

/** A problem and a model for it. */
export interface Experiment {
  readonly name: string;
  /** What it is about, in a line. */
  readonly summary: string;
  readonly defaults: Omit<Settings, "seed">;
  /** The special settings that it can use. */
  readonly takes: readonly SpecialSetting[];
  /**
   * Reads or makes the data, and makes the model, on the current device.
   *
   * @param earlier What the run learned from when it started: the data must be the same, and scaling, classes and split are
   * taken from it.
   * @throws {Error} If the data are not those of the record, with what differs.
   */
  prepare(settings: Settings, earlier?: DataRecord): Promise<Task> | Task;
  /** Makes the model for data that it was not trained on; where there is none, data are made from the seed alone. */
  open?(settings: Settings, record: DataRecord): TrainedModel;
}

/** Which models can use the settings that not every model can. */
const usedBy: Partial<Record<SpecialSetting, (model: string) => boolean>> = {
  method: (model) => model !== "direct-map",
  stepSize: (model) => model !== "direct-map",
  clipWeights: (model) => model.startsWith("warp"),
};

/** @throws {Error} If a setting is given that the experiment, or its model, cannot use, with those that it can. */
export function refuseUnusable({ name, takes }: Experiment, settings: Settings): void {
  const given = specialSettings.filter((setting) => settings[setting] !== undefined);
  const unusable = given.filter((setting) => !takes.includes(setting));
  if (unusable.length > 0) {
    throw new Error(
      `${name} cannot use ${flags(unusable)}; of the options that not every experiment has it takes ${
        flags(takes)
      }`,
    );
  }
  const { model } = settings;
  const unused = given.filter((setting) => model !== undefined && usedBy[setting]?.(model) === false);
  if (unused.length > 0) throw new Error(`the model ${model} cannot use ${flags(unused)}: leave it out`);
}

function flags(settings: readonly string[]): string {
  return settings.map(flag).join(", ");
}

/** A setting as an option of the command line. */
export function flag(setting: string): string {
  return `--${setting.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}
