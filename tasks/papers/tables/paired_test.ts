/** Paired comparisons of models that share seeds, splits and dropped observations. */
import { statistics } from "../../../src/train/statistics.ts";

/**
 * Student's paired t test, two-sided: the probability of a mean difference at least this large if the mean of
 * the differences is zero. NaN for fewer than two pairs, or if all differences are equal.
 */
export function pairedTest(one: readonly number[], other: readonly number[]): number {
  const differences = one.map((value, i) => value - other[i]);
  if (differences.length < 2 || new Set(differences).size === 1) return NaN;
  const { mean, standardDeviation } = statistics(differences);
  const t = Math.abs(mean) / (standardDeviation / Math.sqrt(differences.length));
  return 1 - withinT(t, differences.length - 1);
}

/**
 * The probability that Student's t with a whole number of degrees of freedom is between -t and t (Abramowitz
 * and Stegun, "Handbook of Mathematical Functions", 1964, equations 26.7.3 and 26.7.4).
 */
function withinT(t: number, freedom: number): number {
  const angle = Math.atan(t / Math.sqrt(freedom));
  const [sine, cosine] = [Math.sin(angle), Math.cos(angle)];
  const isOdd = freedom % 2 === 1;
  let [term, sum] = [isOdd ? cosine : 1, 0];
  for (let k = isOdd ? 1 : 0; k <= freedom - 2; k += 2) {
    sum += term;
    term *= cosine ** 2 * (k + 1) / (k + 2);
  }
  return isOdd ? (angle + sine * sum) * 2 / Math.PI : sine * sum;
}

/**
 * Adjusts probabilities for the number of comparisons by the method of Holm ("A Simple Sequentially Rejective
 * Multiple Test Procedure", 1979). If only differences with adjusted probabilities below 0.05 are called
 * significant, the probability of any wrong one among them is below 0.05. NaN stays, and does not count.
 */
export function adjustHolm(probabilities: readonly number[]): number[] {
  const order = [...probabilities.keys()].filter((i) => !Number.isNaN(probabilities[i]))
    .sort((a, b) => probabilities[a] - probabilities[b]);
  const adjusted = probabilities.map(() => NaN);
  let largest = 0;
  order.forEach((place, rank) => {
    largest = Math.max(largest, Math.min(1, (order.length - rank) * probabilities[place]));
    adjusted[place] = largest;
  });
  return adjusted;
}
