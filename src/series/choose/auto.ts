/** Automatic choice of a model: candidates are compared on series that they did not learn from. */
import { formatDuration } from "../../charts/format.ts";
import type { Section } from "../../charts/section.ts";
import { formatMeasure, measureName } from "../../train/report/measure_names.ts";
import { wordsOf } from "../../train/report/report_settings.ts";
import type { PlanOptions, Task } from "../../train/task.ts";
import type { Splits } from "../../data/series.ts";
import { autoBudget, searchBudget, secondsOfBudget } from "../record/budget.ts";
import { type CandidateProblem, crossValidate, type CrossValidation } from "./cross_validation.ts";
import { notFinished, notStarted } from "./candidate_failure.ts";
import type { ComparedModel, RecordedTraining } from "../record/data_record.ts";
import { kindNamed, type ModelKind, type ModelSetting } from "../models/model_settings.ts";
import { meanWithError } from "../targets/score.ts";
import type { SeriesSettings } from "../record/settings.ts";

/** Name of the automatic choice for the option `model`. */
export const autoModel = "auto";

/**
 * Names of the models that the automatic choice compares.
 *
 * @param isIrregular Whether the times of the series are irregular. Models that assume equal steps are then last.
 */
export function candidatesIn(kinds: Readonly<Record<string, ModelKind>>, isIrregular = false): string[] {
  const names = Object.keys(kinds).filter((name) => kinds[name].isCandidate);
  const isLast = (name: string) => isIrregular && kinds[name].assumesEqualSteps === true;
  return [...names.filter((name) => !isLast(name)), ...names.filter(isLast)];
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
  given: Readonly<Record<string, unknown>>,
  settings: readonly ModelSetting[],
): boolean {
  const { takes, rejects = [] } = autoKind();
  const others = settings.filter((name) => !takes.includes(name));
  return ![...rejects, ...others].some((name) => given[name] !== undefined);
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
  const given = settings as unknown as Readonly<Record<string, unknown>>;
  const optional = ["balance", "positiveWeight", "intensity"];
  return candidatesIn(kinds).map((model) => {
    const { takes, rejects = [] } = kindNamed(kinds, model);
    const unusable = settings.online && !takes.includes("online")
      ? "online"
      : optional.find((option) => given[option] !== undefined && rejects.includes(option));
    const reason = unusable && `left out: ${model} cannot use ${wordsOf(unusable)}`;
    return { label: model, chosen: choiceOf(kinds, model), ...(reason ? { reason } : {}) };
  });
}

/** Time at which a comparison ends, as `performance.now()`. Prints the time limit. */
export function deadlineOf(settings: SeriesSettings, { onLine }: PlanOptions): number {
  const { search, budget = search === undefined ? autoBudget : searchBudget } = settings;
  const seconds = secondsOfBudget(budget);
  onLine?.(
    `comparing ${search === undefined ? "models" : `${search} settings`} for at most ${
      formatDuration(seconds)
    } (budget ${budget})`,
  );
  return performance.now() + 1000 * seconds;
}

/** A model with its settings, which is compared with others. */
export interface Candidate {
  /** Name in the comparison. */
  readonly label: string;
  readonly chosen: NonNullable<RecordedTraining["chosen"]>;
  /** Why the model is left out. */
  readonly reason?: string;
}

/** Options of {@linkcode compareWholeSeries}. */
interface WholeSeriesComparison<Settings extends SeriesSettings> extends PlanOptions {
  problem: CandidateProblem<Settings>;
  settings: Settings;
  candidates: readonly Candidate[];
  /** Number of folds, or the split into a training and a validation set. */
  folds: number | Splits<readonly number[]>;
  /** Numbers of optimiser steps to compare for models that are trained with gradients. */
  steps: readonly number[];
}

/** Result of {@linkcode compareWholeSeries}. */
interface ChosenModel {
  readonly chosen: NonNullable<RecordedTraining["chosen"]>;
  readonly compared: readonly ComparedModel[];
  readonly found: Pick<CrossValidation, "steps" | "temperature" | "share">;
}

/**
 * Compares candidates for classes or numbers by their accuracy or squared error. A later candidate replaces an
 * earlier one if it is clearly better. The first candidate is always scored; the others within the time
 * limit. No further candidate is tried after one without an error. A candidate without a score has a reason.
 *
 * @returns Undefined if the signal ended the comparison.
 */
