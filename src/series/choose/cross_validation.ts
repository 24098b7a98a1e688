/** Cross-validation of a candidate: its settings, scored on series outside the training folds. */
import { checkOptions, namesOf } from "../../device/options.ts";
import { foldSplit, type Series, type Splits } from "../../data/series.ts";
import { trainInMemory } from "../../train/in_memory.ts";
import { foldIn, type Key, key } from "../../tensor/random.ts";
import { failureOf } from "./candidate_failure.ts";
import { chooseSimplest } from "./rules.ts";
import { type Score, scoreWithShare, type SeriesTask, type ShareScore } from "../targets/score.ts";
import { groupsOf } from "../read/split_series.ts";
import type { SeriesSettings } from "../record/settings.ts";

/** Series to learn from, and the tasks of candidates on parts of them. */
export interface CandidateProblem<Settings extends SeriesSettings = SeriesSettings> {
  /** Series of the training and the validation set. Series of a group stay in one fold. */
  readonly series: readonly Series[];
  /** Number of classes; 0 for numbers. */
  readonly classes: number;
  /**
   * Makes the task of a candidate.
   *
   * @param split Positions in `series` of the parts. The test set is the validation set.
   * @param steps Number of optimiser steps, which the schedule of the learning rate covers.
   */
  task(
    settings: Settings,
    split: Splits<readonly number[]>,
    steps: number,
  ): Promise<SeriesTask> | SeriesTask;
  /** Estimated seconds of a fit to all series on a typical machine, for a number of optimiser steps. */
  seconds(settings: Settings, steps: number): Promise<number> | number;
}

/** Options of {@linkcode crossValidate}. */
interface CrossValidationOptions {
  /** Number of folds, at least 2, or the split into a training and a validation set. */
  folds: number | Splits<readonly number[]>;
  /** Numbers of optimiser steps to compare, ascending, at least one. */
  steps: readonly number[];
  /** Number of an assignment of the series to folds; 0 by default. */
  repetition?: number;
  /** Ends the search. */
  signal?: AbortSignal;
  /** Called with the score of each number of steps. */
  onScore?: (score: Score, steps: number) => void;
}

const optionNames = namesOf<CrossValidationOptions>()("folds steps repetition? signal? onScore?");

/** Result of {@linkcode crossValidate}. */
export interface CrossValidation extends ShareScore {
  /** Number of optimiser steps that was chosen; 0 for a model that is fitted in closed form. */
  readonly steps: number;
  /**
   * Predictions of each series by a model that did not learn from it, in the order of the series: class
   * scores, or numbers in the units of the data. Undefined for a series outside the validation sets.
   */
  readonly outputs: readonly (ArrayLike<number> | undefined)[];
  /** Why the loss is infinite, if training or prediction failed. */
  readonly reason?: string;
}

/**
 * Scores a candidate on series that its models did not learn from. Trains a model for each fold and number of
 * steps, in memory, and chooses the number of steps; a model that is fitted in closed form is fitted once for each fold. Training that diverges
 * has an infinite loss.
 *
 * @param settings Settings of the candidate. Their seed decides the folds and the initial parameters.
 * @returns Undefined if the signal ended the search before any number of steps had a score.
 * @throws {RangeError} If there are fewer series or groups than folds.
 */
export async function crossValidate<Settings extends SeriesSettings>(
  problem: CandidateProblem<Settings>,
  settings: Settings,
  options: CrossValidationOptions,
): Promise<CrossValidation | undefined> {
  checkOptions("crossValidate", options, optionNames);
  const { folds, repetition = 0, signal, onScore } = options;
  // The search for settings uses key 2.
  const seed = foldIn(key(settings.seed), repetition === 0 ? 1 : 2 + repetition);
  const splits = typeof folds === "number" ? foldsOf(problem.series, folds, seed) : [folds];
  const candidates: CrossValidation[] = [];
  for (const steps of options.steps) {
    const candidate = await scoreLength(problem, settings, { splits, steps, signal, key: seed });
    if (!candidate) break;
    onScore?.(candidate, candidate.steps);
    candidates.push(candidate);
    if (candidate.steps === 0) break;
  }
  return chooseLength(candidates);
}

/**
 * Chooses the shortest training whose mean error is at most one standard error above the smallest: a model that is
 * trained for long is too certain of its mistakes.
 *
 * @param candidates Scores of numbers of steps, ascending.
 */
export function chooseLength<Candidate extends Pick<CrossValidation, "errors" | "baseline" | "steps">>(
  candidates: readonly Candidate[],
): Candidate | undefined {
  return chooseSimplest(candidates)?.simplest ?? candidates[0];
}

/** Scores one number of steps. Returns undefined if the signal ended training. */
async function scoreLength<Settings extends SeriesSettings>(
  problem: CandidateProblem<Settings>,
  settings: Settings,
  { splits, steps, signal, key }: {
    splits: readonly Splits<readonly number[]>[];
    steps: number;
    signal: AbortSignal | undefined;
    key: Key;
  },
): Promise<CrossValidation | undefined> {
  const outputs: (ArrayLike<number> | undefined)[] = problem.series.map(() => undefined);
  const linear = outputs.slice();
  let done = steps;
  for (const [fold, split] of splits.entries()) {
    if (signal?.aborted) return undefined;
    try {
      const task = await problem.task(settings, split, steps);
      done = await trainInMemory(task, {
        ...{ steps, signal, batchSize: settings.batchSize, key: foldIn(key, fold) },
      });
      if (done < steps && task.optimizer) return undefined;
      const predicted = await task.predictValidation();
      const linearly = task.predictLinear?.();
      split.validation.forEach((index, i) => {
        outputs[index] = predicted[i];
        linear[index] = linearly?.[i];
      });
    } catch (error) {
      const reason = failureOf(error);
      if (reason === undefined) throw error;
      return { loss: Infinity, errors: [], baseline: [], temperature: 1, steps, outputs, reason };
    }
  }
  // In the order of the series, so that errors with other folds have the same order.
  const indices = splits.flatMap(({ validation }) => validation).sort((a, b) => a - b);
  const score = scoreWithShare(
    indices.map((index) => problem.series[index]),
    indices.map((index) => outputs[index]!),
    indices.map((index) => linear[index]),
    { classes: problem.classes, balance: settings.balance },
  );
  return { ...score, steps: done, outputs };
}

/** Splits of cross-validation. Each series is in exactly one validation set. */
function foldsOf(series: readonly Series[], folds: number, key: Key): Splits<readonly number[]>[] {
  const items = groupsOf([...series.keys()], (index) => series[index]);
  const indicesOf = (items: readonly { members: readonly number[] }[]) =>
    items.flatMap(({ members }) => members).sort((a, b) => a - b);
  return Array.from({ length: folds }, (_, fold) => {
    const { train, validation, test } = foldSplit(items, key, folds, fold);
    const tested = indicesOf(test);
    return { train: indicesOf([...train, ...validation]), validation: tested, test: tested };
  });
}
