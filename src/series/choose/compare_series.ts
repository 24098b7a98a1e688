/** Comparison of models for classes and numbers. */
import type { PlanOptions } from "../../train/task.ts";
import type { Splits } from "../../data/series.ts";
import type { Candidate } from "./auto.ts";
import { outOfTime } from "./candidate_failure.ts";
import { lineOf, replacementOf } from "./comparison_report.ts";
import {
  type CandidateProblem,
  chooseLength,
  crossValidate,
  type CrossValidation,
} from "./cross_validation.ts";
import type { ComparedModel, RecordedTraining } from "../record/recorded_training.ts";
import type { SeriesSettings } from "../record/settings.ts";
import { betterHalf, chooseSimplest, differenceOf, type Errors, isClearlyBehind, isUseful } from "./rules.ts";
import { validatedOf } from "../targets/validated.ts";
import { WorkBudget } from "./work.ts";

/** Options of {@linkcode compareWholeSeries}. */
interface WholeSeriesComparison<Settings extends SeriesSettings> extends PlanOptions {
  problem: CandidateProblem<Settings>;
  settings: Settings;
  /** Candidates, the simplest first. */
  candidates: readonly Candidate[];
  /** Number of folds, or the split into a training and a validation set. */
  folds: number | Splits<readonly number[]>;
  /** Numbers of optimiser steps to compare for models that are trained with gradients, ascending. */
  steps: readonly number[];
}

/** Result of {@linkcode compareWholeSeries}. */
type ChosenModel =
  & Required<Pick<RecordedTraining, "chosen" | "compared" | "found">>
  & Pick<RecordedTraining, "replaced" | "validated">;

/** A candidate with its scores so far. */
interface Contender {
  readonly candidate: Candidate;
  /** Scores by length of training; a model that is fitted in closed form has one. */
  readonly lengths: CrossValidation[];
  /** Estimated work of its fits. */
  seconds: number;
  reason?: string;
}

/** A candidate with the score of its best length. */
type Scored = Errors & { readonly one: Contender; readonly score: CrossValidation };

/** Further comparisons, with other folds, of close models that are fitted in closed form; and of a close choice. */
const [repetitionsOfFits, repetitionsOfChoice] = [[1, 2], [1]];

/**
 * Compares candidates for classes or numbers. Each is scored at the shortest length of training. Then only the
 * better half of those that are trained with gradients is trained longer, and none that is clearly behind, except
 * that the best of them is trained for the second length in any case. A training that is useful and not better than a
 * shorter one is the last. Models in closed form that are close are scored two more times with other folds. If the choice
 * is close, both candidates are scored once more. The first candidate is always scored; the others within the budget.
 *
 * @returns Undefined if the signal ended the comparison.
 */
export async function compareWholeSeries<Settings extends SeriesSettings>(
  options: WholeSeriesComparison<Settings>,
): Promise<ChosenModel | undefined> {
  const { problem, settings, folds, steps, signal, onLine } = options;
  const budget = new WorkBudget(settings, options);
  const all = options.candidates.map((candidate): Contender => ({
    ...{ candidate, lengths: [], seconds: 0 },
    ...(candidate.reason ? { reason: candidate.reason } : {}),
  }));
  // The simplest usable model is scored even if its work exceeds the budget.
  const first = all.find(({ reason }) => reason === undefined) ?? all[0];
  const print = (one: Contender) => onLine?.(`  ${lineOf(comparedOf(one))}`);
  const score = async (one: Contender, length: number, repetition = 0) => {
    const chosen = { ...settings, ...one.candidate.chosen };
    const work = await problem.seconds(chosen, length) * (typeof folds === "number" ? folds : 1);
    const refused = budget.spend(work, one === first);
    if (refused !== undefined) return refused;
    one.seconds += work;
    const result = await crossValidate(problem, chosen, {
      ...{ folds, steps: [length], repetition, signal: budget.signal },
    });
    return result ?? outOfTime;
  };
  const scoreAndPrint = async (one: Contender, length: number) => {
    const result = await score(one, length);
    if (typeof result === "string") one.reason = result;
    else one.lengths.push(result);
    print(one);
  };

  for (const one of all) {
    if (signal?.aborted) return undefined;
    const perfect = scoredOf(all).find(({ score }) => score.accuracy === 1 || score.loss === 0);
    if (!one.reason && perfect) one.reason = `not started: ${labelOf(perfect.one)} makes no error`;
    if (one.reason) print(one);
    else await scoreAndPrint(one, steps[0]);
  }
  let racing = all.filter(({ lengths, reason }) => !reason && lengths[0].steps > 0);
  for (const [index, length] of steps.entries()) {
    if (index === 0 || signal?.aborted) continue;
    const before = racing;
    racing = stillRacing(scoredOf(all), before, index === 1);
    const ended = before.filter((one) => !racing.includes(one));
    if (ended.length > 0) onLine?.(`  not trained longer: ${ended.map(endOf).join("; ")}`);
    for (const one of racing) await scoreAndPrint(one, length);
    racing = racing.filter(({ reason }) => !reason);
  }
  if (signal?.aborted) return undefined;

  /** Scores some close candidates with other folds too. Undefined if one of them has no further score. */
  const repeat = async (close: readonly Scored[], repetitions: readonly number[]) => {
    if (close.length < 2 || typeof folds !== "number") return undefined;
    const names = close.map(({ one }) => labelOf(one));
    onLine?.(
      `  close: ${names.slice(0, -1).join(", ")} and ${names.at(-1)} are compared with other folds too`,
    );
    const repeated: Scored[] = [];
    for (const scored of close) {
      const errors = [scored.errors];
      for (const repetition of repetitions) {
        const again = await score(scored.one, scored.score.steps || steps[0], repetition);
        if (typeof again === "string" || again.errors.length === 0) return undefined;
        errors.push(again.errors);
      }
      repeated.push({
        ...scored,
        errors: scored.errors.map((_, i) => errors.reduce((sum, one) => sum + one[i], 0) / errors.length),
      });
    }
    return repeated;
  };
  const scored = scoredOf(all);
  const close = closeFits(scored);
  const { fit, replaced } = bestFit(await repeat(close, repetitionsOfFits) ?? close);
  let choice = chooseSimplest(scored.filter((other) => other.one === fit || !isFit(other)));
  const pair = choice ? [...new Set([choice.simplest, choice.best])] : [];
  choice = chooseSimplest(await repeat(pair, repetitionsOfChoice) ?? pair);
  if (signal?.aborted) return undefined;
  const { one, score: bestScore } = choice?.simplest ?? { one: first, score: undefined };
  const { candidate: { chosen, label, averages } } = one;
  const isReplacement = replaced !== undefined && averages?.includes(replaced);
  if (isReplacement) onLine?.(`  ${replacementOf(label, replaced)}`);
  onLine?.(`chosen: ${label}`);
  return {
    chosen: { ...chosen, ...(settings.search === undefined ? {} : { label }) },
    ...(isReplacement ? { replaced } : {}),
    compared: all.map(comparedOf),
    found: {
      steps: bestScore?.steps ?? steps.at(-1)!,
      temperature: bestScore?.temperature ?? 1,
      share: bestScore?.share,
    },
    ...(bestScore ? { validated: validatedOf(bestScore) } : {}),
  };
}

