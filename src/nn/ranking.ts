import { describe } from "../device/describe.ts";
/** Ranking metrics of binary classifiers, over all samples together, computed on the host. */

/** Groups samples by score, highest score first. Each group holds its number of positives and of samples. */
function groups(
  measure: string,
  scores: ArrayLike<number>,
  labels: ArrayLike<number>,
): { positives: number; samples: number }[] {
  for (const [name, list] of Object.entries({ scores, labels })) {
    if (Array.isArray(list) || ArrayBuffer.isView(list)) continue;
    throw new TypeError(`${measure}: the ${name} are ${describe(list)}, expected an array of numbers`);
  }
  if (scores.length !== labels.length) {
    throw new RangeError(`${measure}: ${scores.length} scores for ${labels.length} labels`);
  }
  const order = Uint32Array.from({ length: scores.length }, (_, i) => i);
  for (const i of order) {
    if (Number.isNaN(scores[i])) throw new RangeError(`${measure}: score ${i} is NaN`);
    if (labels[i] !== 0 && labels[i] !== 1) {
      throw new RangeError(`${measure}: label ${i} is ${labels[i]}, expected 0 or 1`);
    }
  }
  order.sort((a, b) => scores[b] - scores[a] || 0);
  const tieGroups: { positives: number; samples: number }[] = [];
  order.forEach((sample, rank) => {
    if (rank === 0 || scores[sample] !== scores[order[rank - 1]]) {
      tieGroups.push({ positives: 0, samples: 0 });
    }
    const group = tieGroups[tieGroups.length - 1];
    group.positives += labels[sample];
    group.samples++;
  });
  return tieGroups;
}

/**
 * The area under the receiver operating characteristic: the probability that a positive sample has a higher
 * score than a negative sample. Ties count half. Exact, as scikit-learn's `roc_auc_score`.
 *
 * @example
 * ```ts
 * import { rocAuc } from "@weft/weft";
 *
 * rocAuc([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1]); // 0.75
 * ```
 *
 * @param labels 1 for positive samples, 0 for negative samples.
 * @throws {RangeError} If there are no positive or no negative samples, a score is NaN, or the lengths
 * differ.
 */
export function rocAuc(scores: ArrayLike<number>, labels: ArrayLike<number>): number {
  let [won, positivesAbove, negatives] = [0, 0, 0];
  for (const { positives, samples } of groups("rocAuc", scores, labels)) {
    const groupNegatives = samples - positives;
    won += groupNegatives * (positivesAbove + positives / 2);
    positivesAbove += positives;
    negatives += groupNegatives;
  }
  if (positivesAbove === 0 || negatives === 0) {
    throw new RangeError(
      `rocAuc: ${positivesAbove} positive and ${negatives} negative samples, expected both`,
    );
  }
  return won / (positivesAbove * negatives);
}

/**
 * The average precision: the sum over thresholds of the precision times the increase in recall. As
 * scikit-learn's `average_precision_score`.
 *
 * @param labels 1 for positive samples, 0 for negative samples.
 * @throws {RangeError} If there are no positive samples, a score is NaN, or the lengths differ.
 */
export function averagePrecision(scores: ArrayLike<number>, labels: ArrayLike<number>): number {
  let [truePositives, seen, sum] = [0, 0, 0];
  for (const { positives, samples } of groups("averagePrecision", scores, labels)) {
    truePositives += positives;
    seen += samples;
    sum += positives * truePositives / seen;
  }
  if (truePositives === 0) {
    throw new RangeError("averagePrecision: no positive samples, expected at least one");
  }
  return sum / truePositives;
}
