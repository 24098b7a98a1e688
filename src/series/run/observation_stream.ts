/** Streams of observations in the form of a table: values by the names of their columns. */
import { DataError } from "../../device/errors.ts";
import type { RunConfig } from "../../train/run/config.ts";
import type { DataRecord } from "../record/data_record.ts";
import type { Prediction, PredictionStream, PredictionStreamState } from "../record/predictions.ts";
import type { SeriesSettings } from "../record/settings.ts";
import type { TrainedModel } from "../models/trained_model.ts";

/** Predictions of one series while its observations arrive. Memory does not grow with their number. */
export interface ObservationStream<Answer extends Prediction = Prediction> {
  /** Name of the series. */
  readonly series: string;
  /**
   * Adds an observation, and predicts from all observations so far. Observations take effect in the order of
   * the calls.
   *
   * @param time Time of the observation, in the notation of the training table, later than that of the
   * previous observation.
   * @param values Value of each observed column: a number, or a text. Without values, a model that forecasts
   * returns its forecast for the time.
   * @throws {DataError} As for a row of a table, and if the time is not later or the prediction is not finite.
   * After an error, the stream is as if the observation had not been pushed.
   */
  push(time: number | string, values: Readonly<Record<string, unknown>>): Promise<Answer>;
  /** Returns the state of the stream, which can be stored as JSON. */
  save(): Promise<PredictionStreamState>;
}

/** Names of the columns of series and times in a run's table. */
export interface ColumnNames {
  /** Column with the names of the series. */
  readonly series: string;
  /** Column of the times. */
  readonly time: string;
}

/** Names of the columns of series and times in the table of a run. */
export function columnNames(config: RunConfig): ColumnNames {
  const { table: { series = "series", time = "time" } = {} } = config as RunConfig & SeriesSettings;
  return { series, time };
}

/** An observation as a stream of a model reads it. */
export interface Observation {
  /** Time, in seconds since 1970 for dates. */
  readonly time: number;
  /** Value of each channel of the model, in order; NaN if not observed. */
  readonly values: Float64Array;
}

/** Reads an observation of a series from the values of its columns. @throws {DataError} */
export type ObservationReader = (
  series: string,
  time: number | string,
  values: Readonly<Record<string, unknown>>,
) => Promise<Observation>;

/** An observation by the names of its columns. */
export interface NamedObservation {
  /** Name of the series. */
  readonly series: string;
  /** Time, in the notation of the training table. */
  readonly time: number | string;
  /** Values by column. */
  readonly values: Readonly<Record<string, unknown>>;
}

/**
 * Reads observations of different series. @throws {DataError} If an observation is rejected; the message may name
 * another of the observations.
 */
export type ObservationsReader = (observations: readonly NamedObservation[]) => Promise<Observation[]>;

/** Makes a reader that reads observations as rows of the table that the model was trained on. */
export function observationsReader(
  model: Required<Pick<TrainedModel, "series">>,
  record: DataRecord,
  names: ColumnNames,
): ObservationsReader {
  const columns = record.columns
    ? Object.keys(record.columns)
    : record.channels.map(({ name, column = name }) => column);
  const absent = Object.fromEntries(columns.map((name) => [name, null]));
  return async (observations) => {
    const rows = observations.map(({ series, time, values }) => {
      // Without values, an observation requests a forecast, so other models need at least one value.
      if (!record.windows && Object.values(values).every((value) => value === null || value === undefined)) {
        throw noValues(series);
      }
      return { ...absent, ...values, [names.series]: series, [names.time]: time };
    });
    const { series } = await model.series({ name: "the observation", rows });
    return series.map(({ times, values }) => ({ time: times[0], values }));
  };
}

/** Makes a reader that reads an observation as a row of the table that the model was trained on. */
export function observationReader(...of: Parameters<typeof observationsReader>): ObservationReader {
  const read = observationsReader(...of);
  return async (series, time, values) => (await read([{ series, time, values }]))[0];
}

/** Error of an observation without a value. */
function noValues(series: string): DataError {
  const expected = "values, an object with a value of at least one column";
  return new DataError("invalid-observation", `series "${series}": expected ${expected}`, { expected });
}

/** A stream of a model that reads its observations by the names of their columns. */
export function observationStream<Answer extends Prediction>(
  stream: PredictionStream,
  read: ObservationReader,
): ObservationStream<Answer> {
  const { series } = stream;
  let last: Promise<unknown> = Promise.resolve();
  const afterLast = <Result>(next: () => Promise<Result>): Promise<Result> => {
    const result = last.then(next);
    last = result.catch(() => {});
    return result;
  };
  return {
    series,
    push(time, values) {
      // Copy the values: the caller may change the object before its turn.
      const copy = { ...values };
      return afterLast(async () => {
        const observation = await read(series, time, copy);
        return await stream.push(observation.time, observation.values) as Answer;
      });
    },
    save: () => afterLast(() => stream.save()),
  };
}
