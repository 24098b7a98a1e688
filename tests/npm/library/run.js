/**
 * Runs the bundled tests of each layer in Node and in Chromium: `node run.js [PART]`, where the name of an environment contains PART.
 * Prints the counts of each layer. The last line is `N passed, N failed`.
 */
import { environments } from "./environments.js";

const [part = ""] = process.argv.slice(2);
const total = { passed: 0, failed: 0 };

/** Runs the layers in an environment, one after another. */
async function runLayers([name, { layers, open }]) {
  const environment = await open();
  for (const layer of layers) {
    const start = performance.now();
    let { passed, failed, leftOut } = await environment.run(layer).catch((error) => {
      console.log(`FAILED: ${error.stack}`);
      return { passed: 0, failed: 1, leftOut: 0 };
    });
    if (passed + failed === 0) {
      console.log("FAILED: no test ran");
      failed = 1;
    }
    const seconds = ((performance.now() - start) / 1000).toFixed(1);
    console.log(`${name}, ${layer}: ${passed} passed, ${failed} failed, ${leftOut} left out, ${seconds} s`);
    total.passed += passed;
    total.failed += failed;
  }
  await environment.close();
}

// The environments run at the same time, because each uses about one core.
await Promise.all(Object.entries(environments).filter(([name]) => name.includes(part)).map(runLayers));
console.log(`${total.passed} passed, ${total.failed} failed`);
process.exit(total.failed ? 1 : 0);