export async function compareWholeSeries<Settings extends SeriesSettings>(
  options: WholeSeriesComparison<Settings>,
): Promise<ChosenModel | undefined> {
  const { problem, settings, folds, steps, signal, onLine } = options;
  const deadline = deadlineOf(settings, options);
  const compared: ComparedModel[] = [];
  let best: { score: CrossValidation; candidate: Candidate } | undefined;
  const add = (entry: ComparedModel) => {
    compared.push(entry);
    onLine?.(`  ${lineOf(entry)}`);
  };
  const candidates = options.candidates.filter(({ reason }) => reason === undefined);
  for (const { label, reason } of options.candidates) if (reason) add({ model: label, reason, seconds: 0 });
  for (const [place, candidate] of candidates.entries()) {
    if (best?.score.accuracy === 1) {
      add({
        model: candidate.label,
        reason: `not started: ${best.candidate.label} makes no error`,
        seconds: 0,
      });
      continue;
    }
    const start = performance.now();
    // Candidates share the rest of the time, so that one slow model does not keep the others from being scored.
    const share = start + Math.max(0, deadline - start) / (candidates.length - place);
    const score = await crossValidate(problem, { ...settings, ...candidate.chosen }, {
      ...{ folds, steps, signal },
      ...(place === 0 ? {} : { deadline: share }),
    });
    if (signal?.aborted) return undefined;
    const seconds = (performance.now() - start) / 1000;
    const outOfTime = { reason: start < deadline ? notFinished : notStarted };
    add({ model: candidate.label, seconds, ...(score ? measuresOf(score) : outOfTime) });
    if (score && (!best || isBetter(score, best.score))) best = { score, candidate };
  }
  const { candidate, score } = best ??
    { candidate: candidates[0], score: { steps: steps.at(-1)!, temperature: 1 } };
  const isBeaten = compared.some(({ model, measures }) =>
    model !== candidate.label && (measures?.accuracy ?? measures?.r2 ?? 0) > (score.accuracy ?? score.r2 ?? 0)
  );
  onLine?.(`chosen: ${candidate.label}${isBeaten ? `; ${replacementRule}` : ""}`);
  return {
    chosen: { ...candidate.chosen, ...(settings.search === undefined ? {} : { label: candidate.label }) },
    compared,
    found: { steps: score.steps, temperature: score.temperature, share: score.share },
  };
}

/** Says why a candidate with a better score may not be chosen. */
const replacementRule =
  "a later model replaces an earlier one only if its errors are smaller by more than one standard error";

/**
 * Whether a candidate is clearly better than an earlier, cheaper one: the mean difference of their errors is more
 * than its standard error. A difference of one or two series of a small table is chance.
 */
function isBetter(one: CrossValidation, earlier: CrossValidation): boolean {
  if (!Number.isFinite(earlier.loss)) return Number.isFinite(one.loss);
  const differences = earlier.errors.map((error, i) => error - one.errors[i]);
  const { mean, standardError } = meanWithError(differences);
  return mean > standardError;
}

function measuresOf({ loss, accuracy, r2, steps, reason }: CrossValidation): Partial<ComparedModel> {
  if (reason !== undefined) return { reason };
  const measures = Object.entries({ accuracy, r2, loss }).filter(([, value]) => Number.isFinite(value));
  return {
    measures: Object.fromEntries(measures) as Record<string, number>,
    ...(steps > 0 ? { steps } : {}),
  };
}

/** A compared model as a line of text. */
export function lineOf({ model, measures, reason = notFinished, steps, seconds }: ComparedModel): string {
  const time = formatDuration(seconds);
  if (!measures) return `${model}: ${reason}${seconds > 0 ? `, ${time}` : ""}`;
  const values = Object.entries(measures).map(([name, value]) =>
    `${measureName(name)} ${formatMeasure(name, value)}`
  );
  return `${model}: ${[...values, ...steps ? [`${steps} steps`] : [], time].join(", ")}`;
}

/** A task whose report names the chosen model and lists the compared ones. */
export function withComparison<Found extends Task>(
  task: Found,
  training: RecordedTraining | undefined,
): Found {
  if (!training?.chosen) return task;
  const { label, ...chosen } = training.chosen;
  const known = Object.entries(chosen).filter(([, value]) => value !== undefined);
  return {
    ...task,
    chosen: {
      ...task.chosen,
      ...Object.fromEntries(known.map(([name, value]) => [name, `${value}`])),
      ...(label ? { settings: label } : {}),
    },
    examples: async () => [...comparisonSection(training), ...await task.examples?.() ?? []],
  };
}

function comparisonSection(training: RecordedTraining): Section[] {
  const { compared, chosen } = training;
  if (!compared || !chosen) return [];
  const names = [...new Set(compared.flatMap(({ measures = {} }) => Object.keys(measures)))];
  const hasSteps = compared.some(({ steps }) => steps !== undefined);
  const hasReasons = compared.some(({ measures }) => !measures);
  const head = ["model", ...names.map(measureName), ...hasSteps ? ["steps"] : [], "time"];
  return [{
    kind: "table",
    title: "Compared models",
    text: `The models were compared on data that they did not learn from. Chosen: ${
      chosen.label ?? chosen.model
    }; ${names.includes("mae") ? "its error is the smallest" : replacementRule}.`,
    head: [...head, ...hasReasons ? ["why there is no score"] : []],
    texts: hasReasons ? [0, head.length] : [0],
    rows: compared.map(({ model, measures, reason = notFinished, steps, seconds }) => [
      model === (chosen.label ?? chosen.model) ? { text: model, mark: "best" } : model,
      ...names.map((name) => measures?.[name] === undefined ? "" : formatMeasure(name, measures[name])),
      ...hasSteps ? [`${steps ?? ""}`] : [],
      seconds > 0 ? formatDuration(seconds) : "",
      ...hasReasons ? [measures ? "" : reason] : [],
    ]),
  }];
}
