/** `node run_in_node.js LAYER` runs a layer's tests and prints the counts as JSON in the last line. */
import { runTests } from "../tests/run_tests.js";
import { bundlesOf } from "./golden_tests.js";

const [layer] = process.argv.slice(2);
console.log(JSON.stringify(await runTests(bundlesOf(layer), { variables: {}, pattern: "" }, console.log)));
