/** Predictions of a trained model about a series, as `predict` and a server print them: plain numbers and texts. */

/** The class of a series. */
export interface ClassPrediction {
  /** Name of the series. */
  readonly series: string;
  /** The most probable class. */
  readonly label: string;
  /** Probability of that class, from 0 to 1. */
  readonly probability: number;
  /** Probability of each class by its name, in the record's order; together 1. */
  readonly probabilities: Readonly<Record<string, number>>;
}

/** Numbers that belong to a series as a whole. */
export interface NumberPrediction {
  /** Name of the series. */
  readonly series: string;
  /** Each target by its name. */
  readonly numbers: Readonly<Record<string, number>>;
}

/** The continuation of a series. */
export interface ForecastPrediction {
  /** Name of the series. */
  readonly series: string;
  /** Times of the steps: dates as in ISO 8601, numbers as they are. */
  readonly times: readonly (number | string)[];
  /** Each channel that was observed, by its name. */
  readonly channels: Readonly<Record<string, ChannelForecast>>;
}

/** The continuation of a channel, a number for each time. */
export interface ChannelForecast {
  /** Expected values. */
  readonly mean: readonly number[];
  /** Values that the truth stays below with a probability, by that probability, such as `"0.9"`. */
  readonly quantiles: Readonly<Record<string, readonly number[]>>;
}

/** Prediction of a model about a series. */
export type Prediction = ClassPrediction | NumberPrediction | ForecastPrediction;

/** Predictions about one series while its observations arrive, in memory that does not grow with their number. */
export interface PredictionStream {
  /** Name of the series. */
  readonly series: string;
  /**
   * Takes an observation, and predicts from all so far.
   *
   * A row without values asks for the forecast at its time, as in a table; an observation may then lie before it.
   *
   * @param time Its time, later than the observation before, as the model's times are: of dates, seconds since 1970.
   * @param values A value for each channel that the model reads, in its order; NaN where nothing was observed.
   * @throws {DataError} If the time is not later, there are more or fewer values, a window has too many observations, or the
   * prediction is not a finite number. The next predictions are as if the observation had not been pushed; so they are after any
   * other error.
   */
  push(time: number, values: ArrayLike<number>): Promise<Prediction>;
  /** State of the stream, which can be stored as JSON. */
  save(): Promise<PredictionStreamState>;
}

/** State of a stream, as plain JSON. */
export type PredictionStreamState = FollowedState | RowsState;

/** State of a series that a model follows. */
export interface FollowedState {
  /** Number of observations so far. */
  readonly count: number;
  /** Time of the first one. */
  readonly first: number;
  /** Time of the latest one. */
  readonly last: number;
  /** Latest value of each channel, scaled. */
  readonly held: readonly number[];
  /** The model's state. */
  readonly model: unknown;
}

/** State of a series that a model continues from its window. */
export interface RowsState {
  /** Number of observations so far. */
  readonly count: number;
  /** The observations that forecasts need: time and values, null where nothing was observed. */
  readonly rows: readonly (readonly (number | null)[])[];
}

/** Kind of prediction: the class of each series, numbers of each series, or its continuation. */
export type TaskKind = "classify" | "regress" | "forecast";

/** Every kind of task. */
export const taskKinds: readonly TaskKind[] = ["classify", "regress", "forecast"];

/**
 * Probabilities of classes, in float64, so that they sum to one.
 *
 * @param logits Scores of the classes, up to a common constant.
 * @param temperature Divisor of the scores, above 0: above 1 it makes the probabilities more equal.
 */
export function probabilitiesOf(logits: ArrayLike<number>, temperature = 1): number[] {
  let top = -Infinity;
  for (let i = 0; i < logits.length; i++) top = Math.max(top, logits[i]);
  const weights = Array.from(logits, (logit) => Math.exp((logit - top) / temperature));
  const sum = weights.reduce((total, weight) => total + weight, 0);
  return weights.map((weight) => weight / sum);
}
