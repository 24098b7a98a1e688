/**
 * Bundles programs by Vite and checks the compressed size of what a page loads at its start, and of all files. `application.js` is all
 * that a training step on the CPU needs, with all methods and adjoints of the solvers. A solve alone has no gradients. `openTrained`
 * loads the code of a model when it is opened, and never what trains, evaluates or reads tables.
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
 * The programs, their last lines in place of others, and most bytes at the start. `opened` are modules that are loaded on demand, and
 * most bytes of the start with them. Other modules cannot import a module that waits at its
 * top level for them, so bundlers then move the code that GPUs share into one more file.
 */
const cases = {
  "training, started in a function": { input: "application.js", limit: 120_400 },
  "training, started by a top-level await": { input: "application.js", end: "await main();", limit: 122_900 },
  "a solve": { input: "solve.js", limit: 104_120 },
  "openTrained": {
    input: "predict.js",
    limit: 150_230,
    opened: {
      "a classifier that is a Neural CDE": { modules: ["run/open_series.js", "targets/classifier.js", "neural/cde_models.js"], limit: 192_090 },
    },
  },
};

for (const [name, { input, end, limit, opened = {} }] of Object.entries(cases)) {
  const withEnd = (code, id) => end && id.endsWith(`/${input}`) ? code.replace("\nmain();", `\n${end}`) : undefined;
  const { output } = await build({
    configFile: false,
    logLevel: "error",
    plugins: [{ name: "end", transform: withEnd }],
    build: { write: false, target: "es2022", rollupOptions: { input, external: ["commander", "hyparquet", "ws"] } },
  });
  const chunks = new Map(output.filter(({ type }) => type === "chunk").map((chunk) => [chunk.fileName, chunk]));
  const load = (loaded, { fileName, imports }) => {
    loaded.add(fileName);
    for (const name of imports) if (chunks.has(name) && !loaded.has(name)) load(loaded, chunks.get(name));
    return loaded;
  };
  const start = load(new Set(), [...chunks.values()].find(({ isEntry }) => isEntry));
  const sizeOf = (names) =>
    [...names].reduce((sum, name) => sum + gzipSync(chunks.get(name).code, { level: 9 }).length, 0);
  const [first, all] = [sizeOf(start), sizeOf(chunks.keys())];
  console.log(`size of ${name}, gzipped: ${first} bytes at the start in ${start.size} files, ${all - first} bytes on demand`);
  assert.ok(first <= limit, `${name}: ${first} bytes at the start, expected at most ${limit}`);
  for (const [what, { modules, limit }] of Object.entries(opened)) {
    const loaded = new Set(start);
    const has = (module) => ({ moduleIds }) => moduleIds.some((id) => id.endsWith(module));
    for (const module of modules) load(loaded, [...chunks.values()].find(has(module)));
    const bytes = sizeOf(loaded);
    console.log(`size of ${name} with ${what}, gzipped: ${bytes} bytes in ${loaded.size} files`);
    assert.ok(bytes <= limit, `${name} with ${what}: ${bytes} bytes, expected at most ${limit}`);
  }
  const isLate = ({ fileName }) => !start.has(fileName);
  const gpu = [...chunks.values()].filter(({ code }) => code.includes("@workgroup_size"));
  assert.ok(gpu.every(isLate), "kernels of GPUs are loaded on demand");
  // Without a call of `init`, no GPU can be opened.
  assert.equal(gpu.length > 0, input !== "solve.js");
}
