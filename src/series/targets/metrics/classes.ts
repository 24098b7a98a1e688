/** Measures of class probabilities against the true classes, on the host. */
import { rocAuc } from "../../../nn/ranking.ts";
import { argmax } from "../../math/argmax.ts";

/** Class probabilities for each sample. All rows have the same length. */
type Rows = readonly (readonly number[])[];

/** Measures of one class against all others. */
interface ClassScores {
  /** Fraction of the predictions of the class that are correct; 0 without predictions. */
  readonly precision: number;
  /** Fraction of the samples of the class that are predicted as the class; 0 without samples. */
  readonly recall: number;
  /** Harmonic mean of precision and recall. */
  readonly f1: number;
  /** Number of samples of the class. */
  readonly count: number;
}

/** Predictions with a probability in one bin. */
export interface ReliabilityBin {
  /** Mean probability of the predicted classes. */
  readonly confidence: number;
  /** Fraction of correct predictions. */
  readonly accuracy: number;
  /** Number of samples. */
  readonly count: number;
}

/** Number of samples by true class (rows) and predicted class (columns). */
export function confusionMatrix(rows: Rows, labels: ArrayLike<number>, classes: number): number[][] {
  const matrix = Array.from({ length: classes }, () => new Array<number>(classes).fill(0));
  rows.forEach((row, i) => matrix[labels[i]][argmax(row)]++);
  return matrix;
}

/** Precision, recall and F1 of each class, as scikit-learn's `precision_recall_fscore_support`. */
export function classScores(matrix: readonly (readonly number[])[]): ClassScores[] {
  return matrix.map((row, k) => {
    const count = row.reduce((sum, one) => sum + one, 0);
    const taken = matrix.reduce((sum, other) => sum + other[k], 0);
    const precision = taken > 0 ? row[k] / taken : 0;
    const recall = count > 0 ? row[k] / count : 0;
    const f1 = count + taken > 0 ? 2 * row[k] / (count + taken) : 0;
    return { precision, recall, f1, count };
  });
}

/**
 * Mean negative logarithm of the probability of the true class, as scikit-learn's `log_loss`. Probabilities
 * are clipped to [eps, 1 - eps] with the machine epsilon of float64.
 */
export function logLoss(rows: Rows, labels: ArrayLike<number>): number {
  const eps = Number.EPSILON;
  const clip = (probability: number) => Math.min(Math.max(probability, eps), 1 - eps);
  return rows.reduce((sum, row, i) => sum - Math.log(clip(row[labels[i]])), 0) / rows.length;
}

/**
 * Mean of the one-vs-rest area under the curve over the classes, as scikit-learn's `roc_auc_score` with
 * `multi_class="ovr"` if each class occurs. If a class is absent, scikit-learn returns NaN. Here the mean is
 * over the classes with both positive and negative samples, and NaN without such classes.
 */
function meanAreaUnderCurve(rows: Rows, labels: ArrayLike<number>): number {
  const all = Array.from(labels);
  const rankable =
    rows[0]?.map((_, k) => k).filter((k) => all.includes(k) && all.some((label) => label !== k)) ??
      [];
  const areas = rankable.map((k) => rocAuc(rows.map((row) => row[k]), all.map((label) => +(label === k))));
  return areas.reduce((sum, area) => sum + area, 0) / areas.length;
}

/**
 * Groups predictions by probability in bins of equal width, as scikit-learn's `calibration_curve`. Bin m has
 * the probabilities above (m - 1) / `bins` and up to m / `bins`. Empty bins are omitted.
 */
export function reliability(rows: Rows, labels: ArrayLike<number>, bins = 10): ReliabilityBin[] {
  const allBins = Array.from({ length: bins }, () => ({ confidence: 0, right: 0, count: 0 }));
  rows.forEach((row, i) => {
    const top = argmax(row);
    const bin = allBins[Math.max(0, Math.ceil(row[top] * bins) - 1)];
    bin.confidence += row[top];
    bin.right += +(top === labels[i]);
    bin.count++;
  });
  return allBins.filter(({ count }) => count > 0).map(({ confidence, right, count }) => ({
    confidence: confidence / count,
    accuracy: right / count,
    count,
  }));
}

/**
 * Expected calibration error: the mean difference of probability and accuracy over the bins, weighted by
 * their number of samples (Guo et al., "On Calibration of Modern Neural Networks", 2017, equation 3).
 */
export function calibrationError(rows: Rows, labels: ArrayLike<number>, bins = 10): number {
  return reliability(rows, labels, bins).reduce(
    (sum, { confidence, accuracy, count }) => sum + count * Math.abs(confidence - accuracy),
    0,
  ) / rows.length;
}

/**
 * All measures of predictions by name: accuracy, macro F1, AUC, log loss and calibration error. The macro F1
 * is the mean over the classes that are true or predicted, as scikit-learn's `f1_score` with
 * `average="macro"`.
 */
export function classMeasures(rows: Rows, labels: ArrayLike<number>): Record<string, number> {
  const matrix = confusionMatrix(rows, labels, rows[0].length);
  const scores = classScores(matrix).filter(({ count }, k) => count > 0 || matrix.some((row) => row[k] > 0));
  const auc = meanAreaUnderCurve(rows, labels);
  return {
    accuracy: rows.filter((row, i) => argmax(row) === labels[i]).length / rows.length,
    macroF1: scores.reduce((sum, { f1 }) => sum + f1, 0) / scores.length,
    ...(Number.isNaN(auc) ? {} : { auc }),
    logLoss: logLoss(rows, labels),
    calibrationError: calibrationError(rows, labels),
  };
}
