/** Predictions of a trained model, as `predict` and the server return them: plain numbers and texts. */
import type { BlockSums } from "./block_mean.ts";
import type { SummaryState } from "./running_summary.ts";

/** Kinds of {@linkcode RangeWarning}. */
export const rangeCodes = [
  "value-outside",
  "time-outside",
  "duration-outside",
  "length-outside",
  "gap-outside",
  "prediction-outside",
] as const;

/** Kind of a {@linkcode RangeWarning}. */
export type RangeCode = typeof rangeCodes[number];

/** An input or a prediction far outside the range of the data that the model learned from. */
export interface RangeWarning {
  /**
   * The quantity that is far outside: a value of a channel, a time, the duration of the series, its number of observations, its
   * median time between observations, or a predicted value.
   */
  readonly code: RangeCode;
  /** Name of the series. */
  readonly series: string;
  /** Name of the channel or of the target. For classes that a ridge regression predicts, the name of the class. */
  readonly column?: string;
  /** The value that is farthest outside. */
  readonly value: number;
  /** Smallest value in the training and the validation set. */
  readonly low: number;
  /** Largest value in the training and the validation set. */
  readonly high: number;
  /** Unit of times that are dates or months. */
  readonly unit?: "seconds" | "months";
}

/** Members of the predictions of every task. */
export interface CheckedPrediction {
  /** Inputs and predictions far outside the training data; undefined without any. */
  readonly warnings?: readonly RangeWarning[];
}

/** The class of a series. */
export interface ClassPrediction extends CheckedPrediction {
  /** Name of the series. */
  readonly series: string;
  /** The most probable class. */
  readonly label: string;
  /** Probability of that class, from 0 to 1. */
  readonly probability: number;
  /** Probability of each class by name, in the order of the record. The sum is 1. */
  readonly probabilities: Readonly<Record<string, number>>;
}

/** Predicted numeric targets of a series. */
export interface NumberPrediction extends CheckedPrediction {
  /** Name of the series. */
  readonly series: string;
  /** Predicted value of each target, by name. */
  readonly numbers: Readonly<Record<string, number>>;
}

/** Forecast of a series. */
export interface ForecastPrediction extends CheckedPrediction {
  /** Name of the series. */
  readonly series: string;
  /** Times of the forecast: dates in ISO 8601, or numbers. */
  readonly times: readonly (number | string)[];
  /** Forecast of each observed channel, by name. */
  readonly channels: Readonly<Record<string, ChannelForecast>>;
}

/** Forecast of a channel, with a value for each time. */
export interface ChannelForecast {
  /** Expected values. */
  readonly mean: readonly number[];
  /** Quantiles by their probability, such as `"0.9"`: with that probability, the true value is below. */
  readonly quantiles: Readonly<Record<string, readonly number[]>>;
}

/** Prediction of a model about a series. */
export type Prediction = ClassPrediction | NumberPrediction | ForecastPrediction;

/** Predictions of one series while its observations arrive. Memory does not grow with their number. */
export interface PredictionStream {
  /** Name of the series. */
  readonly series: string;
  /**
   * Adds an observation, and predicts from all observations so far.
   *
   * A row without values requests the forecast at its time, as in a table. Later observations may precede
   * that time.
   *
   * @param time Time of the observation, later than the previous observation, in the times of the model's series:
   * seconds since 1970 for dates, without the closed hours of a calendar.
   * @param values Value of each channel of the model, in order; NaN if not observed.
   * @throws {DataError} If the time is not later, the number of values is wrong, a window has too many
   * observations, or the prediction is not finite. After this or any other error, the stream is as if the
   * observation had not been pushed.
   */
  push(time: number, values: ArrayLike<number>): Promise<Prediction>;
  /** Returns the state of the stream, which can be stored as JSON. */
  save(): Promise<PredictionStreamState>;
}

/** State of a stream, as plain JSON. */
export type PredictionStreamState = FollowedState | RowsState;

/** State of a stream of a model that is updated by each observation. */
export interface FollowedState {
  /** Number of observations so far. */
  readonly count: number;
  /** Time of the first observation, or of the first block. */
  readonly first: number;
  /** Time of the last observation. */
  readonly last: number;
  /** Last value of each channel, scaled. */
  readonly held: readonly number[];
  /** Summary of the rows, of a model that adds to a linear model of it. */
  readonly summary?: SummaryState;
  /** State of the model; undefined in the first block of a model that reads means of blocks. */
  readonly model: unknown;
  /** Rows of the block that is not yet complete, of a model that reads means of blocks. */
  readonly block?: BlockSums;
}

/** State of a stream of forecasts from a window. */
export interface RowsState {
  /** Number of observations so far. */
  readonly count: number;
  /** The observations that forecasts need. Each is the time, then the values; null if not observed. */
  readonly rows: readonly (readonly (number | null)[])[];
}

/** Kind of prediction: classes, numeric targets or forecasts of series. */
export type TaskKind = "classify" | "regress" | "forecast";

/** All kinds of prediction. */
export const taskKinds: readonly TaskKind[] = ["classify", "regress", "forecast"];
