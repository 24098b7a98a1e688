/** Welch's t test, by `npm:@stdlib/stats-ttest2`. */

/** Not a literal at the import: Deno would download its 245 packages for every user. */
const testPackage = "npm:@stdlib/stats-ttest2@0.2.3";

/**
 * The probability that two samples from populations with equal means differ in their means at least as much
 * as these (two-sided, without assuming equal variances). Each sample needs at least two values, and at least
 * one sample must have a positive variance.
 */
export type WelchTest = (one: readonly number[], other: readonly number[]) => number;

type TestOfMeans = (
  one: readonly number[],
  other: readonly number[],
  options: { variance: "unequal" },
) => { readonly pValue: number };

/**
 * Loads Welch's test.
 *
 * @throws {Error} If loading fails, for example without a network the first time.
 */
export async function loadWelchTest(): Promise<WelchTest> {
  try {
    const { default: test }: { default: TestOfMeans } = await import(testPackage);
    return (one, other) => test(one, other, { variance: "unequal" }).pValue;
  } catch (cause) {
    const { message } = cause as Error;
    throw new Error(
      `${testPackage} could not be loaded: it needs a network once, and --allow-env (${message})`,
      {
        cause,
      },
    );
  }
}
