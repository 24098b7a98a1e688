/** Bundles of the agent and of applications, by esbuild. */
import { gzipSync } from "node:zlib";

const esbuild = "esbuild@0.28.2";

/** Runs esbuild, with a source on its standard input, in a folder. */
async function build(cwd: string, args: readonly string[], source: string): Promise<void> {
  const child = new Deno.Command("npx", {
    args: ["-y", esbuild, "--bundle", "--format=esm", "--log-level=warning", ...args],
    cwd,
    stdin: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(source));
  await writer.close();
  if (!(await child.status).success) throw new Error("esbuild failed");
}

/** Syntax that all runtimes have, and kernels as text. */
const forAll = ["--target=node22,chrome120", "--loader:.wgsl=text"];

/**
 * Writes `agent.js` to a folder. The workloads are those of this checkout; the library is that of `library`, a checkout of this
 * commit or of another one.
 */
export async function bundleAgent(root: string, library: string, out: string): Promise<void> {
  const folder = await Deno.makeTempDir();
  await Deno.mkdir(`${folder}/bench/runtimes`, { recursive: true });
  await Deno.writeTextFile(`${folder}/mod.ts`, `export * from "${await Deno.realPath(library)}/mod.ts";`);
  for (const file of ["runtimes/agent.ts", "workloads.ts", "models.ts"]) {
    await Deno.copyFile(`${root}/bench/${file}`, `${folder}/bench/${file}`);
  }
  await build(folder, [...forAll, `--outfile=${out}/agent.js`], 'import "./bench/runtimes/agent.ts";');
  await Deno.remove(folder, { recursive: true });
}

/** The example of the README. */
async function readExample(root: string): Promise<string> {
  const readme = await Deno.readTextFile(`${root}/README.md`);
  return /^```ts\n([^]*?)^```/m.exec(readme)![1];
}

/** Writes the example of the README as `example.js` to a folder. */
export async function bundleExample(root: string, out: string): Promise<void> {
  const library = `--alias:@weft/weft=${root}/mod.ts`;
  await build(out, [...forAll, library, `--outfile=${out}/example.js`], await readExample(root));
}

/** Size of an application for browsers in bytes, minified and gzipped: what a page loads at its start, and on demand. */
export interface Sizes {
  readonly name: string;
  readonly start: number;
  readonly later: number;
}

interface Outputs {
  readonly [file: string]: { readonly imports: readonly { readonly path: string; readonly kind: string }[] };
}

/** Sizes of applications with the npm package in `dist/npm`. */
export async function measureSizes(root: string): Promise<Sizes[]> {
  const example = await readExample(root);
  const application = await Deno.readTextFile(`${root}/tests/npm/application.js`);
  return [
    await measureSize(root, "the example of the README", example),
    await measureSize(root, "paths, solvers and a Neural CDE", application),
  ];
}

async function measureSize(root: string, name: string, source: string): Promise<Sizes> {
  const folder = await Deno.makeTempDir();
  const library = `--alias:@weft/weft=${root}/dist/npm/mod.js`;
  const args = [
    "--platform=browser",
    "--minify",
    "--splitting",
    library,
    "--outdir=out",
    "--metafile=meta.json",
  ];
  await build(folder, args, source);
  const { outputs }: { outputs: Outputs } = JSON.parse(await Deno.readTextFile(`${folder}/meta.json`));
  const start = new Set<string>();
  const load = (file: string) => {
    start.add(file);
    for (const { path, kind } of outputs[file].imports) {
      if (kind === "import-statement" && !start.has(path)) load(path);
    }
  };
  load("out/stdin.js");
  const sizes = new Map<string, number>();
  for (const file of Object.keys(outputs)) {
    sizes.set(file, gzipSync(await Deno.readFile(`${folder}/${file}`), { level: 9 }).length);
  }
  await Deno.remove(folder, { recursive: true });
  const sum = (isStart: boolean) =>
    [...sizes].reduce((sum, [file, size]) => start.has(file) === isStart ? sum + size : sum, 0);
  return { name, start: sum(true), later: sum(false) };
}
