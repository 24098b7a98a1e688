/** Automatic choice of a forecasting model by the errors in the validation period. */
import { DataError, OptionError } from "../device/errors.ts";
import { DivergenceError } from "../solvers/divergence.ts";
import { trainInMemory } from "../train/in_memory.ts";
import { NonFiniteLossError } from "../train/loop.ts";
import type { PlanOptions, Task } from "../train/task.ts";
import { sampleCount } from "../data/batches.ts";
import { key } from "../tensor/random.ts";
import { choiceOf, deadlineOf, forecastCandidates, lineOf } from "./auto.ts";
import type { ComparedModel, RecordedTraining } from "./data_record.ts";
import type { ModelKind } from "./model_kind.ts";
import type { SeriesSettings } from "./settings.ts";

/** A task whose model can be compared with others. */
export interface ForecastTask extends Task {
  /** Measures of the forecasts in the validation period. */
  scoreValidation(): Promise<Readonly<Record<string, number>>>;
}

/** Measures that are compared and reported: the first one decides. */
const reported = ["mase", "mae"] as const;

/**
 * Compares forecasting models: each learns from the training period and forecasts the validation period. The
 * model with the smallest MASE is chosen; without a MASE, the one with the smallest mean absolute error.
 *
 * @param taskOf Makes the task of a candidate.
 * @returns Undefined if the signal ended the comparison.
 */
export async function compareForecasts(
  settings: SeriesSettings,
  kinds: Readonly<Record<string, ModelKind>>,
  taskOf: (settings: SeriesSettings) => Promise<ForecastTask>,
  options: PlanOptions,
): Promise<RecordedTraining | undefined> {
  const { signal, onLine } = options;
  const deadline = deadlineOf(settings, options);
  const compared: ComparedModel[] = [];
  for (const [place, model] of forecastCandidates.entries()) {
    const start = performance.now();
    // The first candidate takes no training, and is always scored.
    const left = place === 0 ? Infinity : deadline - start;
    const own = { ...settings, ...choiceOf(kinds, model) };
    const measures = left > 0 ? await score(own, taskOf, left, signal) : undefined;
    if (signal?.aborted) return undefined;
    const seconds = (performance.now() - start) / 1000;
    compared.push({ model, ...(measures ? { measures } : {}), seconds });
    onLine?.(`  ${lineOf(compared.at(-1)!)}`);
  }
  const errorOf = ({ measures }: ComparedModel) => measures?.mase ?? measures?.mae ?? Infinity;
  const { model } = compared.reduce((best, one) => errorOf(one) < errorOf(best) ? one : best);
  onLine?.(`chosen: ${model}`);
  return { ensemble: 1, chosen: choiceOf(kinds, model), compared };
}

/**
 * Measures of a candidate in the validation period. Undefined if the time limit or the signal ended its training,
 * or it cannot read the data.
 *
 * @param milliseconds Time limit.
 */
async function score(
  settings: SeriesSettings,
  taskOf: (settings: SeriesSettings) => Promise<ForecastTask>,
  milliseconds: number,
  signal: AbortSignal | undefined,
): Promise<Readonly<Record<string, number>> | undefined> {
  const limit = milliseconds === Infinity ? [] : [AbortSignal.timeout(Math.min(2 ** 31 - 1, milliseconds))];
  try {
    const task = await taskOf(settings);
    const steps = (settings.epochs ?? 1) * Math.ceil(sampleCount(task.data.train) / settings.batchSize);
    const done = await trainInMemory(task, {
      ...{ steps, batchSize: settings.batchSize, key: key(settings.seed) },
      signal: AbortSignal.any([...signal ? [signal] : [], ...limit]),
    });
    if (task.optimizer && done < steps) return undefined;
    const measures = await task.scoreValidation();
    const finite = reported.filter((name) => Number.isFinite(measures[name]));
    return Object.fromEntries(finite.map((name) => [name, measures[name]]));
  } catch (error) {
    const isUnsuitable = error instanceof NonFiniteLossError || error instanceof DivergenceError ||
      error instanceof DataError || error instanceof OptionError;
    if (!isUnsuitable) throw error;
    return undefined;
  }
}
