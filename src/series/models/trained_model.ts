/** A trained model for new series, which `open` of an experiment returns. */
import { checkOptions } from "../../device/options.ts";
import { WeftError } from "../../device/errors.ts";
import type { SeriesSet } from "../../data/series.ts";
import { tableOptionNames, type TableOptions } from "../../data/table/options.ts";
import type { Tree } from "../../tensor/tree.ts";
import { requireFinite } from "../../train/measure_checks.ts";
import type { Evaluation, MeasuredModel, Samples } from "../../train/task.ts";
import type { TrainedRun } from "../../train/run/trained_run.ts";
import { nameOfSource, type SeriesSource } from "../record/series_source.ts";
import type { Prediction, PredictionStream, PredictionStreamState } from "../record/predictions.ts";

/**
 * Memory in bytes that training may take for the values of its batches. With the data and the program, a run stays
 * below about 3 GB.
 */
export const trainingMemory = 2 * 2 ** 30;

/** Kind of a task's samples. */
export type SampleKind = "series" | "window" | "image";

/** All samples of a source. */
export interface FileSamples<Batch extends Tree = Tree> {
  /** Samples in batches of equal length: each sample is read exactly as if it were alone. */
  readonly batches: readonly Samples<Batch>[];
  /** Number of samples. */
  readonly count: number;
  /** Number of samples that the model was trained on. */
  readonly seen: number;
  /** Kind of the samples. */
  readonly kind: SampleKind;
  /** Lines about ignored columns and the notices of the reader. */
  readonly notices?: readonly string[];
  /** Compares the predictions with the targets of the samples. */
  evaluatePredictions?(): Promise<Evaluation>;
}

/** A model without its training data. It reads new data in the form of its record. */
export interface TrainedModel<Batch extends Tree = Tree> extends MeasuredModel<Batch> {
  /**
   * Reads all samples of a file, or of series in memory.
   *
   * @param table Options that differ from those of the training table, if the source is a table.
   */
  samples(source: SeriesSource, table?: TableOptions): Promise<FileSamples<Batch>>;
  /**
   * Reads series to predict. The series need no labels. Channels are in the order of the model, as after
   * {@linkcode TrainedModel.conform}.
   *
   * @param table Options that differ from those of the training table.
   */
  series?(source: SeriesSource, table?: TableOptions): Promise<SeriesSet>;
  /**
   * Reorders the channels of a set to match the model, by name.
   *
   * @throws {Error} If a channel is missing or unknown, or the kind of times differs. The message lists all
   * differences.
   */
  conform?(set: SeriesSet): SeriesSet;
  /**
   * Predicts each series of a set: the class with all probabilities, numeric targets, or a forecast. The
   * channels of the set must be in the order of the model, as after {@linkcode TrainedModel.conform}. The
   * predictions have the order of the set. A prediction does not depend on the other series.
   *
   * @throws {Error} If a prediction is not finite. The message contains the name of the series.
   */
  predict?(set: SeriesSet): Promise<Prediction[]>;
  /**
   * Predicts a series while its observations arrive. Predictions equal those of the whole series, up to
   * rounding; forecasts are equal bit for bit. Undefined if the model was not trained with `online`, or does
   * not support streams.
   *
   * @param series Name of the series.
   * @param state State from `save` of a stream, to continue that stream.
   */
  stream?(series: string, state?: PredictionStreamState): PredictionStream;
}

/**
 * A model that predicts new series.
 *
 * @throws {WeftError} If the model of the run has no predictions.
 */
export function requirePredictions(
  { model, config, folder }: TrainedRun<TrainedModel>,
): TrainedModel & Required<Pick<TrainedModel, "series" | "predict">> {
  const { series, predict } = model;
  if (series && predict) return { ...model, series, predict };
  throw new WeftError("unusable-option", `${folder.path}: ${config.experiment} cannot predict other series`, {
    fixes: ["measure its model on other data with evaluate"],
  });
}

/** Measures of a model on data other than its training set. */
export interface NewMeasures {
  /** Means of the measures over the samples, by name. */
  readonly measures: Readonly<Record<string, number>>;
  /** Measures of each baseline, by the name of the baseline. */
  readonly baselines: Evaluation["baselines"];
  /** The main result in a sentence, compared with a baseline. */
  readonly verdict?: string;
  /** Number of samples in the data. */
  readonly count: number;
  /** Number of samples in the data that the model was trained on. */
  readonly seen: number;
  /** Kind of the samples. */
  readonly kind: SampleKind;
  /** Lines about ignored columns and the notices of the reader. */
  readonly notices: readonly string[];
  /** Lines about inputs and predictions far outside the training data, one for each kind. */
  readonly warnings: readonly string[];
}

/**
 * Measures a model on all samples of a file, or of series in memory.
 *
 * @param table Options that differ from those of the training table, if the source is a table.
 * @throws {Error} If a measure is not finite.
 */
export async function measureNew(
  run: TrainedRun<TrainedModel>,
  source: SeriesSource,
  table?: TableOptions,
): Promise<NewMeasures> {
  if (table !== undefined) checkOptions("measureNew", table, tableOptionNames);
  const { model, config } = run;
  const { batches, count, seen, kind, notices = [], evaluatePredictions } = await model.samples(
    source,
    table,
  );
  const evaluated = await evaluatePredictions?.();
  const { evaluateBatches } = await import("../../train/evaluate.ts");
  const measures = { ...await evaluateBatches(model, batches, config.batchSize), ...evaluated?.measures };
  return {
    measures: requireFinite(measures, nameOfSource(source)),
    baselines: evaluated?.baselines ?? {},
    verdict: evaluated?.verdict,
    count,
    seen,
    kind,
    notices,
    warnings: evaluated?.warnings ?? [],
  };
}
