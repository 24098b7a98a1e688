/** The model `auto`: the candidates that are compared, and the settings of the chosen one. */
import { wordsOf } from "../../train/report/report_settings.ts";
import type { RecordedTraining } from "../record/recorded_training.ts";
import { kindNamed, type ModelKind, type ModelSetting } from "../models/model_settings.ts";
import type { SeriesSettings } from "../record/settings.ts";

/** Name of the automatic choice for the option `model`. */
export const autoModel = "auto";

/** Names of the models that the automatic choice compares, the simplest first. */
export function candidatesIn(kinds: Readonly<Record<string, ModelKind>>): string[] {
  return Object.keys(kinds).filter((name) => kinds[name].isCandidate);
}

/**
 * The kind of the automatic choice.
 *
 * @param epochs Default number of epochs of the candidates that are trained with gradients.
 */
export function autoKind(epochs?: number): ModelKind {
  return {
    takes: ["online"],
    defaults: epochs === undefined ? {} : { epochs },
    rejects: ["epochs", "learningRate", "patience", "noRefit", "search"],
  };
}

/** Whether an automatic choice is possible with the given options. */
export function canChoose(
  options: Readonly<Record<string, unknown>>,
  settings: readonly ModelSetting[],
): boolean {
  const { takes, rejects = [] } = autoKind();
  const others = settings.filter((name) => !takes.includes(name));
  return ![...rejects, ...others].some((name) => options[name] !== undefined);
}

/** Settings, overridden by those of the chosen model. */
export function withChosen<Settings extends SeriesSettings>(
  settings: Settings,
  training: RecordedTraining | undefined,
): Settings {
  if (!training?.chosen) return settings;
  const { label: _, ...chosen } = training.chosen;
  return { ...settings, ...chosen };
}

/** Settings that the choice of a candidate changes: the name and the defaults of the model. */
export function choiceOf(
  kinds: Readonly<Record<string, ModelKind>>,
  model: string,
): NonNullable<RecordedTraining["chosen"]> {
  return { model, ...kindNamed(kinds, model).defaults };
}

/** Models for classes and numbers. A model that does not accept the given settings has a reason to be left out. */
export function modelCandidates(
  kinds: Readonly<Record<string, ModelKind>>,
  settings: SeriesSettings,
): Candidate[] {
  const options = settings as unknown as Readonly<Record<string, unknown>>;
  const optional = ["balance", "positiveWeight", "intensity"];
  return candidatesIn(kinds).map((model) => {
    const { takes, rejects = [], isBaseline, averages } = kindNamed(kinds, model);
    const unusable = settings.online && !takes.includes("online")
      ? "online"
      : optional.find((option) => options[option] !== undefined && rejects.includes(option));
    const reason = unusable && `left out: ${model} cannot use ${wordsOf(unusable)}`;
    return {
      label: model,
      chosen: choiceOf(kinds, model),
      isBaseline,
      averages,
      ...(reason ? { reason } : {}),
    };
  });
}

/** A model with its settings, which is compared with others. */
export interface Candidate {
  /** Name in the comparison. */
  readonly label: string;
  readonly chosen: NonNullable<RecordedTraining["chosen"]>;
  readonly isBaseline?: boolean;
  /** Labels of candidates that the model averages. */
  readonly averages?: readonly string[];
  /** Why the model is left out. */
  readonly reason?: string;
}
