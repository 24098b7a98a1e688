/**
 * Bundles programs by Vite and checks the compressed size of what a page loads at its start, and of all files. `application.js` is all
 * that a training step on the CPU needs, with all methods and adjoints of the solvers. A solve alone has no gradients, and
 * `openTrained` has all models of series. Only the code of GPUs, and what trains, evaluates or reads files, is loaded on demand.
 */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { build } from "vite";

const solve = `import { odeint, tensor } from "@weft/weft";
odeint((_t, y) => y.neg(), tensor([1, 2]), [0, 1]).data().then(console.log);
`;
const predict = `import { openTrained } from "@weft/weft/series";
openTrained("model").then(console.log);
`;
writeFileSync("solve.js", solve);
writeFileSync("predict.js", predict);

/**
 * The programs, their last lines in place of others, and most bytes at the start. Other modules cannot import a module that waits at its
 * top level for them, so bundlers then move the code that GPUs share into one more file.
 */
const cases = {
  "training, started in a function": { input: "application.js", limit: 121_200 },
  "training, started by a top-level await": { input: "application.js", end: "await main();", limit: 123_700 },
  "a solve": { input: "solve.js", limit: 105_900 },
  "openTrained": { input: "predict.js", limit: 253_200 },
};

for (const [name, { input, end, limit }] of Object.entries(cases)) {
  const withEnd = (code, id) => end && id.endsWith(`/${input}`) ? code.replace("\nmain();", `\n${end}`) : undefined;
  const { output } = await build({
    configFile: false,
    logLevel: "error",
    plugins: [{ name: "end", transform: withEnd }],
    build: { write: false, target: "es2022", rollupOptions: { input, external: ["commander", "hyparquet", "ws"] } },
  });
  const chunks = new Map(output.filter(({ type }) => type === "chunk").map((chunk) => [chunk.fileName, chunk]));
  const start = new Set();
  const load = (name) => {
    if (!chunks.has(name)) return;
    start.add(name);
    for (const imported of chunks.get(name).imports) if (!start.has(imported)) load(imported);
  };
  load([...chunks.values()].find(({ isEntry }) => isEntry).fileName);
  const sizeOf = (names) =>
    [...names].reduce((sum, name) => sum + gzipSync(chunks.get(name).code, { level: 9 }).length, 0);
  const [first, all] = [sizeOf(start), sizeOf(chunks.keys())];
  console.log(`size of ${name}, gzipped: ${first} bytes at the start in ${start.size} files, ${all - first} bytes on demand`);
  assert.ok(first <= limit, `${name}: ${first} bytes at the start, expected at most ${limit}`);
  const isLate = ({ fileName }) => !start.has(fileName);
  const gpu = [...chunks.values()].filter(({ code }) => code.includes("@workgroup_size"));
  assert.ok(gpu.every(isLate), "kernels of GPUs are loaded on demand");
  // Without a call of `init`, no GPU can be opened.
  assert.equal(gpu.length > 0, input !== "solve.js");
}
