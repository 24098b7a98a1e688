/** Settings of models: which a model reads, their defaults, and the errors of others. */
import { checkOptions, hintFor, namesOf } from "../../device/options.ts";
import type { Experiment } from "../../train/experiment.ts";
import { defaultsOf } from "../../train/option.ts";
import { OptionError } from "../../device/errors.ts";
import type { TaskKind } from "../record/predictions.ts";
import type { SeriesReading } from "./series_reading.ts";
import type { SeriesModelSettings } from "../record/settings.ts";
import type { TrainedModel } from "./trained_model.ts";

/**
 * Settings that a model can read. `units` and `layers` are those of a forecaster other than WARP: the features
 * of its state and the layers of a state space model.
 */
export type ModelSetting = Exclude<keyof SeriesModelSettings, "model" | "intensity"> | "units" | "layers";

/** Size of the data of a fit. */
export interface FitSize {
  /** Number of series, or of windows. */
  readonly samples: number;
  /** Number of rows that a model reads of the longest series, or of a window. */
  readonly rows: number;
  /** Number of channels. */
  readonly channels: number;
  /** Number of classes or targets; of forecast channels for forecasts. */
  readonly outputs: number;
}

/** Options without effect on a model that is fitted in closed form, and that knows no weights of classes. */
export const rejectsOfFits = [
  "epochs",
  "learningRate",
  "patience",
  "balance",
  "positiveWeight",
  "intensity",
  "ensemble",
  "search",
];

/** A kind of model. */
export interface ModelKind {
  /** Settings that the model reads. Other settings are rejected. */
  readonly takes: readonly ModelSetting[];
  /**
   * Whether the automatic choice compares the model with others. It compares the models in the order of their
   * list, which should begin with the simplest: of two models that are equally good, it chooses the first.
   */
  readonly isCandidate?: boolean;
  /** Whether the model is a baseline: the automatic choice prefers it to a model that is not clearly better. */
  readonly isBaseline?: boolean;
  /** Names of models that the model averages. The automatic choice prefers it to one of them that is not clearly better. */
  readonly averages?: readonly string[];
  /**
   * Estimated scalar operations of a fit in closed form; 10,000 for each value unless given. The automatic choice
   * counts the operations of its candidates.
   */
  readonly operations?: (size: FitSize) => number;
  /** Number of steps along a typical series by default, at most; 512 unless given. */
  readonly typicalSteps?: number;
  /** Defaults of the model, which override those of the experiment. */
  readonly defaults?: Readonly<{ learningRate?: number; hidden?: number; epochs?: number }>;
  /**
   * Other options that have no effect on the model, such as the learning rate of a model that is fitted in
   * closed form. They are rejected if they are given.
   */
  readonly rejects?: readonly string[];
  /** Loads the code that makes the model, if it is not part of the kind. Needed before a model is made. */
  readonly load?: () => Promise<void>;
}

/** How a kind of model reads series. A model that is fitted in closed form has no `reads`: it reads all rows. */
export type ModelReading = Pick<ModelKind, "typicalSteps"> & { readonly reads?: SeriesReading };

/** An experiment with several models. */
// deno-lint-ignore no-explicit-any
export interface ModelExperiment<Settings = any> extends Experiment<Settings, TrainedModel> {
  /** Models by name, for a task if the experiment has several tasks. */
  models(task?: TaskKind): Readonly<Record<string, ModelKind>>;
}

/**
 * Finds a kind of model by name.
 *
 * @param kinds Kinds of models by name.
 * @throws {OptionError} If the name is unknown. The message suggests the nearest name, or lists the names.
 */
export function kindNamed<Kind>(kinds: Readonly<Record<string, Kind>>, name: string): Kind {
  if (Object.hasOwn(kinds, name)) return kinds[name];
  const names = Object.keys(kinds);
  throw new OptionError("unknown-model", `unknown model "${name}"`, {
    option: "model",
    expected: names.join(", "),
    fixes: [hintFor(name, names)],
  });
}

/** As {@linkcode kindNamed}, with the code that makes the model. */
export async function loadKind<Kind extends Pick<ModelKind, "load">>(
  kinds: Readonly<Record<string, Kind>>,
  name: string,
): Promise<Kind> {
  const kind = kindNamed(kinds, name);
  await kind.load?.();
  return kind;
}

