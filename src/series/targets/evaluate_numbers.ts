import { formatNumber, formatPercent } from "../../charts/format.ts";
import type { NumberPrediction } from "../record/predictions.ts";
import { type SeriesToEvaluate, worstShown } from "./evaluate_classes.ts";
import { channelImportance, seriesWithChannel } from "./importance.ts";
import { describeWarnings } from "./range_warnings.ts";
import type { Series } from "../../data/series.ts";
import { meanWithError } from "./score.ts";
import { besideValidation, type MeasuredMean } from "./validated.ts";
import { numberMeasures } from "./metrics/numbers.ts";
import { importanceSection, scatterSection, worstSection } from "./report_sections.ts";
import type { Evaluation } from "../../train/task.ts";

/** Options of {@linkcode evaluateNumbers}. */
interface NumbersToEvaluate extends SeriesToEvaluate<NumberPrediction> {
  /** Names of the targets, with their means and standard deviations in the training set. */
  targets: readonly { readonly name: string; readonly mean: number; readonly standardDeviation: number }[];
  /** Predictions of a linear model on the last values, a baseline. */
  linear?: (series: Series) => readonly number[];
  /** Measure of the model in validation. */
  validated?: MeasuredMean;
  /** Name of the model: a baseline is not compared with itself. */
  model?: string;
}

/** Names of the baselines. */
const [meanBaseline, lastBaseline, linearBaseline] = [
  "the mean",
  "the last value",
  "a linear model on the last values",
];

/**
 * Compares predicted numbers with the true ones, and with baselines: the mean, a linear model on the last values and, for targets
 * that are also channels, the last value. With several targets, each measure has the name of its target as a prefix.
 */
export async function evaluateNumbers(
  { series, channels, times, targets, predict, linear, validated, model }: NumbersToEvaluate,
): Promise<Evaluation> {
  const truth = targets.map((_, k) => series.map(({ targets: seriesTargets }) => seriesTargets?.[k] ?? NaN));
  const numbersOf = (predictions: readonly NumberPrediction[]) =>
    targets.map(({ name }) => predictions.map(({ numbers }) => numbers[name]));
  const measuresOf = (predicted: readonly (readonly number[])[]) =>
    Object.fromEntries(
      targets.flatMap(({ name }, k) =>
        Object.entries(numberMeasures(predicted[k], truth[k])).map(([measure, value]) => [
          targets.length > 1 ? `${name} ${measure}` : measure,
          value,
        ])
      ),
    );
  /** Squared error of some series, by default all, in units of standard deviations, summed over the targets. */
  const errorsOf = (
    predicted: readonly (readonly number[])[],
    indices: readonly number[] = [...series.keys()],
  ) =>
    indices.map((index, i) =>
      targets.reduce((sum, { standardDeviation }, k) => {
        const error = (predicted[k][i] - truth[k][index]) / standardDeviation;
        return Number.isNaN(error) ? sum : sum + error ** 2;
      }, 0)
    );
  const total = (errors: readonly number[]) => errors.reduce((sum, error) => sum + error, 0) / errors.length;
  const predictions = await predict(series);
  const predicted = numbersOf(predictions);
  const measures = measuresOf(predicted);
  const lastOf = ({ values }: Series, channel: number) => {
    let last = NaN;
    for (let i = channel; i < values.length; i += channels.length) {
      last = Number.isNaN(values[i]) ? last : values[i];
    }
    return last;
  };
  const baselinePredictions: Record<string, number[][]> = {
    [meanBaseline]: targets.map(({ mean }) => series.map(() => mean)),
    ...(targets.every(({ name }) => channels.includes(name))
      ? {
        [lastBaseline]: targets.map(({ name, mean }) =>
          series.map((one) => {
            const last = lastOf(one, channels.indexOf(name));
            return Number.isNaN(last) ? mean : last;
          })
        ),
      }
      : {}),
    ...(linear ? { [linearBaseline]: targets.map((_, k) => series.map((one) => linear(one)[k])) } : {}),
  };
  const baselines = Object.fromEntries(
    Object.entries(baselinePredictions).map(([name, rows]) => [name, measuresOf(rows)]),
  );
  const errors = errorsOf(predicted);
  const targetCounts = series.map((_, i) => truth.filter((values) => !Number.isNaN(values[i])).length);
  /** Mean squared error of each series with a known target, as in validation. */
  const meanErrors = errors.flatMap((error, i) => targetCounts[i] > 0 ? [error / targetCounts[i]] : []);
  const importanceOf = () =>
    channelImportance(
      series,
      channels,
      total(errors),
      seriesWithChannel(channels.length),
      async (changed, indices) => total(errorsOf(numbersOf(await predict(changed)), indices)),
    );
  const worst = Array.from(series.keys()).sort((a, b) => errors[b] - errors[a]).slice(0, worstShown);
  const beside = besideValidation(validated, { measure: "scaled mse", ...scaledMean(meanErrors) });
  const itself = { constant: meanBaseline, "last-values": linearBaseline }[model ?? ""];
  const shares = Object.entries(baselinePredictions).map(([name, rows]) =>
    [name, total(errors) / total(errorsOf(rows))] as const
  );
  return {
    measures,
    baselines,
    warnings: [...beside.warnings, ...describeWarnings(predictions)],
    verdictMeasure: targets.length > 1 ? undefined : "mse",
    verdict: `${numbersVerdict(shares.filter(([name]) => name !== itself))}${beside.text}`,
    sections: async () => {
      const importance = await importanceOf();
      return [
        scatterSection(
          targets.map(({ name }, k) => ({ name, truth: truth[k], predictions: predicted[k] })),
        ),
        ...importanceSection("scaled squared error", importance),
        ...worstSection(
          worst.map((i) => ({
            ...series[i],
            title: `${series[i].name}: ${
              targets.map(({ name }, k) =>
                `${name} predicted ${formatNumber(predicted[k][i])}, true ${formatNumber(truth[k][i])}`
              ).join("; ")
            }`,
          })),
          channels,
          { times, importance },
        ),
      ];
    },
  };
}

/** Mean of some errors with its standard error. */
function scaledMean(errors: readonly number[]): Omit<MeasuredMean, "measure"> {
  const { mean, standardError } = meanWithError(errors);
  return { value: mean, standardError };
}

/** Compares the mean squared error with those of baselines. @param shares Its quotient by that of each baseline. */
function numbersVerdict(shares: readonly (readonly [name: string, share: number])[]): string {
  const finite = shares.filter(([, share]) => Number.isFinite(share));
  if (shares.length === 0) return "The model predicts the mean.";
  if (finite.length === 0) return "The targets are constant: the mean predicts them without an error.";
  const worse = finite.filter(([, share]) => share >= 1);
  const percent = ([name, share]: (typeof finite)[number]) => `${formatPercent(share, 1)} of that of ${name}`;
  const text = finite.map(percent).join(" and ");
  return worse.length === 0
    ? `The mean squared error is ${text}.`
    : `No better than ${worse.map(([name]) => name).join(" and ")}: the mean squared error is ${text}.`;
}
