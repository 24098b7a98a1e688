/** How a model of users' own series is trained: the length of training, found by cross-validation. */
import { formatMeasure, measureName } from "../../train/report/measure_names.ts";
import type { PlanOptions } from "../../train/task.ts";
import type { Series } from "../../data/series.ts";
import type { Candidate } from "./auto.ts";
import { compareWholeSeries } from "./compare_series.ts";
import { type CandidateProblem, crossValidate } from "./cross_validation.ts";
import type { DataRecord } from "../record/data_record.ts";
import type { RecordedTraining } from "../record/recorded_training.ts";
import { defaultSteps } from "../targets/learning.ts";
import { validatedOf } from "../targets/validated.ts";
import type { SeriesSettings } from "../record/settings.ts";

/** Number of folds, and of members of an ensemble: 5 for up to 200 series, otherwise 3. */
const repetitionsFor = (series: number) => series <= 200 ? 5 : 3;
/** Lengths of training to compare, as fractions of the default number of steps. */
const lengthShares = [0.1, 0.3, 1];

/**
 * Finds the length of training by cross-validation. A model that is fitted in closed form has no length; it is only
 * measured.
 *
 * @param isClosedForm Whether the model is fitted in closed form.
 * @returns Undefined if the signal ended the search.
 */
export async function planTraining<Settings extends SeriesSettings>(
  problem: CandidateProblem<Settings>,
  settings: Settings,
  { signal, onLine, isClosedForm }: PlanOptions & { isClosedForm: boolean },
): Promise<RecordedTraining | undefined> {
  const { series } = problem;
  const repetitions = repetitionsFor(series.length);
  const folds = foldsFor(series);
  const aim = isClosedForm ? `measures ${settings.model ?? "the model"}` : "finds the length of training";
  onLine?.(`cross-validation with ${folds} folds ${aim}`);
  const result = await crossValidate(problem, settings, {
    ...{ folds, signal },
    steps: lengthsFor(series.length, settings),
    onScore: ({ loss, accuracy, r2 }, steps) => {
      const measures = Object.entries({ loss, accuracy, r2 })
        .flatMap(([name, value]) =>
          value === undefined ? [] : `${measureName(name)} ${formatMeasure(name, value)}`
        );
      onLine?.(`  ${isClosedForm ? "" : `${steps} steps: `}${measures.join(", ")}`);
    },
  });
  if (!result) return undefined;
  const { steps, temperature, share } = result;
  const ensemble = settings.ensemble ?? (steps === 0 ? 1 : repetitions);
  if (share !== undefined) onLine?.(predictionsOf(share));
  onLine?.(finalTraining(series.length, steps, ensemble));
  return {
    ensemble,
    found: { steps, temperature, share },
    ...(result.errors.length > 0 ? { validated: validatedOf(result) } : {}),
  };
}

/** Line about the parts of the predictions of a network beside a linear model. */
function predictionsOf(share: number): string {
  return `predictions: a linear model of last values and summaries, and ${
    100 * share
  } % of the network's changes`;
}

/** Line about the final training after cross-validation. */
function finalTraining(series: number, steps: number, ensemble: number): string {
  const learned = `the final model learns from all ${series} series of the training and the validation set`;
  const members = ensemble > 1 ? ` by ${ensemble} models, whose predictions are averaged` : "";
  return steps === 0 ? learned : `${learned} for ${steps} steps${members}`;
}

/** Options of {@linkcode planModel}. */
interface ModelPlanOptions<Settings extends SeriesSettings> extends PlanOptions {
  /** All series of the training set, then those of the validation set. */
  problem: CandidateProblem<Settings>;
  settings: Settings;
  candidates: readonly Candidate[];
  split: DataRecord["split"];
  /** Whether cross-validation compares the models; otherwise the validation set does. */
  isSmall: boolean;
}

/**
 * Chooses a model, or settings of a model, and the length of its training for a small table.
 *
 * @returns Undefined if the signal ended the comparison.
 */
export async function planModel<Settings extends SeriesSettings>(
  { problem, settings, candidates, split, isSmall, ...options }: ModelPlanOptions<Settings>,
): Promise<RecordedTraining | undefined> {
  const { series } = problem;
  const { length: train } = split.train;
  const indices = Array.from(series.keys());
  const validation = indices.slice(train);
  const choice = await compareWholeSeries({
    ...{ problem, settings, candidates, ...options },
    folds: isSmall ? foldsFor(series) : { train: indices.slice(0, train), validation, test: validation },
    steps: lengthsFor(isSmall ? series.length : train, settings),
  });
  if (!choice) return undefined;
  const { found: result, ...comparison } = choice;
  const isClosedForm = result.steps === 0;
  const ensemble = isClosedForm ? 1 : settings.ensemble ?? (isSmall ? repetitionsFor(series.length) : 1);
  if (isClosedForm && (settings.ensemble ?? 1) > 1) {
    options.onLine?.(
      `${choice.chosen.model} is fitted in closed form, by one model: the option ensemble has no effect`,
    );
  }
  if (result.share !== undefined) options.onLine?.(predictionsOf(result.share));
  if (isSmall) options.onLine?.(finalTraining(series.length, result.steps, ensemble));
  return { ensemble, ...comparison, ...(isSmall ? { found: result } : {}) };
}

/** Number of folds: at most the number of groups of series. */
function foldsFor(series: readonly Series[]): number {
  const groups = new Set(series.map(({ group, name }) => group ?? name)).size;
  return Math.min(repetitionsFor(series.length), groups);
}

/** Numbers of optimiser steps to compare. */
function lengthsFor(series: number, { batchSize }: Pick<SeriesSettings, "batchSize">): number[] {
  const most = defaultSteps(series, batchSize);
  return lengthShares.map((share) => Math.ceil(share * most));
}
