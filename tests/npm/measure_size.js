/**
 * Bundles `application.js` by Vite and checks the compressed size of what a page loads at its start. This is all that a training step
 * on the CPU needs, with all methods and adjoints of the solvers. Only the code of GPUs is loaded on demand: `init` loads it when it
 * opens one.
 */
import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { build } from "vite";

/**
 * The last line of the application, and most bytes at the start. Other modules cannot import a module that waits at its top level
 * for them, so bundlers then move the code that GPUs share into one more file.
 */
const cases = {
  "in a function": { end: "main();", limit: 121_100 },
  "by a top-level await": { end: "await main();", limit: 123_600 },
};

for (const [name, { end, limit }] of Object.entries(cases)) {
  const withEnd = (code, id) => id.endsWith("/application.js") ? code.replace("\nmain();", `\n${end}`) : undefined;
  const { output } = await build({
    configFile: false,
    logLevel: "warn",
    plugins: [{ name: "end", transform: withEnd }],
    build: { write: false, target: "es2022", rollupOptions: { input: "application.js" } },
  });
  const chunks = new Map(output.filter(({ type }) => type === "chunk").map((chunk) => [chunk.fileName, chunk]));
  const start = new Set();
  const load = (name) => {
    start.add(name);
    for (const imported of chunks.get(name).imports) if (!start.has(imported)) load(imported);
  };
  load([...chunks.values()].find(({ isEntry }) => isEntry).fileName);
  const sizeOf = (names) =>
    [...names].reduce((sum, name) => sum + gzipSync(chunks.get(name).code, { level: 9 }).length, 0);
  const [first, all] = [sizeOf(start), sizeOf(chunks.keys())];
  console.log(`size, started ${name}, gzipped: ${first} bytes at the start, ${all - first} bytes on demand`);
  assert.ok(first <= limit, `${first} bytes at the start, expected at most ${limit}`);
  const isLate = ({ fileName }) => !start.has(fileName);
  const gpu = [...chunks.values()].filter(({ code }) => code.includes("@workgroup_size"));
  assert.ok(gpu.length > 0 && gpu.every(isLate), "kernels of GPUs are loaded on demand");
}
