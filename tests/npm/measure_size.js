/**
 * Bundles `application.js` by Vite and checks the compressed size of what a page loads at its start. The code of GPUs is not part
 * of it: `init` loads it when it opens one.
 */
import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { build } from "vite";

/** Most bytes at the start. */
const limit = 114_000;

const { output } = await build({
  configFile: false,
  logLevel: "warn",
  build: { write: false, target: "es2022", rollupOptions: { input: "application.js" } },
});
const chunks = new Map(output.filter(({ type }) => type === "chunk").map((chunk) => [chunk.fileName, chunk]));
const start = new Set();
const load = (name) => {
  start.add(name);
  for (const imported of chunks.get(name).imports) if (!start.has(imported)) load(imported);
};
load([...chunks.values()].find(({ isEntry }) => isEntry).fileName);
const sizeOf = (names) => [...names].reduce((sum, name) => sum + gzipSync(chunks.get(name).code, { level: 9 }).length, 0);
const [first, all] = [sizeOf(start), sizeOf(chunks.keys())];
console.log(`size, gzipped: ${first} bytes at the start, ${all - first} bytes on demand`);
assert.ok(first <= limit, `${first} bytes at the start, expected at most ${limit}`);
const isLate = ({ fileName }) => !start.has(fileName);
const gpu = [...chunks.values()].filter(({ code }) => code.includes("@workgroup_size"));
assert.ok(gpu.length > 0 && gpu.every(isLate), "kernels of GPUs are loaded on demand");
