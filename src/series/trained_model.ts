/** A trained model at work on new series: what `open` of an experiment returns. */
import { checkOptions } from "../device/options.ts";
import { tableOptionNames } from "../data/option_names.ts";
import type { SeriesSet } from "../data/series.ts";
import type { TableOptions } from "../data/table/options.ts";
import type { TableSource } from "../data/table/read_table.ts";
import type { Tree } from "../tensor/tree.ts";
import { evaluateBatches } from "../train/evaluate.ts";
import { requireFinite } from "../train/run.ts";
import type { Evaluation, MeasuredModel } from "../train/task.ts";
import type { TrainedRun } from "../train/trained_run.ts";
import type { Prediction, PredictionStream, PredictionStreamState } from "./predictions.ts";

/** Name of a sample of a task. */
export type SampleKind = "series" | "window" | "digit";

/** All samples of a file. */
export interface FileSamples<Batch extends Tree = Tree> {
  /** The samples in batches, in each of which they have the form of a prediction about one of them alone. */
  readonly batches: readonly Batch[];
  /** Number of samples. */
  readonly count: number;
  /** Number of those that the model was trained on. */
  readonly seen: number;
  /** Name of a sample. */
  readonly kind: SampleKind;
  /** Lines about what of a table was left out, merged or taken for something. */
  readonly notices?: readonly string[];
  /** Compares the predictions about the samples with the truth. */
  evaluatePredictions?(): Promise<Evaluation>;
}

/** A model apart from the data that it was trained on, which reads others in the form of its record. */
export interface TrainedModel<Batch extends Tree = Tree> extends MeasuredModel<Batch> {
  /**
   * Reads all samples of a file.
   *
   * @param table How the file differs from the table that the model was trained on, where it is a table.
   */
  samples(path: string, table?: TableOptions): Promise<FileSamples<Batch>>;
  /**
   * The series of a table that are to be predicted, as {@linkcode TrainedModel.conform} gives them: they need no labels.
   *
   * @param table How it differs from the table that the model was trained on.
   */
  series?(source: TableSource, table?: TableOptions): Promise<SeriesSet>;
  /**
   * A set with the channels in the order in which the model reads them, found by their names.
   *
   * @throws {Error} If a channel is missing or unknown, or times are of another kind, with all that differs.
   */
  conform?(set: SeriesSet): SeriesSet;
  /**
   * Predictions for each series of a set in the form of {@linkcode TrainedModel.conform}, in its order: the class with all
   * probabilities, numbers, or a forecast. Each depends on its own series alone, not on those beside it.
   *
   * @throws {Error} If a prediction is not a finite number, with the name of the series.
   */
  predict?(set: SeriesSet): Promise<Prediction[]>;
  /**
   * Predictions about a series while its observations arrive. With the same observations they are those about the whole series, up to
   * rounding; forecasts to the bit. Where there is none, the model was not trained `online`, or cannot be followed.
   *
   * @param series Name of the series.
   * @param state What the stream's `save` gave, to go on from there.
   */
  stream?(series: string, state?: PredictionStreamState): PredictionStream;
}

/** Measures of a model on data that it was not trained on. */
export interface NewMeasures {
  /** Means of the measures over the samples, by name. */
  readonly measures: Readonly<Record<string, number>>;
  /** The same of predictions that need no model, by their names. */
  readonly baselines: Evaluation["baselines"];
  /** Number of samples in the data. */
  readonly count: number;
  /** Number of samples among them that the model was trained on after all. */
  readonly seen: number;
  /** Name of a sample. */
  readonly kind: SampleKind;
  /** Lines about what of a table was left out, merged or taken for something. */
  readonly notices: readonly string[];
}

/**
 * Measures a model on all samples of a file.
 *
 * @param table How the file differs from the table that the model was trained on, where it is a table.
 * @throws {Error} If a measure is not a finite number.
 */
export async function measureNew(
  run: TrainedRun<TrainedModel>,
  path: string,
  table?: TableOptions,
): Promise<NewMeasures> {
  if (table !== undefined) checkOptions("measureNew", table, tableOptionNames);
  const { model, config } = run;
  const { batches, count, seen, kind, notices = [], evaluatePredictions } = await model.samples(path, table);
  const evaluated = await evaluatePredictions?.();
  const measures = { ...await evaluateBatches(model, batches, config.batchSize), ...evaluated?.measures };
  return {
    measures: requireFinite(measures, path),
    baselines: evaluated?.baselines ?? {},
    count,
    seen,
    kind,
    notices,
  };
}
