/** Automatic choice of a forecasting model by the errors in the validation period. */
import { trainInMemory } from "../../train/in_memory.ts";
import type { PlanOptions, Task } from "../../train/task.ts";
import { sampleCount } from "../../data/batches.ts";
import { key } from "../../tensor/random.ts";
import { deadlineOf, lineOf } from "./auto.ts";
import { failureOf, notFinished, notStarted } from "./candidate_failure.ts";
import type { ComparedModel, RecordedTraining } from "../record/data_record.ts";
import type { SeriesSettings } from "../record/settings.ts";

/** A task whose model can be compared with others. */
export interface ForecastTask extends Task {
  /** Measures of the forecasts in the validation period. */
  scoreValidation(): Promise<Readonly<Record<string, number>>>;
}

/** Measures that are compared and reported: the first one decides. */
const reported = ["mase", "mae"] as const;

/** Steps of a trial training: the first ones, which also compile kernels, and those whose time is measured. */
const [compileSteps, timedSteps] = [3, 10];
/** Share of the time left for training: its speed varies, and the forecasts need time too. */
const trainingShare = 0.8;

/**
 * Compares forecasting models: each learns from the training period and forecasts the validation period. The
 * model with the smallest MASE is chosen; without a MASE, the one with the smallest mean absolute error. A
 * training with gradients that would exceed the time limit has fewer epochs. A candidate that fails is left out, and the
 * record has the reason.
 *
 * @param candidates Settings of each candidate. The first one takes no training, and is always scored.
 * @param taskOf Makes the task of a candidate.
 * @returns Undefined if the signal ended the comparison.
 * @throws {Error} The error of the first candidate, if no candidate has a measure.
 */
export async function compareForecasts(
  settings: SeriesSettings,
  candidates: readonly NonNullable<RecordedTraining["chosen"]>[],
  taskOf: (settings: SeriesSettings) => Promise<ForecastTask>,
  options: PlanOptions,
): Promise<RecordedTraining | undefined> {
  const { signal, onLine } = options;
  const deadline = deadlineOf(settings, options);
  const compared: ComparedModel[] = [];
  const errors: unknown[] = [];
  for (const [place, candidate] of candidates.entries()) {
    const start = performance.now();
    const left = place === 0 ? Infinity : deadline - start;
    const candidateSettings = { ...settings, ...candidate };
    const score = left > 0
      ? await scoreWithin(left, candidateSettings, taskOf, options).catch((error): Scored => {
        const reason = failureOf(error);
        if (reason === undefined) throw error;
        errors.push(error);
        return { reason };
      })
      : { reason: notStarted };
    if (signal?.aborted) return undefined;
    const seconds = (performance.now() - start) / 1000;
    compared.push({ model: candidate.model, ...score, seconds });
    onLine?.(`  ${lineOf(compared.at(-1)!)}`);
  }
  const errorOf = ({ measures }: ComparedModel) => measures?.mase ?? measures?.mae ?? Infinity;
  const best = compared.reduce((best, one) => errorOf(one) < errorOf(best) ? one : best);
  if (errorOf(best) === Infinity && errors.length > 0) throw errors[0];
  onLine?.(`chosen: ${best.model}`);
  return { ensemble: 1, chosen: candidates[compared.indexOf(best)], compared };
}

/** Measures of a candidate, or the reason why the candidate has no measures. */
type Scored = Pick<ComparedModel, "measures" | "steps" | "reason">;

/**
 * Measures of a candidate in the validation period, and its number of optimiser steps if the time limit
 * shortened its training. No measures if the time limit or the signal ended its training in the first epoch.
 *
 * @param milliseconds Time limit.
 */
async function scoreWithin(
  milliseconds: number,
  settings: SeriesSettings,
  taskOf: (settings: SeriesSettings) => Promise<ForecastTask>,
  { signal, onLine }: PlanOptions,
): Promise<Scored> {
  const end = performance.now() + milliseconds;
  const limit = milliseconds === Infinity ? [] : [AbortSignal.timeout(Math.min(2 ** 31 - 1, milliseconds))];
  const { batchSize, epochs = 1 } = settings;
  const options = {
    ...{ batchSize, key: key(settings.seed) },
    signal: AbortSignal.any([...signal ? [signal] : [], ...limit]),
  };
  const train = async (task: ForecastTask, steps: number) => {
    const start = performance.now();
    const done = await trainInMemory(task, { ...options, steps });
    return { done, milliseconds: performance.now() - start };
  };
  let task = await taskOf(settings);
  if (!task.optimizer) {
    await trainInMemory(task, { ...options, steps: 1 });
    return await measuresOf(task);
  }
  const perEpoch = Math.ceil(sampleCount(task.data.train) / batchSize);
  await train(task, compileSteps);
  const { done, milliseconds: taken } = await train(task, timedSteps);
  if (done < timedSteps) return { reason: notFinished };
  const left = trainingShare * (end - performance.now());
  const fitting = Math.min(epochs, Math.floor(left / (taken / timedSteps * perEpoch)));
  if (fitting < 1) return { reason: notFinished };
  if (fitting < epochs) {
    onLine?.(`  ${settings.model}: trains for ${fitting} of ${epochs} epochs to keep the time limit`);
  }
  // The learning rate falls to zero over the shorter training, so its result is that of a whole training.
  task = await taskOf({ ...settings, epochs: fitting });
  const { done: steps } = await train(task, fitting * perEpoch);
  if (steps < perEpoch) return { reason: notFinished };
  return { ...await measuresOf(task), ...(steps < epochs * perEpoch ? { steps } : {}) };
}

/** Finite measures of the forecasts in the validation period. */
async function measuresOf(task: ForecastTask): Promise<Scored> {
  const measures = await task.scoreValidation();
  const finite = reported.filter((name) => Number.isFinite(measures[name]));
  if (finite.length === 0) return { reason: "left out: its errors in the validation period are not finite" };
  return { measures: Object.fromEntries(finite.map((name) => [name, measures[name]])) };
}
