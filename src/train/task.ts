import type { BatchSource } from "../data/batches.ts";
import type { Splits } from "../data/series.ts";
import type { ParameterTree } from "../nn/layer.ts";
import type { Optimizer } from "../optim/optimizer.ts";
import type { Plateau, Schedule } from "../optim/schedules.ts";
import type { Key } from "../tensor/random.ts";
import type { Tensor } from "../tensor/tensor.ts";
import type { Tree } from "../tensor/tree.ts";
import type { Section } from "../charts/section.ts";
import type { StopRule } from "./stop.ts";

/** Loss and metrics of a batch. Each is a scalar tensor, the mean over the batch. */
export type Measures = { readonly loss: Tensor } & { readonly [metric: string]: Tensor };

/** Values fitted on the validation set after training, stored with the best weights as plain JSON. */
export type Calibration = Readonly<Record<string, unknown>>;

/** Measures of predictions and of baselines. */
export interface Evaluation {
  /** The main result in a sentence, compared with a baseline. */
  readonly verdict?: string;
  /** Name of the measure that the verdict compares. Reports show it before the others. */
  readonly verdictMeasure?: string;
  /** Lines about inputs and predictions far outside the training data. */
  readonly warnings?: readonly string[];
  /** Measures of the predictions by name. */
  readonly measures: Readonly<Record<string, number>>;
  /** Measures of each baseline, by the name of the baseline. */
  readonly baselines: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** Makes the sections of a report. The importance of channels needs a prediction for each channel. */
  sections(): Promise<readonly Section[]>;
}

/** A model with weights and calibration in a run's folder. */
export interface WeightedModel {
  /** Learned tensors. The run's weights are loaded into them. */
  readonly parameters: ParameterTree;
  /** Called after weights were loaded. A model that computes on the host reads its parameters here. */
  onLoad?(): Promise<void>;
  /** Uses values that were fitted on the validation set after training. */
  useCalibration?(calibration: Calibration): void;
}

/** A model that measures batches. */
export interface MeasuredModel<Batch extends Tree = Tree> extends WeightedModel {
  /**
   * Loss and metrics of a batch.
   *
   * @param key Random key, for example of dropout. Only given in training.
   */
  evaluate(batch: Batch, key?: Key): Measures;
  /**
   * Scores of the second of two classes, `(batch)`, larger for more probable, and the true classes, int32
   * `(batch)`.
   */
  scores?(batch: Batch): { scores: Tensor; labels: Tensor };
  /**
   * Mean weight per sample of the batch, a scalar, for measures with a weight other than 1: the number of
   * known values, or the weights of the classes. Evaluation weights the means with it.
   */
  weights?(batch: Batch): { readonly [measure: string]: Tensor };
  /**
   * Limit in bytes of the values of a batch that training keeps on the device at one time; no limit by default.
   * A batch that needs more is split into 2, 4, 8 ... parts of equal size, whose gradients are summed. Evaluation
   * uses smaller batches. The loss must be a mean over samples, or have its weight in `weights`.
   */
  readonly memory?: number;
}

/** Samples of a part: tensors of all of them, or a source that makes the tensors of a batch. */
export type Samples<Batch extends Tree> = Batch | BatchSource<Batch>;

/** Data of a task by part. */
export type TaskData<Data> = Omit<Splits<Data>, "validation"> & Partial<Pick<Splits<Data>, "validation">>;

/** How the parameters of a task are optimised, and which epoch is the best. */
export interface Optimization {
  /**
   * Optimiser of the parameters. Its learning rate is multiplied by the factors of the schedule and the
   * plateau. A task has either an optimiser or `fit`.
   */
  readonly optimizer?: Optimizer;
  /** Factor of the learning rate for each step. */
  readonly schedule?: Schedule;
  /** Factor of the learning rate that is reduced when the measure of `plateauOf` stops improving. */
  readonly plateau?: Plateau;
  /**
   * Measure of the plateau: `"validation"` (default) is the metric; `"training"` is the loss of each step.
   */
  readonly plateauOf?: "validation" | "validation loss" | "training";
  /** Maximum absolute value of each gradient element, above 0. Applied before `clipNorm`. */
  readonly clipValue?: number;
  /** Maximum global norm of the gradients, above 0. Larger gradients are scaled down. */
  readonly clipNorm?: number;
  /**
   * Whether the entries of `parameters` belong to the members of an ensemble. `clipNorm` then applies to each
   * member's gradients.
   */
  readonly isEnsemble?: boolean;
  /**
   * Number of visits per epoch to each training sample, 1 by default. With few samples and one visit,
   * validation and checkpoints would take most of an epoch.
   */
  readonly visits?: number;
  /** Number of epochs, if the task decides it instead of the configuration. */
  readonly epochs?: number;
  /** Rule to stop training before the last epoch. */
  readonly stop?: StopRule;
  /** Measure that decides which epoch is the best: its name, and whether smaller or larger is better. */
  readonly metric: { readonly name: string; readonly mode: "min" | "max" };
  /**
   * Throws an error if the parameters can be tested but not trained, such as those of an earlier version. Called
   * before the first change of the run's folder, unless training is complete.
   */
  checkTraining?(): void;
}

