/** Welch's t test, by `npm:@stdlib/stats-ttest2`. */

/** Not a literal where it is imported: Deno would fetch its 245 packages for everybody who runs anything. */
const testPackage = "npm:@stdlib/stats-ttest2@0.2.3";

/**
 * The probability that two samples differ in their means as much as these, if those they were drawn from do not
 * (two-sided, without the assumption of one variance). Each has two values at least, and one of them a spread.
 */
export type WelchTest = (one: readonly number[], other: readonly number[]) => number;

type TestOfMeans = (
  one: readonly number[],
  other: readonly number[],
  options: { variance: "unequal" },
) => { readonly pValue: number };

/**
 * Loads the test.
 *
 * @throws {Error} If that fails, as without a network the first time.
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
