/** Answers as delimited text. */
import type { Answer } from "./answers.ts";

/**
 * Answers of one kind as a table: a row for each series, or for each channel and time of a forecast.
 *
 * @returns Comma-separated values (RFC 4180) with the names of the columns in the first row, without a last line end.
 */
export function answersAsCsv(answers: readonly Answer[]): string {
  const rows = answers.flatMap(rowsOf);
  const columns = Object.keys(rows[0] ?? {});
  return [columns, ...rows.map((row) => columns.map((name) => row[name]))]
    .map((fields) => fields.map(field).join(",")).join("\n");
}

type Row = Readonly<Record<string, string | number>>;

function rowsOf(answer: Answer): Row[] {
  const { series } = answer;
  if ("label" in answer) {
    const { label, probability, probabilities } = answer;
    return [{ series, label, probability, ...prefixed("probability of ", probabilities) }];
  }
  if ("numbers" in answer) return [{ series, ...answer.numbers }];
  return Object.entries(answer.channels).flatMap(([channel, { mean, quantiles }]) =>
    answer.times.map((time, i) => ({
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

function field(value: string | number): string {
  const text = `${value}`;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
