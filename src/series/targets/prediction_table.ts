/** Predictions as delimited text. */
import { csvOf } from "../read/csv.ts";
import type { Prediction } from "../record/predictions.ts";

/**
 * Formats predictions of one kind as a table: a row for each series, or for each channel and time of a
 * forecast.
 *
 * @returns Comma-separated values (RFC 4180) with column names in the first row, without a final line break.
 * Names that a spreadsheet would evaluate, such as `=1+1`, get a leading single quote, which `readTable`
 * removes.
 */
export function predictionsAsCsv(predictions: readonly Prediction[]): string {
  return csvOf(predictionRows(predictions));
}

/** The rows of {@linkcode predictionsAsCsv}: first the names of the columns. */
export function predictionRows(predictions: readonly Prediction[]): (string | number)[][] {
  const rows = predictions.flatMap(rowsOf).map((row) => new Map(row));
  const columns = [...rows[0]?.keys() ?? []];
  return [columns, ...rows.map((row) => columns.map((name) => row.get(name)!))];
}

/**
 * Cells with their column names, in order. An object would move numeric names such as `2020` to the front.
 */
type Row = readonly (readonly [column: string, cell: string | number])[];

function rowsOf(prediction: Prediction): Row[] {
  const series = ["series", prediction.series] as const;
  if ("label" in prediction) {
    const { label, probability, probabilities } = prediction;
    return [[
      series,
      ["label", label],
      ["probability", probability],
      ...prefixed("probability of ", probabilities),
    ]];
  }
  if ("numbers" in prediction) {
    const { numbers } = prediction;
    // The first column is the name of the series. A target named "series" gets a prefix.
    return [[series, ...prefixed(Object.hasOwn(numbers, "series") ? "number of " : "", numbers)]];
  }
  return Object.entries(prediction.channels).flatMap(([channel, { mean, quantiles }]) =>
    prediction.times.map((time, i): Row => [
      series,
      ["time", time],
      ["channel", channel],
      ["mean", mean[i]],
      ...Object.entries(quantiles).map(([at, line]) => [`quantile ${at}`, line[i]] as const),
    ])
  );
}

function prefixed(prefix: string, values: Readonly<Record<string, number>>): Row {
  return Object.entries(values).map(([name, value]) => [prefix + name, value]);
}