/** Why a candidate is not trained longer, for the line that lists these candidates. */
function endOf(one: Contender): string {
  return `${labelOf(one)} (${one.reason?.replace(/^.*: /, "") ?? "it failed"})`;
}

function labelOf({ candidate }: Contender): string {
  return candidate.label;
}

/** The candidates with a score. */
function scoredOf(all: readonly Contender[]): Scored[] {
  return all.flatMap((one) => {
    const score = chooseLength(one.lengths);
    return score && score.errors.length > 0
      ? [{ one, score, errors: score.errors, baseline: score.baseline }]
      : [];
  });
}

/** Whether a candidate is fitted in closed form, and is no baseline. */
const isFit = ({ one, score }: Scored) => score.steps === 0 && !one.candidate.isBaseline;

/** The models in closed form that are at most one standard error behind the best of them, with it. */
function closeFits(scored: readonly Scored[]): Scored[] {
  const fits = scored.filter(isFit);
  const best = chooseSimplest(fits)?.best;
  return fits.filter((one) => {
    const { mean, standardError } = differenceOf(one, best!);
    return mean <= standardError;
  });
}

/**
 * The best of some models in closed form: the only one that takes part in the final choice. They choose their complexity
 * by themselves, so none of them is simpler than the others. A model that averages the best one replaces it within one
 * standard error: its weights are chosen on all series.
 *
 * @returns Undefined without models; and the name of a model that was replaced.
 */
function bestFit(fits: readonly Scored[]): { fit?: Contender; replaced?: string } {
  const best = chooseSimplest(fits)?.best;
  if (!best) return {};
  const name = labelOf(best.one);
  const average = fits.find((other) => {
    if (!isUseful(other) || !other.one.candidate.averages?.includes(name)) return false;
    const { mean, standardError } = differenceOf(other, best);
    return mean <= standardError;
  });
  return average ? { fit: average.one, replaced: name } : { fit: best.one };
}

/** Candidates that are trained longer. The others get their reasons. */
function stillRacing(
  scored: readonly Scored[],
  racing: readonly Contender[],
  keepsBest: boolean,
): Contender[] {
  const leader = chooseSimplest(scored)?.best;
  if (!leader || racing.length === 0) return [];
  const racers = scored.filter(({ one }) => racing.includes(one));
  const half = betterHalf(racers);
  const best = chooseSimplest(racers)?.best;
  return racers.flatMap((racer) => {
    const isBehind = isClearlyBehind(racer, leader) && !(keepsBest && racer === best);
    const isFinished = isUseful(racer) && racer.score !== racer.one.lengths.at(-1);
    if (half.includes(racer) && !isBehind && !isFinished) return [racer.one];
    const why = isFinished
      ? "more steps were not better"
      : isBehind
      ? `clearly behind ${labelOf(leader.one)}`
      : "others are better";
    racer.one.reason = `not trained longer: ${why}`;
    return [];
  });
}

/** A candidate in the record. */
function comparedOf(one: Contender): ComparedModel {
  const { candidate: { label }, lengths, seconds } = one;
  const score = chooseLength(lengths);
  const reason = one.reason ?? score?.reason;
  const measures = Object.entries({ accuracy: score?.accuracy, r2: score?.r2, loss: score?.loss })
    .filter(([, value]) => Number.isFinite(value));
  return {
    model: label,
    ...(measures.length > 0 ? { measures: Object.fromEntries(measures) as Record<string, number> } : {}),
    ...(reason ? { reason } : {}),
    ...(score && score.steps > 0 && measures.length > 0 ? { steps: score.steps } : {}),
    seconds,
  };
}