/** The fit of parameters that are not optimised step by step. */
export interface ClosedForm {
  /**
   * Computes the parameters from the training data in closed form and assigns them in place. There are no
   * optimiser steps, and training has one epoch.
   */
  fit?(): Promise<void>;
  /**
   * Computes the final parameters from the training and the validation set, and assigns them in place. Called
   * after training; the result replaces the best weights. Only for a task with `fit`, whose validation measures
   * remain those of the fit to the training set alone.
   */
  refit?(): Promise<void>;
}

/** Data that training collects, as reinforcement learning does. */
export interface Collection {
  /**
   * Collects data before each epoch, as reinforcement learning does: changes the tensors of `state` in place, with
   * those of `data.train` among them. The changes must depend only on the epoch, the parameters and `state`. If
   * training was interrupted before the first step of an epoch, the epoch is collected again.
   *
   * @param epoch Number of the epoch, from 1.
   */
  collect?(epoch: number): Promise<void> | void;
  /** Tensors that `collect` changes. Checkpoints contain them, the best weights do not. */
  readonly state?: ParameterTree;
}

/** Texts and sections about the data, the training and the predictions, for people. */
export interface TaskReport {
  /** Lines about the data, printed before training. */
  readonly description?: readonly string[];
  /** Lines about the data that a reader of the results must know. The summary of a run contains them. */
  readonly notices?: readonly string[];
  /** Texts of the settings that the data decided, for the report: `{ season: "12 months" }`. */
  readonly chosen?: Readonly<Record<string, string>>;
  /** Settings that have no effect on the model. Reports omit them. */
  readonly unused?: readonly string[];
  /** Size of the test set, such as `"75 of 500 series"`. */
  readonly testSize?: string;
  /**
   * Fits the calibration of probabilities or intervals on the validation set. Later predictions use it. The
   * parameters are saved afterwards: a model in closed form may be fitted again, to the validation set too.
   */
  calibrate?(): Promise<Calibration>;
  /** Compares the predictions on the test set with the truth. */
  evaluatePredictions?(): Promise<Evaluation>;
  /** Sections of the report about the predictions of some test samples. */
  examples?(): Promise<readonly Section[]>;
}

/**
 * Input of the training loop: a model with its loss, data, an optimiser or a fit in closed form, and a report. `Data` is
 * {@linkcode Samples} if a part of the data may be a source of batches.
 */
export interface Task<
  Batch extends Tree = Tree,
  Data extends Samples<Batch> = Tree extends Batch ? Samples<Batch> : Batch,
> extends MeasuredModel<Batch>, Optimization, ClosedForm, Collection, TaskReport {
  /**
   * Tensors in plain objects and arrays, with samples along the first axis. A batch has the same structure.
   * Without a validation set the last weights are the result of training.
   */
  readonly data: TaskData<Data>;
  /** Record of the data, for a task that reads files: plain JSON of a type that the experiment chooses. */
  // deno-lint-ignore no-explicit-any
  readonly record?: any;
  /**
   * Finds how to train, and returns the task of the final training. Called once, before a new run trains.
   *
   * @param options `signal` ends the search; `onLine` is called with lines about its progress.
   * @returns Undefined if the signal ended the search.
   */
  plan?(options: PlanOptions): Promise<Task<Batch, Data> | undefined>;
}

/** Options of {@linkcode Task.plan}. */
export interface PlanOptions {
  /** Ends the search. */
  signal?: AbortSignal;
  /** Called with lines about the progress. */
  onLine?: (line: string) => void;
}
