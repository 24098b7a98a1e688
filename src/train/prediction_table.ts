/** Predictions as delimited text. */
import { csvOf } from "./csv.ts";
import type { Prediction } from "./predictions.ts";

/**
 * Predictions of one kind as a table: a row for each series, or for each channel and time of a forecast.
 *
 * @returns Comma-separated values (RFC 4180) with the names of the columns in the first row, without a last line end.
 */
export function predictionsAsCsv(predictions: readonly Prediction[]): string {
  const rows = predictions.flatMap(rowsOf);
  const columns = Object.keys(rows[0] ?? {});
  return csvOf([columns, ...rows.map((row) => columns.map((name) => row[name]))]);
}

type Row = Readonly<Record<string, string | number>>;

function rowsOf(prediction: Prediction): Row[] {
  const { series } = prediction;
  if ("label" in prediction) {
    const { label, probability, probabilities } = prediction;
    return [{ series, label, probability, ...prefixed("probability of ", probabilities) }];
  }
  if ("numbers" in prediction) {
    const { numbers } = prediction;
    // The first column names the series, whatever a target is called.
    return [{ series, ...("series" in numbers ? prefixed("number of ", numbers) : numbers) }];
  }
  return Object.entries(prediction.channels).flatMap(([channel, { mean, quantiles }]) =>
    prediction.times.map((time, i) => ({
      ...{ series, time, channel, mean: mean[i] },
      ...prefixed(
        "quantile ",
        Object.fromEntries(Object.entries(quantiles).map(([at, line]) => [at, line[i]])),
      ),
    }))
  );
}

function prefixed(prefix: string, values: Readonly<Record<string, number>>): Row {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [prefix + name, value]));
}
