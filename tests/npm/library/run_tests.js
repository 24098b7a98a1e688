/** Runs bundles of tests in Node or in a page. */
import { afterEach, environment, NeedsDeno, tests } from "./deno.js";

/**
 * @param bundles Names of bundles in this folder, in order.
 * @param settings `variables` of the environment, and a `pattern` in lower case that the names of the tests contain.
 * @param print Called with the name and the error of each test that fails.
 * @returns Numbers of tests that passed, failed, and need parts of Deno that are missing here.
 */
export async function runTests(bundles, { variables, pattern }, print) {
  Object.assign(environment, variables);
  const counts = { passed: 0, failed: 0, leftOut: 0 };
  const run = async (name, body) => {
    try {
      await body();
      return "passed";
    } catch (error) {
      if (error instanceof NeedsDeno) return "leftOut";
      print(`FAILED: ${name}\n${error?.stack ?? error}`);
      return "failed";
    }
  };
  for (const bundle of bundles) {
    tests.length = 0;
    // A variable, because the bundler would look for a file.
    const url = `./${bundle}`;
    const loaded = await run(bundle, () => import(url));
    if (loaded !== "passed") counts[loaded]++;
    for (const { name, fn } of tests.filter(({ name, ignore }) => !ignore && name.toLowerCase().includes(pattern))) {
      counts[await run(name, fn)]++;
      for (const end of afterEach) await end();
    }
  }
  return counts;
}
