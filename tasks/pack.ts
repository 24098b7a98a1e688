/**
 * Writes the npm package of Weft to `dist/npm`: ES modules for Node and browsers with types and source maps. `deno pack` writes
 * modules and types; esbuild puts the text of the WGSL kernels into the modules, and replaces syntax that Node 22 lacks.
 */

import { loadEsbuild, targets } from "./esbuild.ts";

/** A plugin of esbuild. */
interface Plugin {
  readonly name: string;
  setup(build: {
    onResolve(
      options: { filter: RegExp },
      resolve: (found: { path: string; kind: string }) => { path: string; external: boolean } | undefined,
    ): void;
  }): void;
}

/** The file of a worker of the CPU device. */
const workerFile = "src/device/cpu/worker.js";

/**
 * Modules that bundlers replace or, with `false`, leave out in applications for browsers, which need no code for Deno, Node and
 * notebooks. Each dynamic import that remains would also split the start of an application into more files.
 */
const replacedInBrowsers: Readonly<Record<string, string | false>> = {
  "./src/platform/current.js": "./src/platform/current_browser.js",
  "./src/device/cpu/matmul/blas.js": "./src/device/cpu/matmul/blas_browser.js",
  "./src/nn/display_parameters.js": "./src/nn/display_text.js",
  "./src/paths/display_path.js": "./src/nn/display_text.js",
  "./src/tensor/methods/install_display.js": "./src/tensor/methods/install_display_browser.js",
  // Browsers have no files, and these modules read only files. Without them, bundlers do not look for hyparquet.
  "./src/data/table/parquet.js": false,
  "./src/data/table/sqlite.js": false,
};

/** Modules stay separate, so that bundlers leave out what an application does not use. */
const separateModules: Plugin = {
  name: "separate modules",
  setup({ onResolve }) {
    onResolve(
      { filter: /.*/ },
      ({ path, kind }) =>
        kind === "entry-point" || path.endsWith(".wgsl")
          ? undefined
          : { path: path.replace(/\.ts$/, ".js"), external: true },
    );
  },
};

async function run(command: string, args: readonly string[]): Promise<void> {
  const { success } = await new Deno.Command(command, {
    args: [...args],
    stdout: "null",
  }).output();
  if (!success) throw new Error(`${command} ${args.join(" ")} failed`);
}

/** Paths of all files in a folder. */
async function filesIn(folder: string): Promise<string[]> {
  const entries = await Array.fromAsync(Deno.readDir(folder));
  const found = await Promise.all(
    entries.map(({ name, isDirectory }) =>
      isDirectory ? filesIn(`${folder}/${name}`) : [`${folder}/${name}`]
    ),
  );
  return found.flat();
}

/** Fields that `CITATION.cff` has, too: the keywords, and the addresses of the source and of the site, if it names them. */
function citedFields(citation: string) {
  const value = (name: string) => new RegExp(`^${name}: *"?([^"\n]+)"?$`, "m").exec(citation)?.[1];
  const [source, homepage] = [value("repository-code"), value("url")];
  const list = /^keywords:\n((?: +- .+\n)+)/m.exec(citation)?.[1] ?? "";
  return {
    keywords: Array.from(list.matchAll(/- (.+)/g), ([, keyword]) => keyword),
    ...(source ? { repository: { type: "git", url: `git+${source}` } } : {}),
    ...(homepage ? { homepage } : {}),
  };
}

const { build, stop } = await loadEsbuild();
const repository = `${import.meta.dirname}/..`;
const out = `${repository}/dist/npm`;
const packed = await Deno.makeTempDir();
try {
  await run(Deno.execPath(), [
    "pack",
    "--quiet",
    "--allow-dirty",
    "--output",
    `${packed}/weft.tgz`,
  ]);
  await run("tar", ["-xzf", `${packed}/weft.tgz`, "-C", packed]);
  await Deno.remove(out, { recursive: true }).catch(() => {});
  const source = `${packed}/package`;
  const files = await filesIn(source);
  const buildModules = (root: string, entryPoints: readonly string[]) =>
    build({
      entryPoints,
      absWorkingDir: root,
      outbase: root,
      outdir: out,
      bundle: true,
      format: "esm",
      platform: "neutral",
      target: targets,
      loader: { ".wgsl": "text" },
      sourcemap: true,
      plugins: [separateModules],
      logLevel: "warning",
    });
  await buildModules(source, files.filter((file) => file.endsWith(".js")));
  // No module imports them, so `deno pack` leaves them out.
  const replacements = [...new Set(Object.values(replacedInBrowsers))].filter((file) => file !== false);
  await buildModules(repository, replacements.map((file) => file.replace(/\.js$/, ".ts")));
  // Pages host this file alone.
  await build({
    entryPoints: [`${source}/${workerFile}`],
    absWorkingDir: source,
    outfile: `${out}/${workerFile}`,
    allowOverwrite: true,
    bundle: true,
    format: "esm",
    target: targets,
    logLevel: "warning",
  });
  for (
    const file of files.filter((file) => /\.d\.ts$|LICENSE$|CHANGELOG\.md$/.test(file))
  ) {
    await Deno.copyFile(file, `${out}${file.slice(source.length)}`);
  }
  await Deno.copyFile(`${repository}/docs/npm.md`, `${out}/README.md`);
  const { dependencies, ...description } = JSON.parse(
    await Deno.readTextFile(`${source}/package.json`),
  );
  const optional = Object.keys(dependencies).map((
    name,
  ) => [name, { optional: true }]);
  const packageJson = {
    ...description,
    description:
      "Continuous-time and weight-space sequence models: Neural CDEs, fast weight programmers, WARP",
    ...citedFields(await Deno.readTextFile(`${repository}/CITATION.cff`)),
    // Bundlers leave out other modules if nothing is imported from them. The first of these add methods to the class of tensors.
    sideEffects: [
      "./src/tensor/methods/install.js",
      "./src/tensor/methods/install_display.js",
      `./${workerFile}`,
    ],
    browser: replacedInBrowsers,
    engines: { node: ">=22" },
    // Only commands, the server and readers of Parquet import them.
    peerDependencies: dependencies,
    peerDependenciesMeta: Object.fromEntries(optional),
  };
  await Deno.writeTextFile(
    `${out}/package.json`,
    `${JSON.stringify(packageJson, undefined, 2)}\n`,
  );
} finally {
  await stop();
  await Deno.remove(packed, { recursive: true });
}
console.log(`wrote dist/npm; "npm pack ./dist/npm" makes the tarball`);
