import { formatNumber, formatPercent } from "../../charts/format.ts";
import type { NumberPrediction } from "../record/predictions.ts";
import { type SeriesToEvaluate, worstShown } from "./evaluate_classes.ts";
import { channelImportance, seriesWithChannel } from "./importance.ts";
import { describeWarnings } from "./learned_ranges.ts";
import { numberMeasures } from "./metrics/numbers.ts";
import { importanceSection, scatterSection, worstSection } from "./report_sections.ts";
import type { Evaluation } from "../../train/task.ts";

/** Options of {@linkcode evaluateNumbers}. */
interface NumbersToEvaluate extends SeriesToEvaluate<NumberPrediction> {
  /** Names of the targets, with their means and standard deviations in the training set. */
  targets: readonly { readonly name: string; readonly mean: number; readonly standardDeviation: number }[];
}

/**
 * Compares predicted numbers with the true ones, and with the baseline of the mean. With several targets,
 * each measure has the name of its target as a prefix.
 */
export async function evaluateNumbers(
  { series, channels, times, targets, predict }: NumbersToEvaluate,
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
  /** Squared error of each series in units of standard deviations, summed over the targets. */
  const errorsOf = (predicted: readonly (readonly number[])[]) =>
    series.map((_, i) =>
      targets.reduce((sum, { standardDeviation }, k) => {
        const error = (predicted[k][i] - truth[k][i]) / standardDeviation;
        return Number.isNaN(error) ? sum : sum + error ** 2;
      }, 0)
    );
  const total = (errors: readonly number[]) => errors.reduce((sum, error) => sum + error, 0) / errors.length;
  const predictions = await predict(series);
  const predicted = numbersOf(predictions);
  const measures = measuresOf(predicted);
  const baselines = { "the mean": measuresOf(targets.map(({ mean }) => series.map(() => mean))) };
  const errors = errorsOf(predicted);
  const importanceOf = () =>
    channelImportance(
      series,
      channels,
      seriesWithChannel(channels.length),
      async (changed) => total(errorsOf(numbersOf(await predict(changed)))) - total(errors),
    );
  const worst = Array.from(series.keys()).sort((a, b) => errors[b] - errors[a]).slice(0, worstShown);
  const share = total(errors) / total(errorsOf(targets.map(({ mean }) => series.map(() => mean))));
  return {
    measures,
    baselines,
    warnings: describeWarnings(predictions),
    verdictMeasure: targets.length > 1 ? undefined : "mse",
    verdict: share < 1
      ? `The mean squared error is ${formatPercent(share, 1)} of the baseline's, which predicts the mean.`
      : `No better than the baseline, which predicts the mean: ${
        formatPercent(share, 0)
      } of its mean squared error.`,
    sections: async () => [
      scatterSection(
        targets.map(({ name }, k) => ({ name, truth: truth[k], predictions: predicted[k] })),
      ),
      ...importanceSection("scaled squared error", await importanceOf()),
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
        times,
      ),
    ],
  };
}
