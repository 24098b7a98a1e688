/** Models of series for programs: predictions of tables and streams, and the files of the model's run. */
import { tableOptionNames, type TableOptions } from "../../data/table/options.ts";
import { OptionError } from "../../device/errors.ts";
import { checkOptions } from "../../device/options.ts";
import type { RunConfig } from "../../train/run/config.ts";
import type { TrainedRun } from "../../train/run/trained_run.ts";
import type { DataRecord } from "../record/data_record.ts";
import {
  columnNames,
  observationReader,
  type ObservationStream,
  observationStream,
} from "./observation_stream.ts";
import type { Prediction, PredictionStreamState } from "../record/predictions.ts";
import { checkSource, isSeriesSet, nameOfSource, type SeriesSource } from "../record/series_source.ts";
import {
  measureNew,
  type NewMeasures,
  requirePredictions,
  type TrainedModel,
} from "../models/trained_model.ts";

/** A trained model of series. */
export interface Predictor<Answer extends Prediction = Prediction> {
  /** Settings of the run, defaults included. */
  readonly config: RunConfig;
  /** Record of the training data: channels, classes, the parts, and how the model was chosen. */
  readonly record: DataRecord;
  /**
   * Files of the run's folder by name, which `openTrained` and the commands open. They contain no data of the
   * training table apart from statistics and the names of columns, classes and series.
   */
  readonly files: Readonly<Record<string, Uint8Array<ArrayBuffer>>>;
  /**
   * Predicts each series. The predictions have the order of the series, and equal those of
   * `deno task predict`.
   *
   * @param data Series in the form of the training data. They need no targets.
   * @param table Options that differ from those of the training table.
   * @throws {DataError} If the data break a rule of docs/start/own_data.md.
   */
  predict(data: SeriesSource, table?: TableOptions): Promise<Answer[]>;
  /**
   * Measures the model on all series of other data, as `deno task evaluate --data`.
   *
   * @param data Series in the form of the training data, with targets.
   * @param table Options that differ from those of the training table.
   */
  evaluate(data: SeriesSource, table?: TableOptions): Promise<NewMeasures>;
  /**
   * Predicts a series while its observations arrive. Predictions equal those of the whole series, up to rounding;
   * forecasts are equal bit for bit. Undefined if the model was not trained with `online`, or does not support
   * streams.
   *
   * @param series Name of the series.
   * @param state State from `save` of a stream, to continue that stream.
   */
  stream?(series: string, state?: PredictionStreamState): ObservationStream<Answer>;
}

/** Makes the predictor of a run. @throws {Error} If the model cannot predict new series. */
export function predictorOf<Answer extends Prediction>(
  run: TrainedRun<TrainedModel, DataRecord>,
  files: Predictor["files"],
): Predictor<Answer> {
  const { config, record } = run;
  const { series, predict, stream } = requirePredictions(run);
  const check = (method: string, data: SeriesSource, table: TableOptions | undefined) => {
    const name = `Predictor.${method}`;
    checkSource(name, data);
    if (table === undefined) return;
    checkOptions(name, table, tableOptionNames);
    checkTable(name, data, table);
  };
  const read = observationReader({ series }, record, columnNames(config));
  return {
    config,
    record,
    files,
    async predict(data, table) {
      check("predict", data, table);
      return await predict(await series(data, table)) as Answer[];
    },
    async evaluate(data, table) {
      check("evaluate", data, table);
      return await measureNew(run, data, table);
    },
    ...(stream ? { stream: (series, state) => observationStream<Answer>(stream(series, state), read) } : {}),
  };
}

/** @throws {OptionError} If an option of tables has no effect on a source in memory. */
export function checkTable(operation: string, source: SeriesSource, table: TableOptions | undefined): void {
  if (table === undefined || typeof source === "string") return;
  const optionNames = Object.keys(table).filter((name) => table[name as keyof TableOptions] !== undefined);
  const unusable = isSeriesSet(source)
    ? optionNames
    : "rows" in source || "columns" in source
    ? optionNames.filter((name) => name === "wide")
    : [];
  if (unusable.length === 0) return;
  const kind = isSeriesSet(source) ? "a set of series" : "rows in memory";
  throw new OptionError(
    "unusable-option",
    (write) =>
      `${operation}: ${nameOfSource(source)} is ${kind}, which cannot use ${unusable.map(write).join(", ")}`,
    { option: unusable[0], fixes: ["leave it out"] },
  );
}
