import { formatPercent } from "../../charts/format.ts";
import type { TimeKind } from "../../data/format.ts";
import type { Series } from "../../data/series.ts";
import type { ClassPrediction } from "../record/predictions.ts";
import { channelImportance, seriesWithChannel } from "./importance.ts";
import { accuracyWithError, besideValidation, type MeasuredMean } from "./validated.ts";
import { argmax } from "../math/argmax.ts";
import { describeWarnings } from "./range_warnings.ts";
import { classMeasures, classScores, confusionMatrix, logLoss, reliability } from "./metrics/classes.ts";
import {
  classSection,
  confusionSection,
  importanceSection,
  reliabilitySection,
  worstSection,
} from "./report_sections.ts";
import type { Evaluation } from "../../train/task.ts";

/** Number of series with the largest errors in a report. */
export const worstShown = 6;

/** Series with known targets, and the function that predicts them. */
export interface SeriesToEvaluate<Found> {
  series: readonly Series[];
  channels: readonly string[];
  /** Notation of the times. */
  times?: TimeKind;
  predict(series: readonly Series[]): Promise<Found[]>;
}

/** Options of {@linkcode evaluateClasses}. */
interface ClassesToEvaluate extends SeriesToEvaluate<ClassPrediction> {
  classes: readonly string[];
  /** Fraction of each class in the training set. */
  shares: readonly number[];
  /** Accuracy of the model in validation. */
  validated?: MeasuredMean;
  /** Name of the model. */
  model?: string;
}

/** Name of the baseline. */
const mostFrequent = "the most frequent class";

function accuracyVerdict(accuracy: number, baseline: number): string {
  const of = formatPercent(baseline, 1);
  return accuracy > baseline
    ? `${
      formatPercent(accuracy, 1)
    } of the series are classified correctly; the most frequent class has ${of}.`
    : `No better than the most frequent class: ${formatPercent(accuracy, 1)} accuracy, the class has ${of}.`;
}

/** Compares predicted classes with the true classes, and with the baseline of the most frequent class. */
export async function evaluateClasses(options: ClassesToEvaluate): Promise<Evaluation> {
  const { series, classes, channels, times, shares, predict, validated, model } = options;
  const rowsOf = (predictions: readonly ClassPrediction[]) =>
    predictions.map(({ probabilities }) => classes.map((name) => probabilities[name]));
  const labels = series.map(({ label }) => label);
  const predictions = await predict(series);
  const rows = rowsOf(predictions);
  const measures = classMeasures(rows, labels);
  const baselines = { [mostFrequent]: classMeasures(rows.map(() => [...shares]), labels) };
  const matrix = confusionMatrix(rows, labels, classes.length);
  const importanceOf = () =>
    channelImportance(
      series,
      channels,
      measures.logLoss,
      seriesWithChannel(channels.length),
      async (changed, indices) => logLoss(rowsOf(await predict(changed)), indices.map((i) => labels[i])),
    );
  const wrong = Array.from(rows.keys()).filter((i) => argmax(rows[i]) !== labels[i])
    .sort((a, b) => rows[a][labels[a]] - rows[b][labels[b]]).slice(0, worstShown);
  const beside = besideValidation(validated, accuracyWithError(measures.accuracy, series.length));
  const verdict = model === "constant"
    ? `The model predicts ${mostFrequent}: ${formatPercent(measures.accuracy, 1)} accuracy.`
    : accuracyVerdict(measures.accuracy, baselines[mostFrequent].accuracy);
  return {
    measures,
    baselines,
    verdictMeasure: "accuracy",
    warnings: [...beside.warnings, ...describeWarnings(predictions)],
    verdict: `${verdict}${beside.text}`,
    sections: async () => {
      const importance = await importanceOf();
      return [
        ...confusionSection(classes, matrix),
        classSection(classes, classScores(matrix)),
        reliabilitySection(reliability(rows, labels)),
        ...importanceSection("log loss", importance),
        ...worstSection(
          wrong.map((i) => ({
            ...series[i],
            title: `${series[i].name}: predicted ${classes[argmax(rows[i])]} with ${
              formatPercent(rows[i][argmax(rows[i])], 0)
            }, true class ${classes[labels[i]]}`,
          })),
          channels,
          { times, importance },
        ),
      ];
    },
  };
}
