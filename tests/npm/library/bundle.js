/**
 * Bundles tests of the library for Node and browsers: `node bundle.js REPOSITORY` writes `tests/*.js`. The bundles import the modules
 * of the installed package in place of the library's sources.
 */
import { relative, resolve } from "node:path";
import { build } from "esbuild";
import { goldenTests } from "./golden_tests.js";

const repository = resolve(process.argv[2]);

/** Imports of `mod.ts` and of files in `src/` become imports of the package's modules. */
const installedPackage = {
  name: "installed package",
  setup({ onResolve }) {
    onResolve({ filter: /^\.\.?\// }, ({ path, resolveDir }) => {
      const file = relative(repository, resolve(resolveDir, path));
      if (!/^(?:mod|src\/.*)\.ts$/.test(file)) return undefined;
      return { path: `../node_modules/@weft/weft/${file.replace(/ts$/, "js")}`, external: true };
    });
  },
};

const names = Object.entries(goldenTests).flatMap(([layer, files]) =>
  files.map((file) => `${layer}/${file}_test`)
);
await build({
  entryPoints: [
    { in: `${import.meta.dirname}/run_tests.js`, out: "run_tests" },
    ...names.map((name) => ({ in: `${repository}/tests/${name}.ts`, out: name.replaceAll("/", ".") })),
  ],
  outdir: "tests",
  bundle: true,
  splitting: true,
  format: "esm",
  target: ["node22", "chrome120"],
  inject: [`${import.meta.dirname}/deno.js`],
  alias: { "node:assert/strict": `${import.meta.dirname}/assert.js` },
  plugins: [installedPackage],
  logLevel: "warning",
});
