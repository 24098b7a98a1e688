import type { TableOptions } from "../data/table/options.ts";
import type { SeriesSet, Splits } from "../data/series.ts";
import type { TableSource } from "../data/table/read_table.ts";
import type { ParameterTree } from "../nn/layer.ts";
import type { Optimizer } from "../optim/optimizer.ts";
import type { Prediction, PredictionStream, PredictionStreamState } from "./predictions.ts";
import type { DataRecord } from "./data_record.ts";
import type { Plateau, Schedule } from "../optim/schedules.ts";
import type { Key } from "../tensor/random.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { leaves, type Tree } from "../tensor/tree.ts";
import type { ForecastFigure } from "./forecast_figure.ts";
import type { StopRule } from "./stop.ts";

/** The loss and the metrics of a batch, each a tensor of no axes, the mean over the batch. */
export type Measures = { readonly loss: Tensor } & { readonly [metric: string]: Tensor };

/** Values fitted on the validation part after training: plain JSON, which is stored with the best weights. */
export type Calibration = Readonly<Record<string, unknown>>;

/** Quality of predictions, beside that of predictions that need no model. */
export interface Evaluation {
  /** Measures of the predictions by name. */
  readonly measures: Readonly<Record<string, number>>;
  /** The same measures of each baseline, by its name. */
  readonly baselines: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** Makes the parts of a report about them, as HTML; the importance of channels among them takes a prediction for each. */
  sections(): Promise<readonly string[]>;
}

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

/** Name of a sample of a task. */
export type SampleKind = "series" | "window" | "digit";

/** A model apart from the data that it was trained on, which reads others in the form of its record. */
export interface TrainedModel<Batch extends Tree = Tree> {
  /** Learned tensors, which the run's weights are loaded into. */
  readonly parameters: ParameterTree;
  /**
   * Loss and metrics of a batch.
   *
   * @param key Random key of dropout and the like, given in training alone.
   */
  evaluate(batch: Batch, key?: Key): Measures;
  /** Scores of the second of two classes, `(batch)`, larger where it is more probable, and the true classes, int32 `(batch)`. */
  scores?(batch: Batch): { scores: Tensor; labels: Tensor };
  /**
   * How much a sample of a batch counts in some of the measures, on average and of no axes, where that is not 1: the number of
   * its values that are known, or the weights of its classes. An evaluation's means are then over all of them, not over batches.
   */
  weights?(batch: Batch): { readonly [measure: string]: Tensor };
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
  /** Uses what was fitted on the validation part: until then probabilities are as they are, and forecasts have no quantiles. */
  useCalibration?(calibration: Calibration): void;
}

/** Input of the training loop: a model, its data, its optimiser and its loss. */
export interface Task<Batch extends Tree = Tree> {
  /** Record of the data, for a task that reads them from files. */
  readonly record?: DataRecord;
  /** Lines about its data, to be read before it is trained. */
  readonly description?: readonly string[];
  /** Learned tensors, which are trained and saved. */
  readonly parameters: ParameterTree;
  /** Optimiser of the parameters. Its learning rate is multiplied with the schedule's and the plateau's factors. */
  readonly optimizer: Optimizer;
  /** Factor on the learning rate for each step. */
  readonly schedule?: Schedule;
  /** Factor that is lowered when the measure of `plateauOf` stops improving. */
  readonly plateau?: Plateau;
  /** Measure of the plateau: `"validation"`, the metric, by default; `"training"` is the loss of each step. */
  readonly plateauOf?: "validation" | "validation loss" | "training";
  /** Rule that ends training before its last epoch. */
  readonly stop?: StopRule;
  /** Largest norm of all gradients together, above 0; larger ones are scaled down. */
  readonly clipNorm?: number;
  /** Largest absolute value of each element of the gradients, above 0, clipped before the norm. */
  readonly clipElements?: number;
  /** Tensors in plain objects and arrays, samples along the first axis of each: a batch has the same structure. */
  readonly data: Splits<Batch>;
  /**
   * Number of visits of an epoch to each training sample, 1 by default: few samples make epochs that are short beside their
   * validation and their checkpoint otherwise.
   */
  readonly visits?: number;
  /**
   * Loss and metrics of a batch.
   *
   * @param key Random key of dropout and the like, given in training alone.
   */
  evaluate(batch: Batch, key?: Key): Measures;
  /** As of a {@linkcode TrainedModel}: the area under the curve and the average precision are then measured, too. */
  scores?(batch: Batch): { scores: Tensor; labels: Tensor };
  /** As of a {@linkcode TrainedModel}. */
  weights?(batch: Batch): { readonly [measure: string]: Tensor };
  /** The measure that decides which epoch is the best: its name, and whether small or large is good. */
  readonly metric: { readonly name: string; readonly mode: "min" | "max" };
  /** Fits on the validation part what turns outputs into probabilities or intervals; predictions use it from then on. */
  calibrate?(): Promise<Calibration>;
  /** As of a {@linkcode TrainedModel}. */
  useCalibration?(calibration: Calibration): void;
  /** Compares the predictions about the test part with the truth. */
  evaluatePredictions?(): Promise<Evaluation>;
  /** Some of the test samples with the model's predictions, for the report. */
  samples?(): Promise<Sample[]>;
  /** Predictions of some test series, for the report. */
  figures?(): Promise<ForecastFigure[]>;
}

/** Number of learned numbers in a model. */
export function parameterCount({ parameters }: Pick<Task, "parameters">): number {
  return leaves(parameters).reduce((sum, { size }) => sum + size, 0);
}

/** A sample as a report shows it. */
export interface Sample {
  /** Lines through points; the first is drawn strongest. */
  readonly curves: readonly { readonly x: ArrayLike<number>; readonly y: ArrayLike<number> }[];
  /** Whether x and y are coordinates of a plane, to be drawn to one scale. */
  readonly isPlane: boolean;
  /** Name of its class. */
  readonly label: string;
  /** Name of the class that the model gives it. */
  readonly predicted: string;
}