/** Whether a model is a WARP, by its name for `--model`: `warp`, or a variant such as `warp-rotation`. */
export function isWarp(model: string | undefined): boolean {
  return /^warp(-|$)/.test(model ?? "");
}

/** Settings that select the model. */
type ModelChoice = Readonly<Record<string, unknown>> & { readonly model?: string; readonly task?: TaskKind };

/** Rules of an experiment, in addition to those of its models. */
export interface ModelRules<Settings> {
  /** Defaults that depend on chosen options. Those that the model does not read are left out. */
  defaultsFor?: (chosen: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>;
  /** Rejects further invalid combinations of settings. */
  check?: (settings: Settings) => void;
}

const ruleNames = namesOf<ModelRules<unknown>>()("defaultsFor? check?");

/** Adds model-dependent parts to an experiment: the defaults, and the check of the settings. */
export function modelRules<Settings>(
  experiment: Omit<ModelExperiment<Settings>, "defaultsFor" | "check">,
  rules: ModelRules<Settings> = {},
): ModelExperiment<Settings> {
  checkOptions("modelRules", rules, ruleNames);
  const { check } = rules;
  const ownDefaults = defaultsOf(experiment.options);
  const defaultsOfModel = (chosen: ModelChoice) => {
    const others = rules.defaultsFor?.(chosen) ?? {};
    const model = (chosen.model ?? others.model ?? ownDefaults.model) as string;
    const kind = kindNamed(experiment.models(chosen.task), model);
    const unread: readonly string[] = unreadSettings(experiment, { ...others, task: chosen.task, model });
    const read = Object.entries(others).filter(([name]) => !unread.includes(name));
    return { ...Object.fromEntries(read), ...kind.defaults };
  };
  return {
    ...experiment,
    defaultsFor: defaultsOfModel,
    check(settings, chosen = {}) {
      check?.(settings);
      const choice = settings as ModelChoice;
      if (choice.model === undefined) return;
      const { takes, rejects = [], defaults = {} } = kindNamed(experiment.models(choice.task), choice.model);
      const unread = [
        ...unreadSettings(experiment, choice),
        ...(takes.includes("hidden") || chosen.hidden === undefined ? [] : ["hidden" as const]),
      ];
      if (unread.length > 0) throw unreadError(experiment, choice, unread[0]);
      const rejected = rejects.find((name) =>
        chosen[name] !== undefined || ownDefaults[name] === undefined &&
          choice[name] !== (defaults as Readonly<Record<string, unknown>>)[name]
      );
      if (rejected !== undefined) throw rejectedError(choice, rejected);
    },
  };
}

/**
 * Settings without effect on a model: the number of hidden channels of a model without a hidden state, and the
 * settings of gradient descent for a model that is fitted in closed form.
 */
export function withoutEffect({ takes }: ModelKind, isClosedForm: boolean): string[] {
  return [
    ...(takes.includes("hidden") ? [] : ["hidden"]),
    ...(isClosedForm ? ["epochs", "learningRate", "batchSize"] : []),
  ];
}

function rejectedError({ model }: ModelChoice, rejected: string): OptionError {
  return new OptionError(
    "unusable-option",
    (write) => `the model ${model} cannot use ${write(rejected)}: leave it out, or choose another model`,
    { option: rejected },
  );
}

function unreadError(
  { models }: Pick<ModelExperiment, "models">,
  { model, task }: ModelChoice,
  unread: ModelSetting,
): OptionError {
  const others = Object.entries(models(task)).filter(([, { takes }]) => takes.includes(unread));
  return new OptionError(
    "unusable-option",
    (write) =>
      `the model ${model} cannot use ${write(unread)}: leave it out, or choose ${
        others.map(([other]) => other).join(", ")
      }`,
    { option: unread },
  );
}

/**
 * Model settings that were given but are not read by the chosen model. Excludes `hidden`, which always has a
 * default.
 */
export function unreadSettings(
  { models }: Pick<ModelExperiment, "models">,
  settings: ModelChoice,
): ModelSetting[] {
  const kinds = models(settings.task);
  const { takes } = kindNamed(kinds, settings.model!);
  const settingNames = new Set(Object.values(kinds).flatMap((kind) => kind.takes));
  return [...settingNames].filter((name) =>
    name !== "hidden" && settings[name] !== undefined && !takes.includes(name)
  );
}
