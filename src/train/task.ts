import type { Splits } from "../data/series.ts";
import type { ParameterTree } from "../nn/layer.ts";
import type { Optimizer } from "../optim/optimizer.ts";
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

/** A model whose weights and calibration a run's folder holds. */
export interface WeightedModel {
  /** Learned tensors, which the run's weights are loaded into. */
  readonly parameters: ParameterTree;
  /** Uses what was fitted on the validation set after training. */
  useCalibration?(calibration: Calibration): void;
}

/** How a model measures a batch. */
export interface MeasuredModel<Batch extends Tree = Tree> extends WeightedModel {
  /**
   * Loss and metrics of a batch.
   *
   * @param key Random key of dropout and the like, given in training alone.
   */
  evaluate(batch: Batch, key?: Key): Measures;
  /** Scores of the second of two classes, `(batch)`, larger where it is more probable, and the true classes, int32 `(batch)`. */
  scores?(batch: Batch): { scores: Tensor; labels: Tensor };
  /**
   * Mean weight of a sample of the batch in some of the measures, of no axes, where it is not 1: the number of its
   * values that are known, or the weights of its classes. Means of an evaluation are weighted with it.
   */
  weights?(batch: Batch): { readonly [measure: string]: Tensor };
}

/** Input of the training loop: a model, its data, its optimiser and its loss. */
export interface Task<Batch extends Tree = Tree> extends MeasuredModel<Batch> {
  /** Record of the data, for a task that reads them from files: plain JSON, of a type that the experiment chooses. */
  // deno-lint-ignore no-explicit-any
  readonly record?: any;
  /** Lines about the data, printed before training. */
  readonly description?: readonly string[];
  /** Size of the test set, such as `"75 of 500 series"`. */
  readonly testSize?: string;
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
  /** The measure that decides which epoch is the best: its name, and whether small or large is good. */
  readonly metric: { readonly name: string; readonly mode: "min" | "max" };
  /** Fits on the validation part what turns outputs into probabilities or intervals; predictions use it from then on. */
  calibrate?(): Promise<Calibration>;
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
