/** Record of how a model of users' own series was chosen and is trained. */
import type { Calibration } from "../../train/task.ts";

/** A model that was compared with others. */
export interface ComparedModel {
  /** Name of the model. */
  readonly model: string;
  /** Measures on data that the model did not learn from; undefined if it has no score. */
  readonly measures?: Readonly<Record<string, number>>;
  /** Why there are no measures, or why the model was not trained longer. */
  readonly reason?: string;
  /**
   * Number of optimiser steps of the best length of training. For forecasts, that of a training that the budget
   * shortened.
   */
  readonly steps?: number;
  /**
   * Estimated work of its fits, in seconds of a typical machine: the record does not depend on the machine. Weft 0.1 and
   * early runs of 0.2 have the measured duration.
   */
  readonly seconds: number;
}

/** Training of a model of users' own series. */
export interface RecordedTraining {
  /**
   * Name and settings of the model that a comparison selected. They override those of the run. `label` is its name
   * in the comparison, if it differs.
   */
  readonly chosen?: Readonly<
    { model: string; label?: string; [setting: string]: number | string | undefined }
  >;
  /** Name of the model with the smallest error, if the chosen one averages it and replaces it within one standard error. */
  readonly replaced?: string;
  /** All models of the comparison. */
  readonly compared?: readonly ComparedModel[];
  /** Number of members of the ensemble, at least 1. */
  readonly ensemble: number;
  /** Result of cross-validation, if it decides the length of training. */
  readonly found?: {
    /** Number of optimiser steps; 0 for a model that is fitted in closed form. */
    readonly steps: number;
    /** Softmax temperature of the predictions outside the training folds; 1 for numbers. */
    readonly temperature: number;
    /** Share of the network in predictions, from 0 to 1, if it adds to a linear model; 1 by default. */
    readonly share?: number;
  };
  /**
   * Quantiles of the errors of forecasts in validation, for a model that is trained with gradients. The final model
   * learns from the validation part too, so that its intervals are calibrated with these errors.
   */
  readonly errors?: Calibration;
  /** Measure of the model on data that it did not learn from, before the final training. */
  readonly validated?: {
    /** `accuracy`, `mase`, or `scaled mse`: the squared error divided by the variance of the targets. */
    readonly measure: string;
    readonly value: number;
    readonly standardError: number;
  };
}
