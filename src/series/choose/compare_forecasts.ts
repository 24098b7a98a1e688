/** Automatic choice of a forecasting model by the errors in the validation period. */
import { trainInMemory } from "../../train/in_memory.ts";
import type { Calibration, PlanOptions, Task } from "../../train/task.ts";
import { sampleCount } from "../../data/batches.ts";
import { key } from "../../tensor/random.ts";
import { failureOf, outOfTime } from "./candidate_failure.ts";
import { lineOf } from "./comparison_report.ts";
import type { ComparedModel, RecordedTraining } from "../record/recorded_training.ts";
import type { SeriesSettings } from "../record/settings.ts";
import type { HorizonErrors } from "../targets/evaluate_forecasts.ts";
import { meanOf } from "../targets/score.ts";
import type { MeasuredMean } from "../targets/validated.ts";
import { chooseSimplest, type Errors, isClearlyBehind } from "./rules.ts";
import { WorkBudget } from "./work.ts";

/** A task whose model can be compared with others. */
export interface ForecastTask extends Task {
  /** Estimated seconds of a training on a typical machine. A model that is fitted in closed form has one epoch. */
  seconds(epochs: number): number;
  /** Errors of the forecasts in the validation period, and their measures. */
  scoreValidation(): Promise<Pick<Scored, "horizons" | "measures" | "validated">>;
}

/** Makes the task of a candidate. @param earlier Number of periods between the end of validation and the test. */
type TaskOf = (settings: SeriesSettings, earlier: number) => Promise<ForecastTask>;

/** Measures that are reported. */
const reported = ["mase", "mae"] as const;

/** Share of the epochs of the first, short training of a model that is trained with gradients. */
const trialShare = 0.25;

/** A candidate with its errors. */
type Scored = Errors & {
  readonly model: string;
  readonly horizons: readonly HorizonErrors[];
  readonly settings: NonNullable<RecordedTraining["chosen"]>;
  readonly validated: MeasuredMean;
  readonly measures: Readonly<Record<string, number>>;
  /** Number of epochs of a model that is trained with gradients. */
  readonly epochs?: number;
  readonly steps?: number;
  /** Quantiles of the errors of a model that is trained with gradients. */
  readonly calibration?: Calibration;
};

/**
 * Compares forecasting models: each learns from the training period and forecasts the validation period. The
 * choice is the simplest model whose error is at most one standard error above the smallest. If it is not the best
 * one, both are compared on an earlier period too. A training with gradients that would exceed the budget has fewer
 * epochs, and ends after a quarter of them if the model is then clearly behind. A candidate that fails is left out,
 * and the record has the reason.
 *
 * @param candidates Settings of each candidate, the simplest first. The first one is always scored.
 * @returns Undefined if the signal ended the comparison.
 * @throws {Error} The error of the first candidate, if no candidate has a score.
 */
export async function compareForecasts(
  settings: SeriesSettings,
  candidates: readonly NonNullable<RecordedTraining["chosen"]>[],
  taskOf: TaskOf,
  options: PlanOptions,
): Promise<RecordedTraining | undefined> {
  const { signal, onLine } = options;
  const budget = new WorkBudget(settings, options);
  const compared: ComparedModel[] = [];
  const scores: Scored[] = [];
  const failures: unknown[] = [];
  for (const [index, candidate] of candidates.entries()) {
    const before = budget.left;
    const leader = chooseSimplest(scores)?.best;
    const result = await scoreCandidate({ settings, candidate, taskOf, budget, leader, isFirst: index === 0 })
      .catch((error) => {
        const reason = failureOf(error);
        if (reason === undefined) throw error;
        failures.push(error);
        return { reason };
      });
    if (signal?.aborted) return undefined;
    const { score, reason } = { score: undefined, ...result };
    if (score) scores.push(score);
    compared.push({
      model: candidate.model,
      ...(score ? { measures: score.measures } : {}),
      ...(score?.steps ? { steps: score.steps } : {}),
      ...(reason ? { reason } : {}),
      seconds: before - budget.left,
    });
    onLine?.(`  ${lineOf(compared.at(-1)!)}`);
  }
  const choice = chooseSimplest(scores);
  if (!choice && failures.length > 0) throw failures[0];
  let chosen = choice?.simplest;
  if (choice && choice.simplest !== choice.best) {
    const pair = [choice.simplest, choice.best];
    onLine?.(
      `  close: ${pair.map(({ model }) => model).join(" and ")} are compared on an earlier period too`,
    );
    chosen = await chooseAgain(pair, { settings, taskOf, budget }) ?? chosen;
    if (signal?.aborted) return undefined;
  }
  onLine?.(`chosen: ${chosen?.model ?? candidates[0].model}`);
  return {
    ensemble: 1,
    chosen: chosen?.settings ?? candidates[0],
    compared,
    ...(chosen?.calibration ? { errors: chosen.calibration } : {}),
    ...(chosen ? { validated: chosen.validated } : {}),
  };
}

/** Minimum number of horizons whose mean errors have a meaningful standard deviation. */
const enoughHorizons = 5;

