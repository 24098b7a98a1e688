/**
 * Temperature scaling (Guo et al., "On Calibration of Modern Neural Networks", 2017, section 4.2): the
 * divisor of a model's scores with the smallest log loss on samples outside the training set.
 */
import { exp, log } from "./elementary.ts";

/** Minimum temperature. */
export const coolest = 0.05;
/** Maximum temperature. */
export const hottest = 20;

/**
 * Fits the temperature for some scores. As in Platt, "Probabilistic Outputs for Support Vector Machines"
 * (1999), the targets are smoothed: the other classes get a weight of 1 / (number of samples + 2). Otherwise
 * a model without errors on few samples would get probabilities of 0 and 1.
 *
 * @param scores Scores of the classes for each sample.
 * @param labels True class of each sample.
 * @returns Temperature between 0.05 and 20; 1 without samples.
 */
export function fitTemperature(scores: readonly ArrayLike<number>[], labels: ArrayLike<number>): number {
  if (scores.length === 0) return 1;
  const smoothing = 1 / (scores.length + 2);
  const loss = (logarithm: number) =>
    scores.reduce((sum, row, i) => {
      const logs = probabilitiesOf(row, exp(logarithm)).map((p) => log(Math.max(p, 1e-300)));
      const others = logs.reduce((total, log, k) => k === labels[i] ? total : total + log, 0) /
        (logs.length - 1);
      return sum - (1 - smoothing) * logs[labels[i]] - smoothing * others;
    }, 0);
  // Golden-section search: the loss is convex in the inverse temperature, hence unimodal in the logarithm of
  // the temperature.
  const ratio = (Math.sqrt(5) - 1) / 2;
  let [low, high] = [log(coolest), log(hottest)];
  let [left, right] = [high - ratio * (high - low), low + ratio * (high - low)];
  let [atLeft, atRight] = [loss(left), loss(right)];
  while (high - low > 1e-4) {
    if (atLeft <= atRight) {
      [high, right, atRight] = [right, left, atLeft];
      left = high - ratio * (high - low);
      atLeft = loss(left);
    } else {
      [low, left, atLeft] = [left, right, atRight];
      right = low + ratio * (high - low);
      atRight = loss(right);
    }
  }
  return exp((low + high) / 2);
}

/**
 * Class probabilities in float64, so that their sum is 1.
 *
 * @param logits Scores of the classes, up to an additive constant.
 * @param temperature Divisor of the scores, above 0. Values above 1 make the probabilities more uniform.
 */
export function probabilitiesOf(logits: ArrayLike<number>, temperature = 1): number[] {
  let top = -Infinity;
  for (let i = 0; i < logits.length; i++) top = Math.max(top, logits[i]);
  const weights = Array.from(logits, (logit) => exp((logit - top) / temperature));
  const sum = weights.reduce((total, weight) => total + weight, 0);
  return weights.map((weight) => weight / sum);
}
