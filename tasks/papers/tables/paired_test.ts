/** Paired comparisons of models that share seeds, splits and dropped observations. */

/** Not a literal at the import: Deno would download its packages, more than two hundred, for every user. */
const testPackage = "npm:@stdlib/stats-ttest@0.2.3";

/**
 * Student's paired t test, two-sided: the probability of a mean difference at least this large if the mean of
 * the differences is zero. NaN for fewer than two pairs, or if all differences are equal.
 */
export type PairedTest = (one: readonly number[], other: readonly number[]) => number;

/**
 * Loads the paired test.
 *
 * @throws {Error} If loading fails, for example without a network the first time.
 */
export async function loadPairedTest(): Promise<PairedTest> {
  type TestOfMean = (one: readonly number[], other: readonly number[]) => { readonly pValue: number };
  try {
    const { default: test }: { default: TestOfMean } = await import(testPackage);
    return (one, other) => {
      const differences = new Set(one.map((value, i) => value - other[i]));
      return differences.size > 1 ? test(one, other).pValue : NaN;
    };
  } catch (cause) {
    const { message } = cause as Error;
    throw new Error(
      `${testPackage} could not be loaded: it needs a network once, and --allow-env (${message})`,
      { cause },
    );
  }
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