/**
 * Errors that the rules compare. Windows overlap, and the errors within a horizon are alike, so each horizon counts once: with its mean,
 * or with all its errors if there are few horizons.
 */
function errorsOf(horizons: readonly HorizonErrors[]): Errors {
  const combine = (of: 0 | 1) =>
    horizons.length >= enoughHorizons
      ? horizons.map((errors) => meanOf(errors[of]))
      : horizons.flatMap((errors) => errors[of]);
  return { errors: combine(0), baseline: combine(1), independent: horizons.length };
}

/** Options of a comparison. */
interface Comparison {
  settings: SeriesSettings;
  taskOf: TaskOf;
  budget: WorkBudget;
}

/** Chooses from two candidates by their errors in the validation period and in an earlier one. */
async function chooseAgain(pair: readonly Scored[], options: Comparison): Promise<Scored | undefined> {
  const pooled: (Scored & { readonly scored: Scored })[] = [];
  for (const scored of pair) {
    const result = await scoreCandidate({
      ...{ ...options, candidate: scored.settings, earlier: 1, epochs: scored.epochs },
    }).catch((error) => {
      // The earlier period may have too few rows.
      if (failureOf(error) === undefined) throw error;
      return undefined;
    });
    if (!result?.score) return undefined;
    pooled.push({ ...scored, scored, ...errorsOf([...scored.horizons, ...result.score.horizons]) });
  }
  return chooseSimplest(pooled)?.simplest.scored;
}

/** Options of {@linkcode scoreCandidate}. */
interface CandidateOptions extends Comparison {
  candidate: NonNullable<RecordedTraining["chosen"]>;
  earlier?: number;
  /** Number of epochs, instead of a number that the budget has left. */
  epochs?: number;
  /** Best candidate so far. */
  leader?: Scored;
  isFirst?: boolean;
}

/** Score of a candidate in a validation period, or the reason why it has no score or no whole training. */
async function scoreCandidate(
  { settings: baseSettings, candidate, taskOf, budget, earlier = 0, epochs, leader, isFirst = false }:
    CandidateOptions,
): Promise<{ score?: Scored; reason?: string }> {
  if (budget.signal.aborted) return { reason: outOfTime };
  const settings = { ...baseSettings, ...candidate };
  const { batchSize } = settings;
  const task = await taskOf(settings, earlier);
  const options = { batchSize, key: key(settings.seed), signal: budget.signal };
  if (!task.optimizer) {
    const refused = budget.spend(task.seconds(1), isFirst);
    if (refused !== undefined) return { reason: refused };
    await trainInMemory(task, { ...options, steps: 1 });
    return await scoreOf(task, { candidate });
  }
  const perEpoch = Math.ceil(sampleCount(task.data.train) / batchSize);
  const train = async (epochs: number) => {
    const refused = budget.spend(task.seconds(epochs), isFirst);
    if (refused !== undefined) return { reason: refused };
    // The learning rate falls to zero over a shorter training, so its result is that of a whole training.
    const shortened = await taskOf({ ...settings, epochs }, earlier);
    const steps = await trainInMemory(shortened, { ...options, steps: epochs * perEpoch });
    if (steps < epochs * perEpoch) return { reason: outOfTime };
    const isWhole = epochs === settings.epochs;
    return await scoreOf(shortened, { candidate, epochs, ...(isWhole ? {} : { steps }) });
  };
  if (epochs !== undefined) return await train(epochs);
  const first = Math.ceil(trialShare * (settings.epochs ?? 1));
  const affordable = (epochs: number) => {
    const forecasts = task.seconds(0);
    const most = Math.floor((budget.left - forecasts) / (task.seconds(1) - forecasts));
    return isFirst ? epochs : Math.min(epochs, most);
  };
  const trialEpochs = Math.max(1, affordable(first));
  const result = await train(trialEpochs);
  if (!result.score || trialEpochs === settings.epochs) return result;
  if (leader && isClearlyBehind(result.score, leader)) {
    return { ...result, reason: `not trained longer: clearly behind ${leader.model}` };
  }
  const whole = affordable(settings.epochs ?? 1);
  if (whole <= trialEpochs) return { ...result, reason: "not trained longer: the budget is spent" };
  const longer = await train(whole);
  return longer.score ? longer : { ...result, ...longer };
}

/** Errors of a trained task in its validation period. */
async function scoreOf(
  task: ForecastTask,
  { candidate, ...training }: Pick<Scored, "epochs" | "steps"> & {
    candidate: NonNullable<RecordedTraining["chosen"]>;
  },
): Promise<{ score?: Scored; reason?: string }> {
  const { measures, ...errors } = await task.scoreValidation();
  const finite = reported.filter((name) => Number.isFinite(measures[name]));
  if (finite.length === 0 || !Number.isFinite(errors.validated.value)) {
    return { reason: "left out: its errors in the validation period are not finite" };
  }
  return {
    score: {
      ...{ ...errors, ...errorsOf(errors.horizons) },
      ...{ ...training, model: candidate.model, settings: candidate },
      measures: Object.fromEntries(finite.map((name) => [name, measures[name]])),
      ...(task.optimizer && task.calibrate ? { calibration: await task.calibrate() } : {}),
    },
  };
}
